// Masks the secrets of exchanges before anything of them is kept or shown: those that usually are secret, and those that routes declare.

import { Buffer } from 'node:buffer'

import { DeclaredSecrets, type SecretsHost } from '../../app/routes/declared-secrets.ts'
import { DEFAULT_LIMITS } from '../../base/limits.ts'
import { fieldLineSecrets, fieldSecrets } from '../../formats/masking/contents.ts'
import { addAll, masked, type Range, shifted, urlSecrets, wordsIn } from '../../formats/masking/ranges.ts'
import { refusedHeadSecrets } from '../../formats/masking/refused-head.ts'
import { repeatable, withoutRepeated } from '../../formats/masking/repeated.ts'
import type { SecretSegments } from '../../formats/masking/secret-segments.ts'
import type { SecretNames } from '../../formats/masking/secret-words.ts'
import { workTurns } from '../../http/work-turns.ts'
import { BODY_DATA, ChunkDecoder } from '../../wire/http1/chunked.ts'
import { base64Secrets, bodySecrets } from './body-secrets.ts'

/** A text without its secrets, and what they were: the rest of the exchange may repeat them. */
export interface MaskedText {
  readonly text: string
  /** In all forms in which they may be repeated, which are made where they are asked for. */
  readonly secrets: readonly string[]
}

/** Fields that state in which compression a body is, or the messages in it. */
const CODINGS = ['content-encoding', 'connect-content-encoding', 'grpc-encoding']

/** What a millisecond counts: the work of a turn takes about 20 ms. Clients decide how many secrets there are, and how many messages in a turn. */
const WORK_OF_MS = 50

function measured<T>(mask: () => T): T {
  const start = performance.now()
  try {
    return mask()
  } finally {
    workTurns.spend(WORK_OF_MS * (performance.now() - start))
  }
}

/** Replaces secrets by letters and digits of the same length, so that lengths, cuts and grammars stay as they are. */
export interface Masking {
  /** Looks for routes that have been mapped since. `request` and `refusedHead` do so themselves. */
  refresh(): void
  /**
   * @param text the bytes of a request, one character for each
   * @param isRefused whether its head was refused
   * @returns null if its body cannot be read, because it has a content coding
   */
  request(text: string, isRefused: boolean): MaskedText | null
  /** @param text the first bytes of a head that was refused, as observers are told them: all but printable characters are escaped */
  refusedHead(text: string): string
  /** @param target of a request */
  target(target: string): MaskedText
  field(name: string, value: string): MaskedText
  /** @param text without a content coding. It may also have one character for each byte */
  body(text: string, contentType: string | null): MaskedText
  /** The text without the secrets of other parts of its exchange. */
  without(text: string, secrets: readonly string[]): string
  /** Whether the values of fields and parameters with this name are secret. */
  isSecret(name: string): boolean
}

/**
 * @param host a server, or a group of its routes
 * @param more names of fields, parameters and properties that are secret too
 */
export function masking(host: SecretsHost, more: readonly string[]): Masking {
  return new DeclaredMasking(host, more)
}

class DeclaredMasking implements Masking {
  readonly #declared: DeclaredSecrets

  constructor(host: SecretsHost, more: readonly string[]) {
    this.#declared = new DeclaredSecrets(host, more)
  }

  refresh(): void {
    this.#declared.refresh()
  }

  request(text: string, isRefused: boolean): MaskedText | null {
    return measured(() => this.#request(text, isRefused))
  }

  #request(text: string, isRefused: boolean): MaskedText | null {
    this.#declared.refresh()
    const { names, segments } = this.#declared
    // Any part of it may be secret, so its secrets are not looked for elsewhere.
    if (isRefused) return { text: masked(text, refusedHeadSecrets(text, names, segments)), secrets: [] }
    const headEnd = text.indexOf('\r\n\r\n')
    const head = headEnd === -1 ? text : text.slice(0, headEnd + 4)
    const { ranges, field } = this.#head(head)
    const strays: Range[] = []
    if (head.length < text.length) {
      if (CODINGS.some((name) => /[^,\s]/.test((field(name) ?? '').replace(/\bidentity\b/gi, '')))) return null
      const isChunked = /chunked/i.test(field('transfer-encoding') ?? '')
      const chunks = isChunked ? chunkSpans(text, head.length) : null
      const spans = chunks ?? (isChunked ? spansBetweenChunkSizes(text, head.length) : [[head.length, text.length] as const])
      const body = spans.map(([start, end]) => text.slice(start, end)).join('')
      addAll(ranges, spread(bodySecrets(body, field('content-type'), names), spans))
      if (isChunked) {
        // Where chunks are malformed, a trailer may be anywhere.
        const trailers = trailerSecrets(text, chunks?.at(-1)?.[1] ?? head.length, names, segments)
        addAll(ranges, trailers.ranges)
        addAll(strays, trailers.strays)
        addAll(strays, extensions(text, head.length, spans))
      }
    }
    const secrets = repeatable(text, ranges)
    return { text: withoutRepeated(masked(text, [...ranges, ...strays]), secrets), secrets }
  }

