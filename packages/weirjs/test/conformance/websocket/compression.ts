// Sections 12 and 13: permessage-deflate (RFC 7692) with messages of many sizes and kinds, and with every kind of offer. The client here is a pair
// of streams of zlib that keep their windows, and that are as small as was negotiated: a server that uses a larger one is found out.

import assert from 'node:assert/strict'
import { randomFillSync } from 'node:crypto'
import { once } from 'node:events'
import { constants, createDeflateRaw, createInflateRaw, type DeflateRaw, type InflateRaw } from 'node:zlib'

import { BINARY, fragments, TEXT } from './step.ts'

export interface CompressionCase {
  readonly id: string
  readonly title: string
  /** Sec-WebSocket-Extensions of the client. */
  readonly offer: string
  /** What the server accepts of it. */
  readonly accepted: string
  readonly opcode: number
  /** The size of each message, and of its fragments; 0 for one frame. */
  readonly size: number
  readonly fragment: number
  message(i: number): Buffer
}

/** Sizes of whole messages, then of those in fragments, each with the size of a fragment. */
const WHOLE: readonly number[] = [16, 64, 256, 1024, 4096, 8192, 16_384, 32_768, 65_536, 131_072]
const IN_FRAGMENTS: readonly (readonly [size: number, fragment: number])[] = [
  [8192, 256],
  [16_384, 256],
  [32_768, 256],
  [65_536, 256],
  [131_072, 256],
  [131_072, 1024],
  [131_072, 4096],
  [131_072, 32_768],
]
const SHAPES = [...WHOLE.map((size) => [size, 0] as const), ...IN_FRAGMENTS]

const JSON_TEXT = Buffer.from(
  JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ id: i, name: `name ${(i * 7919) % 1000}`, tags: ['a', 'b'], price: i / 7 }))),
)
const GREEK = Buffer.from('κόσμε, кириллица, ÄÖÜ, 漢字, 😀 — '.repeat(4000))
const PROSE = Buffer.from('lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor '.repeat(2500))
const NOISE = randomFillSync(Buffer.alloc(256 * 1024))
const PLAIN = Buffer.alloc(256 * 1024, 'a')

/** What the messages of a group of section 12 are: pieces of this, each from another place. */
const KINDS: readonly (readonly [what: string, source: Buffer, opcode: number])[] = [
  ['JSON', JSON_TEXT, TEXT],
  ['many alphabets', GREEK, BINARY],
  ['prose', PROSE, TEXT],
  ['noise', NOISE, BINARY],
  ['one letter', PLAIN, TEXT],
]

const NAME = 'permessage-deflate'
const NO_CONTEXT = 'server_no_context_takeover'
/** The offers of section 13, and what is accepted of each: the first that can be. */
const OFFERS: readonly (readonly [offer: string, accepted: string])[] = [
  [`${NAME}; client_max_window_bits`, `${NAME}; client_max_window_bits=12`],
  [`${NAME}; ${NO_CONTEXT}; client_max_window_bits`, `${NAME}; ${NO_CONTEXT}; client_max_window_bits=12`],
  [`${NAME}; server_max_window_bits=9; client_max_window_bits`, `${NAME}; server_max_window_bits=9; client_max_window_bits=12`],
  [`${NAME}; server_max_window_bits=15; client_max_window_bits=9`, `${NAME}; server_max_window_bits=15; client_max_window_bits=9`],
  [`${NAME}; ${NO_CONTEXT}; server_max_window_bits=9`, `${NAME}; ${NO_CONTEXT}; server_max_window_bits=9`],
  [`${NAME}; ${NO_CONTEXT}; client_no_context_takeover`, `${NAME}; ${NO_CONTEXT}; client_no_context_takeover`],
  [`${NAME}; ${NO_CONTEXT}; server_max_window_bits=7, ${NAME}; server_max_window_bits=8, ${NAME}`, `${NAME}; server_max_window_bits=8`],
]

function group(section: string, offer: string, accepted: string, what: string, source: Buffer, opcode: number): CompressionCase[] {
  return SHAPES.map(([size, fragment], i) => ({
    id: `${section}.${i + 1}`,
    title: `${what}, ${size} bytes${fragment === 0 ? '' : ` in fragments of ${fragment}`} (${offer})`,
    offer,
    accepted,
    opcode,
    size,
    fragment,
    message(at) {
      const from = (at * 997) % (source.length - size + 1)
      return source.subarray(from, from + size)
    },
  }))
}

export const COMPRESSION_CASES: readonly CompressionCase[] = [
  ...KINDS.flatMap(([what, source, opcode], i) => group(`12.${i + 1}`, NAME, NAME, what, source, opcode)),
  ...OFFERS.flatMap(([offer, accepted], i) => group(`13.${i + 1}`, offer, accepted, 'JSON', JSON_TEXT, TEXT)),
]

const TAIL = Buffer.from([0, 0, 0xff, 0xff])

/** The client's side of the extension. */
export class Compression {
  readonly #accepted: string
  #deflater: DeflateRaw | null = null
  #inflater: InflateRaw | null = null

  constructor(accepted: string) {
    this.#accepted = accepted
  }

  #bits(side: string): number {
    return Number(new RegExp(`${side}_max_window_bits=(\\d+)`).exec(this.#accepted)?.[1] ?? 15)
  }

  /** The frames of a compressed message. */
  async frames(opcode: number, message: Uint8Array, fragment: number): Promise<Buffer[]> {
    this.#deflater ??= createDeflateRaw({ windowBits: this.#bits('client') })
    const payload = (await through(this.#deflater, [message], constants.Z_SYNC_FLUSH)).subarray(0, -TAIL.length)
    if (this.#accepted.includes('client_no_context_takeover')) this.#deflater = null
    const frames = fragments(opcode, payload, fragment === 0 ? payload.length : fragment)
    frames[0]![0] = frames[0]![0]! | 0x40
    return frames
  }

  async inflated(payload: Uint8Array): Promise<Buffer> {
    this.#inflater ??= createInflateRaw({ windowBits: this.#bits('server') })
    const message = await through(this.#inflater, [payload, TAIL], constants.Z_SYNC_FLUSH)
    if (this.#accepted.includes(NO_CONTEXT)) this.#inflater = null
    return message
  }
}

/** What comes out of a stream of zlib for these bytes, all of it. */
async function through(stream: DeflateRaw | InflateRaw, input: readonly Uint8Array[], flush: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  const take = (chunk: Buffer): void => void chunks.push(chunk)
  stream.on('data', take)
  const failed = once(stream, 'error').then(([error]) => assert.fail(error as Error))
  for (const bytes of input) stream.write(bytes)
  await Promise.race([new Promise<void>((resolve) => stream.flush(flush, () => resolve())), failed])
  stream.removeListener('data', take)
  stream.removeAllListeners('error')
  return Buffer.concat(chunks)
}
