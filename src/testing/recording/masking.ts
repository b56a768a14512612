// Masks the secrets of an exchange before anything of it is kept.

import { Buffer } from 'node:buffer'

import { DEFAULT_LIMITS } from '../../base/limits.ts'
import { fieldSecrets, jsonSecrets, masked, pairSecrets, partSecrets, type Range, urlSecrets } from '../../formats/masking/ranges.ts'
import { SecretNames } from '../../formats/masking/secret-words.ts'
import { isJson, parseMediaType } from '../../formats/media-type.ts'
import { Schema } from '../../schema/schema.ts'
import { addSecretNames } from '../../schema/secret-names.ts'
import type { HttpServer } from '../../server.ts'
import { BODY_DATA, ChunkDecoder } from '../../wire/http1/chunked.ts'

/** A secret shorter than this is not looked for elsewhere in its exchange: it would be found by chance. */
const LEAST_REPEATED = 6
const MOST_REPEATED = 100

/** A request whose head is known, as far as paths are concerned. */
interface Routed {
  readonly method: string
  readonly path: string
}

export class Masking {
  readonly #names: SecretNames
  readonly #server: HttpServer
  /** How many routes have been looked at. */
  #routes = 0
  /** Templates with secret parameters: their segments, and which of them are secret. */
  #templates: { readonly segments: readonly string[]; readonly secret: ReadonlySet<string> }[] = []

  /** @param more names of fields, parameters and properties that are secret, in addition to those that usually are */
  constructor(server: HttpServer, more: readonly string[]) {
    this.#server = server
    this.#names = new SecretNames(more)
  }

  /** What the routes declare as secret. Routes may be mapped at any time. */
  #learn(): void {
    const { routes } = this.#server
    if (routes.length === this.#routes) return
    this.#routes = routes.length
    this.#templates = []
    for (const { path, bindings, body, answers } of routes) {
      const secret = Object.values(bindings).filter(({ schema }) => schema instanceof Schema && schema.holdsSecret)
      this.#names.add(secret.filter(({ source }) => source !== 'path').map(({ name }) => name))
      const inPath = secret.filter(({ source }) => source === 'path').map(({ name }) => name)
      if (inPath.length > 0) this.#templates.push({ segments: path.split('/'), secret: new Set(inPath) })
      const names = new Set<string>()
      if (body?.schema) addSecretNames(body.schema, null, names)
      for (const answer of Object.values(answers)) if (answer instanceof Schema) addSecretNames(answer, null, names)
      this.#names.add(names)
    }
  }

