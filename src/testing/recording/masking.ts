// Masks the secrets of an exchange before anything of it is kept.

import { Buffer } from 'node:buffer'

import { DeclaredSecrets } from '../../app/routes/declared-secrets.ts'
import { DEFAULT_LIMITS } from '../../base/limits.ts'
import { bodySecrets } from '../../formats/masking/body-secrets.ts'
import { fieldSecrets, masked, type Range, repeatable, urlSecrets, withoutRepeated } from '../../formats/masking/ranges.ts'
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
    const { ranges, field } = this.#head(head)
    if (head.length < text.length) {
      const coding = field('content-encoding')
      if (coding !== null && coding.toLowerCase() !== 'identity') return null
      const isChunked = /chunked/i.test(field('transfer-encoding') ?? '')
      const { spans, end } = isChunked ? chunksOf(text, head.length) : { spans: [[head.length, text.length] as const], end: text.length }
      const body = spans.map(([start, end]) => text.slice(start, end)).join('')
      for (const range of bodySecrets(body, field('content-type'), this.#declared.names)) ranges.push(...spread(range, spans))
      ranges.push(...shifted(this.#fields(text.slice(end), new Map()), end)) // trailers
    }
    const secrets = repeatable(text, ranges)
    return { text: withoutRepeated(masked(text, ranges), secrets), secrets }
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
        ranges.push(...shifted(urlSecrets(target, this.#declared.names), base), ...shifted(this.#declared.segments.in(target), base))
      } else ranges.push(...shifted(this.#fields(line, fields), at))
      at += line.length + 1
    }
    return { ranges, field: (name) => fields.get(name) ?? null }
  }

  /** The secrets of field lines. @param into gets each field, by its name in lower case */
  #fields(lines: string, into: Map<string, string>): Range[] {
    const ranges: Range[] = []
    let at = 0
    for (const line of lines.split('\n')) {
      const [, name = '', blank = '', value = ''] = /^([^:]*):([ \t]*)(.*?)[ \t\r]*$/.exec(line) ?? []
      const base = at + name.length + 1 + blank.length
      ranges.push(...shifted(fieldSecrets(name.trim(), value, this.#declared.names), base))
      into.set(name.trim().toLowerCase(), value)
      at += line.length + 1
    }
    return ranges
  }
}

function shifted(ranges: readonly Range[], by: number): Range[] {
  return ranges.map(([start, end]): Range => [start + by, end + by])
}

interface Chunks {
  /** Where their data is. */
  readonly spans: readonly (readonly [start: number, end: number])[]
  /** From where on there may be trailers. */
  readonly end: number
}

function chunksOf(text: string, from: number): Chunks {
  const spans: (readonly [number, number])[] = []
  const decoder = new ChunkDecoder(DEFAULT_LIMITS)
  const bytes = Buffer.from(text, 'latin1')
  try {
    for (let at = from; at < bytes.length; at = decoder.used) {
      const event = decoder.decode(bytes, at, bytes.length)
      if (event === BODY_DATA) spans.push([decoder.dataStart, decoder.dataEnd])
      else break
    }
    return { spans, end: spans.at(-1)?.[1] ?? from }
  } catch {
    return { spans: spansBetweenChunkSizes(text, from), end: from }
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
