// Masks the secrets of an exchange before anything of it is kept.

import { Buffer } from 'node:buffer'

import { DeclaredSecrets } from '../../app/routes/declared-secrets.ts'
import { DEFAULT_LIMITS } from '../../base/limits.ts'
import { bodySecrets } from '../../formats/masking/body-secrets.ts'
import { fieldLineSecrets, isField, requestLineSecrets, shifted } from '../../formats/masking/line-secrets.ts'
import { fieldSecrets, masked, type Range, repeatable, withoutRepeated } from '../../formats/masking/ranges.ts'
import type { SecretNames } from '../../formats/masking/secret-words.ts'
import type { HttpServer } from '../../server.ts'
import { BODY_DATA, ChunkDecoder } from '../../wire/http1/chunked.ts'

export class Masking {
  readonly #declared: DeclaredSecrets

  /** @param more names of fields, parameters and properties that are secret, in addition to those that usually are */
  constructor(server: HttpServer, more: readonly string[]) {
    this.#declared = new DeclaredSecrets(server, more)
  }

  /**
   * @param text the bytes of a request, one character for each
   * @returns the same without secrets, and what they were; null if its body cannot be read, because it has a content coding
   */
  request(text: string): { readonly text: string; readonly secrets: readonly string[] } | null {
    this.#declared.refresh()
    const headEnd = text.indexOf('\r\n\r\n')
    const head = headEnd === -1 ? text : text.slice(0, headEnd + 4)
    const { ranges, strays, field } = this.#head(head)
    if (head.length < text.length) {
      const coding = field('content-encoding')
      if (coding !== null && coding.toLowerCase() !== 'identity') return null
      const isChunked = /chunked/i.test(field('transfer-encoding') ?? '')
      const spans = isChunked ? chunkSpans(text, head.length) : [[head.length, text.length] as const]
      const body = spans.map(([start, end]) => text.slice(start, end)).join('')
      for (const range of bodySecrets(body, field('content-type'), this.#declared.names)) ranges.push(...spread(range, spans))
      if (isChunked) ranges.push(...trailerSecrets(text, spans.at(-1)?.[1] ?? head.length, this.#declared.names))
    }
    const secrets = repeatable(text, ranges)
    return { text: withoutRepeated(masked(text, [...ranges, ...strays]), secrets), secrets }
  }

  /** @param secrets of the request, which the response may repeat */
  field(name: string, value: string, secrets: readonly string[]): string {
    return withoutRepeated(masked(value, fieldSecrets(name, value, this.#declared.names)), secrets)
  }

  /** @param text one character for each byte */
  body(text: string, contentType: string | null, secrets: readonly string[]): string {
    return withoutRepeated(masked(text, bodySecrets(text, contentType, this.#declared.names)), secrets)
  }

  isSecret(name: string): boolean {
    return this.#declared.names.has(name)
  }

  /** Strays are what lines contain that are not fields: it may be anything, so it is not looked for elsewhere. */
  #head(head: string): { ranges: Range[]; strays: Range[]; field: (name: string) => string | null } {
    const ranges: Range[] = []
    const strays: Range[] = []
    const fields = new Map<string, string>()
    let at = 0
    let isFirst = true
    for (const line of head.split('\n')) {
      if (isFirst && line.trim() !== '' && !/^[\w-]+:/.test(line)) {
        isFirst = false
        const [, before = '', target = ''] = /^(\S*\s+)(\S*)/.exec(line) ?? []
        ranges.push(
          ...shifted(requestLineSecrets(withoutEnd(line), this.#declared.names), at),
          ...shifted(this.#declared.segments.in(target), at + before.length),
        )
      } else {
        const text = withoutEnd(line)
        ;(isField(text) ? ranges : strays).push(...shifted(fieldLineSecrets(text, this.#declared.names), at))
        const colon = text.indexOf(':')
        if (colon !== -1) fields.set(text.slice(0, colon).trim().toLowerCase(), text.slice(colon + 1).trim())
      }
      at += line.length + 1
    }
    return { ranges, strays, field: (name) => fields.get(name) ?? null }
  }
}

/** What ends a line, and blanks before it, are not part of a value. */
function withoutEnd(line: string): string {
  return line.replace(/[ \t\r]+$/, '')
}

/** Those of the fields after the last chunk. @param from where the data of that chunk ends */
function trailerSecrets(text: string, from: number, names: SecretNames): Range[] {
  const found: Range[] = []
  let at = from
  for (const line of text.slice(from).split('\n')) {
    if (line.includes(':')) found.push(...shifted(fieldLineSecrets(withoutEnd(line), names), at))
    at += line.length + 1
  }
  return found
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