  /**
   * @param text the bytes of a request, one character for each
   * @returns the same without secrets, and what they were; null if its body cannot be read, because it has a content coding
   */
  request(text: string): { readonly text: string; readonly secrets: readonly string[] } | null {
    this.#learn()
    const headEnd = text.indexOf('\r\n\r\n')
    const head = headEnd === -1 ? text : text.slice(0, headEnd + 4)
    const { ranges, field } = this.#head(head)
    if (head.length < text.length) {
      const coding = field('content-encoding')
      if (coding !== null && coding.toLowerCase() !== 'identity') return null
      const isChunked = /chunked/i.test(field('transfer-encoding') ?? '')
      const spans = isChunked ? chunkSpans(text, head.length) : [[head.length, text.length] as const]
      const body = spans.map(([start, end]) => text.slice(start, end)).join('')
      for (const range of this.#body(body, field('content-type'))) ranges.push(...spread(range, spans))
    }
    const secrets = ranges.map(([start, end]) => text.slice(start, end)).filter((secret) => secret.length >= LEAST_REPEATED)
    const repeated = [...new Set(secrets)].slice(0, MOST_REPEATED)
    return { text: withoutAll(masked(text, ranges), repeated), secrets: repeated }
  }

  /** @param secrets of the request, which the response may repeat */
  field(name: string, value: string, secrets: readonly string[]): string {
    return withoutAll(masked(value, fieldSecrets(name, value, this.#names)), secrets)
  }

  /** @param text one character for each byte */
  body(text: string, contentType: string | null, secrets: readonly string[]): string {
    return withoutAll(masked(text, this.#body(text, contentType)), secrets)
  }

  isSecret(name: string): boolean {
    return this.#names.has(name)
  }

  #head(head: string): { ranges: Range[]; field: (name: string) => string | null } {
    const ranges: Range[] = []
    const fields = new Map<string, string>()
    let at = 0
    let isFirst = true
    for (const line of head.split('\n')) {
      if (isFirst && line.trim() !== '' && !/^[\w-]+:/.test(line)) {
        isFirst = false
        const [, method = '', blank = '', target = ''] = /^(\S*)(\s+)(\S*)/.exec(line) ?? []
        const base = at + method.length + blank.length
        ranges.push(...shifted(urlSecrets(target, this.#names), base), ...shifted(this.#segments({ method, path: target }), base))
      } else {
        const [, name = '', blank = '', value = ''] = /^([^:]*):([ \t]*)(.*?)[ \t\r]*$/.exec(line) ?? []
        const base = at + name.length + 1 + blank.length
        ranges.push(...shifted(fieldSecrets(name.trim(), value, this.#names), base))
        fields.set(name.trim().toLowerCase(), value)
      }
      at += line.length + 1
    }
    return { ranges, field: (name) => fields.get(name) ?? null }
  }

  /** Secret parameters in a path, whichever route would match it. */
  #segments({ path }: Routed): Range[] {
    const start = path.startsWith('/') ? 0 : Math.max(0, path.indexOf('/', path.indexOf('//') + 2))
    const end = path.search(/[?#]/)
    const segments = path.slice(start, end === -1 ? undefined : end).split('/')
    const found: Range[] = []
    for (const { segments: template, secret } of this.#templates) {
      let at = start
      for (const [i, segment] of segments.entries()) {
        const wanted = template[Math.min(i, template.length - 1)]!
        const isRest = wanted.startsWith('*')
        const isParameter = isRest || wanted.startsWith(':')
        if (i >= template.length && !isRest) break
        if (!isParameter && wanted.toLowerCase() !== segment.toLowerCase()) break
        if (isParameter && secret.has(wanted.slice(1))) found.push([at, at + segment.length])
        at += segment.length + 1
      }
    }
    return found
  }

  #body(text: string, contentType: string | null): Range[] {
    const type = contentType === null ? null : parseMediaType(contentType)
    const boundary = type?.type.startsWith('multipart/') === true ? type.parameters.get('boundary') : undefined
    if (boundary !== undefined) return partSecrets(text, boundary, this.#names)
    if ((type !== null && isJson(type.type)) || /^[\s\xef\xbb\xbf]*[[{"]/.test(text)) return jsonSecrets(text, this.#names)
    if (type?.type === 'application/x-www-form-urlencoded' || /^[^\s=&<]+=/.test(text)) return pairSecrets(text, this.#names)
    return jsonSecrets(text, this.#names)
  }
}

function shifted(ranges: readonly Range[], by: number): Range[] {
  return ranges.map(([start, end]): Range => [start + by, end + by])
}

/** A secret that is repeated elsewhere, such as a token that the response echoes. */
function withoutAll(text: string, secrets: readonly string[]): string {
  let result = text
  for (const secret of secrets) result = result.replaceAll(secret, (found) => masked(found, [[0, found.length]]))
  return result
}

/** Where the data of chunks is. */
function chunkSpans(text: string, from: number): (readonly [start: number, end: number])[] {
  const spans: (readonly [number, number])[] = []
  const decoder = new ChunkDecoder(DEFAULT_LIMITS)
  const bytes = Buffer.from(text, 'latin1')
  try {
    for (let at = from; at < bytes.length; at = decoder.used) {
      const event = decoder.decode(bytes, at, bytes.length)
      if (event === BODY_DATA) spans.push([decoder.dataStart, decoder.dataEnd])
      else break
    }
    return spans
  } catch {
    return spansBetweenChunkSizes(text, from)
  }
}

/** A guess for malformed chunks: everything but line ends, and lines that could be the size of a chunk. */
function spansBetweenChunkSizes(text: string, from: number): (readonly [start: number, end: number])[] {
  const spans: (readonly [number, number])[] = []
  let at = from
  for (const { index, 0: found } of text.slice(from).matchAll(/\r\n[0-9a-f]{1,16}[^\r\n"]*\r\n|[\r\n]/gi)) {
    spans.push([at, from + index])
    at = from + index + found.length
  }
  return [...spans, [at, text.length]]
}

/** The places of a range of the joined spans. */
function spread([start, end]: Range, spans: readonly (readonly [number, number])[]): Range[] {
  const found: Range[] = []
  let at = 0
  for (const [from, to] of spans) {
    const first = Math.max(start, at)
    const last = Math.min(end, at + to - from)
    if (first < last) found.push([from + first - at, from + last - at])
    at += to - from
  }
  return found
}
