// A document of OpenAPI from anywhere: its version, and what its references point to.

/** What is wrong with a document, in one line. */
export class DocumentError extends Error {}

/** A part of a document that is an object. */
export type Part = { readonly [member: string]: unknown }

/** References that lead to other references. */
const MAX_STEPS = 100

export class ApiDocument {
  readonly root: Part
  /** Whether it is one of OpenAPI 3.0, in which a `$ref` replaces everything next to it. */
  readonly is30: boolean

  /** @throws DocumentError */
  constructor(text: string) {
    const root = parse(text)
    const { openapi, swagger } = root
    if (swagger !== undefined) throw new DocumentError('it is a document of Swagger 2.0: convert it to OpenAPI 3')
    if (typeof openapi !== 'string' || !/^3\.[012](?:\.|$)/.test(openapi))
      throw new DocumentError(`its member "openapi" is ${shownShort(openapi)}, not a version 3.0, 3.1 or 3.2`)
    this.root = root
    this.is30 = openapi.startsWith('3.0')
  }

  /** The components of a kind, such as `schemas`, by name. */
  components(kind: string): ReadonlyMap<string, unknown> {
    return new Map(Object.entries(partOf(partOf(this.root['components'])[kind])))
  }

  /** The name of the component of a kind that `ref` refers to; null if it refers to something else. */
  componentOf(ref: string, kind: string): string | null {
    const [, found, name] = /^#\/components\/([^/]+)\/([^/]+)$/s.exec(ref) ?? []
    if (found !== kind || name === undefined) return null
    const decoded = unescaped(name)
    return Object.hasOwn(partOf(partOf(this.root['components'])[kind]), decoded) ? decoded : null
  }

  /** The target of the references of `part`; the part itself if it has none. @throws DocumentError */
  resolve(part: unknown): unknown {
    let found = part
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      const { $ref } = partOf(found)
      if ($ref === undefined) return found
      found = this.at(String($ref))
    }
    throw new DocumentError(`its reference ${shownShort(partOf(part)['$ref'])} never ends`)
  }

  /** @param ref a JSON Pointer as a URI fragment @throws DocumentError for anything else, and if nothing is there */
  at(ref: string): unknown {
    if (ref !== '#' && !ref.startsWith('#/'))
      throw new DocumentError(`it refers to ${shownShort(ref)}, which is not in the document: bundle it into one document first`)
    let found: unknown = this.root
    for (const step of ref.split('/').slice(1)) {
      const name = unescaped(step)
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
        throw new DocumentError(`it refers to ${shownShort(ref)}, and there is nothing`)
      found = (found as Part)[name]
    }
    return found
  }
}

/** @returns an empty object for anything that is not an object */
export function partOf(value: unknown): Part {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Part) : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function parse(text: string): Part {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : 'it is nested too deeply'
    const hint = /^\s*(?:#|openapi\s*:|swagger\s*:)/.test(text) ? ' It looks like YAML: convert it to JSON.' : ''
    throw new DocumentError(`it is not JSON: ${why}.${hint}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new DocumentError('it is not a JSON object')
  return value as Part
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return step.replaceAll('~1', '/').replaceAll('~0', '~')
  }
}

function shownShort(value: unknown): string {
  const text = value === undefined ? 'missing' : (JSON.stringify(value) ?? 'nothing')
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