  refusedHead(text: string): string {
    this.#declared.refresh()
    return masked(text, refusedHeadSecrets(text, this.#declared.names, this.#declared.segments, true))
  }

  target(target: string): MaskedText {
    const { names, segments } = this.#declared
    return maskedText(target, [...urlSecrets(target, names), ...segments.in(target), ...base64Secrets(target, names)])
  }

  field(name: string, value: string): MaskedText {
    const { names, segments } = this.#declared
    return maskedText(value, [...fieldSecrets(name, value, names, segments), ...base64Secrets(value, names)])
  }

  body(text: string, contentType: string | null): MaskedText {
    return measured(() => maskedText(text, bodySecrets(text, contentType, this.#declared.names)))
  }

  without(text: string, secrets: readonly string[]): string {
    return measured(() => withoutRepeated(text, secrets))
  }

  isSecret(name: string): boolean {
    return this.#declared.names.has(name)
  }

  #head(head: string): { ranges: Range[]; field: (name: string) => string | null } {
    const { names, segments } = this.#declared
    const ranges = base64Secrets(head, names)
    const fields = new Map<string, string>()
    let at = 0
    let isFirst = true
    for (const line of head.split('\n')) {
      const text = withoutEnd(line)
      if (isFirst && text !== '') {
        isFirst = false
        const [, before = '', target = ''] = /^(\S*\s+)(\S*)/.exec(line) ?? []
        addAll(ranges, shifted([...urlSecrets(target, names), ...segments.in(target)], at + before.length))
      } else if (text !== '') {
        addAll(ranges, shifted(fieldLineSecrets(text, names, segments), at))
        const colon = text.indexOf(':')
        if (colon !== -1) {
          const name = text.slice(0, colon).trim().toLowerCase()
          const before = fields.get(name)
          const value = text.slice(colon + 1).trim()
          fields.set(name, before === undefined ? value : `${before}, ${value}`)
        }
      }
      at += line.length + 1
    }
    return { ranges, field: (name) => fields.get(name) ?? null }
  }
}

function maskedText(text: string, ranges: readonly Range[]): MaskedText {
  if (ranges.length === 0) return { text, secrets: [] }
  return {
    text: masked(text, ranges),
    get secrets() {
      return measured(() => repeatable(text, ranges))
    },
  }
}

/** What ends a line, and blanks before it, are not part of a value. */
function withoutEnd(line: string): string {
  let end = line.length
  while (end > 0 && ' \t\r'.includes(line[end - 1]!)) end--
  return line.slice(0, end)
}

/**
 * The secrets of the lines after the last chunk. What is not a field may be anything, so it is not looked for elsewhere: such lines are strays.
 * @param from where the data of that chunk ends
 */
function trailerSecrets(
  text: string,
  from: number,
  names: SecretNames,
  segments: SecretSegments,
): { readonly ranges: Range[]; readonly strays: Range[] } {
  const ranges: Range[] = []
  const strays: Range[] = []
  let at = from
  for (const line of text.slice(from).split(/[\r\n]/)) {
    if (!/^[0-9a-f]*(?:;|$)/i.test(line)) addAll(line.includes(':') ? ranges : strays, shifted(fieldLineSecrets(line, names, segments), at))
    at += line.length + 1
  }
  return { ranges, strays }
}

/** The extensions of chunks, which are around their data. */
function extensions(text: string, from: number, spans: readonly (readonly [start: number, end: number])[]): Range[] {
  const found: Range[] = []
  let at = from
  for (const [start, end] of [...spans, [text.length, text.length] as const]) {
    for (const { index, 0: line } of text.slice(at, start).matchAll(/;[^\r\n]*/g))
      addAll(found, wordsIn(text, at + index + 1, at + index + line.length))
    at = end
  }
  return found
}

/** Where the data of chunks is; null if they are malformed. */
function chunkSpans(text: string, from: number): (readonly [start: number, end: number])[] | null {
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
    return null
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

/** The places of ranges of the joined spans. */
function spread(ranges: readonly Range[], spans: readonly (readonly [number, number])[]): Range[] {
  const found: Range[] = []
  /** Where each span begins among the joined ones. */
  const begins: number[] = []
  let length = 0
  for (const [from, to] of spans) {
    begins.push(length)
    length += to - from
  }
  for (const [start, end] of ranges)
    for (let i = lastUpTo(begins, start); i < spans.length && begins[i]! < end; i++) {
      const [from, to] = spans[i]!
      const first = Math.max(start, begins[i]!)
      const last = Math.min(end, begins[i]! + to - from)
      if (first < last) found.push([from + first - begins[i]!, from + last - begins[i]!])
    }
  return found
}

/** The index of the last number that is at most `most`; 0 if there is none. */
function lastUpTo(numbers: readonly number[], most: number): number {
  let low = 0
  let high = numbers.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (numbers[middle]! <= most) low = middle
    else high = middle
  }
  return low
}
