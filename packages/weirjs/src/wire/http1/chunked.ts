// The chunked transfer coding (RFC 9112 §7.1): sizes, extensions, data, trailers. Every byte is checked; nothing is skipped.
//
// Each state reads the available bytes and returns where it stopped. When the bytes run out, the decoder remembers the state and the next
// call continues. Extensions are checked by their grammar, counted and discarded. Trailers are always kept apart from the header fields.

import {
  BACKSLASH,
  CLASS,
  CR,
  DQUOTE,
  EQUALS,
  FIELD_VALUE,
  HEX,
  isBlank,
  LF,
  NOT_HEX,
  SEMICOLON,
  TOKEN,
  trimBlanks,
} from '../../base/ascii.ts'
import { LimitError, PayloadTooLargeError, ProtocolError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'
import { FieldReader } from '../head/fields.ts'

/** 13 digits stay below 2^53, so a size is always exact. */
const MAX_SIZE_DIGITS = 13

// What the decoder expects next. From BEFORE_SEMICOLON to AFTER_VALUE it is inside an extension, whose bytes are counted.
const SIZE = 0
/** Blanks after a size or an extension: only `;` may follow (RFC 9112 §7.1.1 allows blanks before it, but not before CRLF). */
const BEFORE_SEMICOLON = 1
const BEFORE_NAME = 2
const NAME = 3
const AFTER_NAME = 4
const BEFORE_VALUE = 5
const TOKEN_VALUE = 6
const QUOTED = 7
const QUOTED_PAIR = 8
const AFTER_VALUE = 9
const SIZE_LF = 10
const DATA = 11
const DATA_CR = 12
const DATA_LF = 13
const TRAILERS = 14

/** The decoder needs more bytes. */
const MORE = 0
/** `[dataStart, dataEnd)` of the input is body. */
export const BODY_DATA = 1
/** The body and its trailers are complete. */
export const BODY_END = 2

/** Decodes one body. It keeps no bytes. */
export class ChunkDecoder extends FieldReader {
  readonly #limits: Limits
  #state = SIZE
  #size = 0
  #digits = 0
  #extensionBytes = 0
  #trailers: [string, string][] | null = null
  /**
   * Total size of all chunks so far. It is compared with the limit before the data arrives, so that it does not matter how that is split.
   */
  #announced = 0
  /** Largest body in bytes; null for no limit. */
  bodyLimit: number | null = null

  dataStart = 0
  dataEnd = 0
  /** How far the input was consumed. The bytes after it must be passed again, because trailers are read in place. */
  used = 0

  constructor(limits: Limits) {
    super()
    this.#limits = limits
  }

  /** Trailer fields in order, names as sent. They are never merged into the header (RFC 9110 §6.5.1). */
  get trailers(): readonly (readonly [name: string, value: string])[] {
    return this.#trailers ?? []
  }

  /**
   * Continues decoding in `buf[from, end)`.
   * @returns MORE, BODY_DATA or BODY_END
   * @throws ProtocolError, LimitError; PayloadTooLargeError as soon as a chunk size makes the body exceed `bodyLimit`
   */
  decode(buf: Buffer, from: number, end: number): number {
    let p = from
    while (p < end) {
      switch (this.#state) {
        case DATA: {
          const stop = end - p < this.#size ? end : p + this.#size
          this.dataStart = p
          this.dataEnd = this.used = stop
          this.#size -= stop - p
          if (this.#size === 0) this.#state = DATA_CR
          return BODY_DATA
        }
        case DATA_CR:
          if (buf[p++] !== CR) throw new ProtocolError('WEIR_CHUNK_END')
          this.#state = DATA_LF
          break
        case DATA_LF:
          if (buf[p++] !== LF) throw new ProtocolError('WEIR_CHUNK_END')
          this.#state = SIZE
          break
        case SIZE:
          p = this.#readSize(buf, p, end)
          break
        case SIZE_LF:
          if (buf[p++] !== LF) throw new ProtocolError('WEIR_LINE_END')
          this.#endSizeLine()
          break
        case TRAILERS:
          this.used = p
          return this.#readTrailers(buf, p, end)
        default:
          p = this.#readExtension(buf, p, end)
      }
    }
    this.used = p
    return MORE
  }

  #readSize(buf: Buffer, from: number, end: number): number {
    let p = from
    for (; p < end; p++) {
      const byte = buf[p]!
      const digit = HEX[byte]!
      if (digit === NOT_HEX) {
        if (this.#digits === 0) throw new ProtocolError('WEIR_CHUNK_SIZE_SYNTAX')
        if (byte === CR) this.#state = SIZE_LF
        else if (byte === SEMICOLON || isBlank(byte)) {
          this.#state = byte === SEMICOLON ? BEFORE_NAME : BEFORE_SEMICOLON
          this.#countExtension()
        } else throw new ProtocolError('WEIR_CHUNK_SIZE_SYNTAX')
        return p + 1
      }
      if (++this.#digits > MAX_SIZE_DIGITS) throw new ProtocolError('WEIR_CHUNK_SIZE_TOO_LONG')
      this.#size = this.#size * 16 + digit
    }
    return p
  }

  #endSizeLine(): void {
    this.#digits = 0
    this.#announced += this.#size
    if (this.bodyLimit !== null && this.#announced > this.bodyLimit) throw new PayloadTooLargeError('maxRequestBodySize', this.bodyLimit)
    if (this.#size > 0) {
      this.#state = DATA
      return
    }
    this.#state = TRAILERS
    this.#trailers = []
    this.begin(0)
  }

  /** chunk-ext = *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ) */
  #readExtension(buf: Buffer, from: number, end: number): number {
    let p = from
    let state = this.#state
    while (p < end && state !== SIZE_LF) {
      const byte = buf[p++]!
      const isTokenByte = (CLASS[byte]! & TOKEN) !== 0
      switch (state) {
        case BEFORE_NAME:
          if (isTokenByte) state = NAME
          else if (!isBlank(byte)) throw new ProtocolError('WEIR_CHUNK_EXTENSION_SYNTAX')
          break
        case NAME:
          if (!isTokenByte) state = byte === EQUALS ? BEFORE_VALUE : afterElement(byte, AFTER_NAME)
          break
        case AFTER_NAME:
          if (byte === EQUALS) state = BEFORE_VALUE
          else if (byte === SEMICOLON) state = BEFORE_NAME
          else if (!isBlank(byte)) throw new ProtocolError('WEIR_CHUNK_EXTENSION_SYNTAX')
          break
        case BEFORE_VALUE:
          if (isTokenByte) state = TOKEN_VALUE
          else if (byte === DQUOTE) state = QUOTED
          else if (!isBlank(byte)) throw new ProtocolError('WEIR_CHUNK_EXTENSION_SYNTAX')
          break
        case TOKEN_VALUE:
          if (!isTokenByte) state = afterElement(byte, BEFORE_SEMICOLON)
          break
        case QUOTED:
          if (byte === DQUOTE) state = AFTER_VALUE
          else if (byte === BACKSLASH) state = QUOTED_PAIR
          else if ((CLASS[byte]! & FIELD_VALUE) === 0) throw new ProtocolError('WEIR_CHUNK_EXTENSION_SYNTAX')
          break
        case QUOTED_PAIR:
          if ((CLASS[byte]! & FIELD_VALUE) === 0) throw new ProtocolError('WEIR_CHUNK_EXTENSION_SYNTAX')
          state = QUOTED
          break
        case AFTER_VALUE:
          state = afterElement(byte, BEFORE_SEMICOLON)
          break
        case BEFORE_SEMICOLON:
          if (byte === SEMICOLON) state = BEFORE_NAME
          else if (!isBlank(byte)) throw new ProtocolError('WEIR_CHUNK_EXTENSION_SYNTAX')
      }
      if (state !== SIZE_LF) this.#countExtension()
    }
    this.#state = state
    return p
  }

  #countExtension(): void {
    this.#extensionBytes++
    const maximum = this.#limits.maxChunkExtensionSize
    if (this.#extensionBytes > maximum) throw new LimitError('WEIR_CHUNK_EXTENSIONS_TOO_LARGE', 'maxChunkExtensionSize', maximum)
  }

  #readTrailers(buf: Buffer, base: number, end: number): number {
    const maximum = this.#limits.maxRequestHeaderSize
    const stop = end - base > maximum ? base + maximum : end
    if (!this.readFields(buf, base, stop)) {
      if (stop < end) throw new LimitError('WEIR_TRAILERS_TOO_LARGE', 'maxRequestHeaderSize', maximum)
      return MORE
    }
    this.used = base + this.at
    return BODY_END
  }

  protected override field(buf: Buffer, base: number, nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
    const trailers = this.#trailers!
    if (trailers.length === this.#limits.maxRequestHeaders) {
      throw new LimitError('WEIR_TOO_MANY_FIELDS', 'maxRequestHeaders', this.#limits.maxRequestHeaders)
    }
    const name = buf.toString('latin1', base + nameStart, base + nameEnd)
    trailers.push([name, trimBlanks(buf.toString('latin1', base + valueStart, base + valueEnd))])
  }
}

/** What may immediately follow a name or a value: the line's end, the next extension, or blanks. */
function afterElement(byte: number, afterBlanks: number): number {
  if (byte === CR) return SIZE_LF
  if (byte === SEMICOLON) return BEFORE_NAME
  if (isBlank(byte)) return afterBlanks
  throw new ProtocolError('WEIR_CHUNK_EXTENSION_SYNTAX')
}
