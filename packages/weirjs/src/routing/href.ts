// Builds a path from a template and values: the inverse of matching.

import { WeirError } from '../base/errors.ts'

import { encodeSegment, type ParamsOf, Template } from './template.ts'

/** A value that can be written into a path or a query. */
type HrefValue = string | number | bigint | boolean

type HrefValues<P extends string> = { readonly [Name in keyof ParamsOf<P>]: HrefValue }

/** An array repeats its name; null and undefined leave the name out. */
type HrefQuery = { readonly [name: string]: HrefValue | readonly HrefValue[] | null | undefined }

/**
 * The path that `template` matches with these values, percent-encoded, followed by the query if there is one: `href('/users/:id', { id: 5
 * }, { tab: 'a b' })` returns `/users/5?tab=a+b`.
 *
 * @throws WEIR_ROUTE_TEMPLATE for a value that cannot be part of a path: a missing or empty one, `.` or `..` (clients resolve them, encoded
 *   or not), a rest that begins with a slash, half a surrogate pair
 * @example
 * href('/users/:id', { id: 5 }, { tab: 'a b' }) // /users/5?tab=a+b
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export function href<P extends string>(template: P, values: HrefValues<P>, query?: HrefQuery): string {
  const parsed: Template = new Template(template)
  const given = values as { readonly [name: string]: HrefValue | undefined }
  let path = ''
  for (const segment of parsed.segments) {
    if (segment.kind === 'text') {
      path += `/${segment.encoded}`
      continue
    }
    const value = Object.hasOwn(given, segment.name) ? given[segment.name] : undefined
    const parts = segment.kind === 'rest' ? String(value ?? '').split('/') : [String(value ?? '')]
    if (parts[0] === '') throw unwritable(parsed, segment.name, 'is missing, empty or begins with a slash')
    for (const part of parts) path += `/${encodeValue(part, parsed, segment.name)}`
  }
  const search = query === undefined ? '' : searchOf(query)
  return search === '' ? path : `${path}?${search}`
}

function encodeValue(part: string, template: Template, name: string): string {
  if (part === '.' || part === '..') throw unwritable(template, name, 'has a dot segment')
  try {
    return encodeSegment(part)
  } catch {
    throw unwritable(template, name, 'is not well-formed text')
  }
}

function searchOf(query: HrefQuery): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    const values = Array.isArray(value) ? (value as readonly HrefValue[]) : [value as HrefValue | null | undefined]
    for (const one of values) if (one !== null && one !== undefined) search.append(name, String(one))
  }
  return search.toString()
}

function unwritable(template: Template, name: string, why: string): WeirError {
  return new WeirError('WEIR_ROUTE_TEMPLATE', `${JSON.stringify(template.text)} cannot be filled: "${name}" ${why}`)
}
