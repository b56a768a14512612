// multipart/form-data: bytes in, parts out (RFC 7578, RFC 2046 §5.1). No sockets, no promises; the same bytes, however they are split,
// produce the same events.
//
// Data is delivered as ranges of the pushed chunk, without a copy and before its part is complete. Only the beginning of a delimiter at the
// end of a chunk waits for the next one. Its bytes are the delimiter's, so only its length is kept.
//
// Every byte is checked. RFC 2046 is interpreted as follows where readers differ:
// - A line that begins with `--boundary` is a delimiter (§5.1.1: it is enough that the boundary appears in its entirety after CRLF). It
//   must continue with `--`, or with padding (SP, HTAB) and CRLF. Anything else is refused, even in the preamble: if it were read as data,
//   two readers could see two different forms.
// - A `--boundary` in the preamble that is not at the start of a line, or follows a bare LF, is refused (see preamble.ts).
// - The CRLF before a delimiter may be the CRLF that ends a part's empty header line: that part is empty (as in Go and RFC 2046's grammar).
// - Preamble and epilogue are discarded. `--boundary--` ends the form, whatever follows. A form may have no parts: browsers send such
// forms.
// - Line ends are CRLF. A bare CR or LF in a part's head, a folded line and NUL are refused; names are UTF-8 or refused.

import { Buffer, isUtf8 } from 'node:buffer'

import { CR, DASH, isBlank, LF } from '../base/ascii.ts'
import { PayloadTooLargeError, WeirError } from '../base/errors.ts'

import { isBoundary } from './boundary.ts'
import { DelimiterSearch } from './delimiter-search.ts'
import { type KnownHead, knownHead, rememberHead } from './known-part-heads.ts'
import { DEFAULT_MULTIPART_LIMITS, type MultipartLimits } from './multipart-limits.ts'
import { type PartHead, readPartHead } from './part-head.ts'
import { Preamble } from './preamble.ts'

/**
 * Receives the events of one form: for each part `partBegin`, any number of `partData`, `partEnd`. Each returns whether to continue; after
 * false, `push` returns to its caller. An error that a callback throws ends the parse, and `push` throws it.
 */
export interface PartHandler {
  partBegin(head: PartHead): boolean
  /** The next bytes of the part: `bytes` from `start` to `end`, at least one. Valid as long as the pushed chunk is. */
  partData(bytes: Uint8Array, start: number, end: number): boolean
  /** The part is complete. Never called for a part that is truncated or followed by something malformed. */
  partEnd(): boolean
}

/** Nothing has arrived except the beginning of the first delimiter. */
const START = 0
const DATA = 1
const PREAMBLE = 2
const AFTER_BOUNDARY = 3
const PADDING = 4
const SECOND_DASH = 5
const DELIMITER_LF = 6
const LINE_START = 7
const LINE = 8
const LINE_LF = 9
const HEAD_LF = 10
const EPILOGUE = 11
const FAILED = 12

/** CR and LF of a delimiter may already have been read: the start of the body counts as a line start, and so does a part's data. */
const LINE_END_LENGTH = 2

const FIRST_LINE_BYTES = 256
const NO_LINE = Buffer.alloc(0)

export class MultipartParser {
  readonly #handler: PartHandler
  readonly #limits: MultipartLimits
  readonly #search: DelimiterSearch
  readonly #dashBoundary: string

  #state = START
  #failure: unknown = null
  #paused = false
  #partCount = 0

  /** How many of the bytes read last match the beginning of a delimiter. */
  #matched = LINE_END_LENGTH
  /** How many of them are not data if it turns out not to be a delimiter. */
  #assumed = LINE_END_LENGTH
  /** Null while the body may begin with its first delimiter, as nearly all bodies do. */
  #preamble: Preamble | null = null

  /** The header line that is being read, without its line end. */
  #line: Buffer = NO_LINE
  #lineLength = 0
  /** All bytes of the line or-ed together: below 0x80 it is ASCII. */
  #lineBits = 0
  #lines: string[] = []
  /** Index in the chunk at which the current head begins; -1 if it began in an earlier chunk. */
  #headStart = -1
  /** Bytes of the lines in `#lines`, line ends included, of padding, or of the preamble: the last two are read byte by byte. */
  #headSize = 0

  /**
   * @param boundary as `boundaryOf` returns it
   * @throws RangeError when `boundary` cannot be one (RFC 2046 §5.1.1)
   */
  constructor(boundary: string, handler: PartHandler, limits: MultipartLimits = DEFAULT_MULTIPART_LIMITS) {
    if (!isBoundary(boundary)) throw new RangeError(`${JSON.stringify(boundary)} cannot be a boundary`)
    this.#handler = handler
    this.#limits = limits
    this.#dashBoundary = `--${boundary}`
    this.#search = new DelimiterSearch(Buffer.from(`\r\n--${boundary}`, 'latin1'))
  }

  /**
   * Reads `chunk` from `start` to `end` and calls the handler.
   *
   * @returns how many bytes were consumed: all of them, unless a callback returned false. To continue then, push the rest again, even if
   *   the count is 0; if nothing is left, push the next chunk.
   * @throws PayloadTooLargeError when a limit is exceeded, WEIR_MULTIPART_DELIMITER, WEIR_MULTIPART_HEADER_SYNTAX,
   *   WEIR_MULTIPART_PART_NAME, WEIR_MULTIPART_ENCODING, and whatever a callback throws. From then on every call throws the same error.
   */
  push(chunk: Uint8Array, start: number = 0, end: number = chunk.length): number {
    if (this.#state === FAILED) throw this.#failure
    this.#paused = false
    let at = start
    this.#headStart = -1
    try {
      while (at < end && !this.#paused) {
        if (this.#state <= DATA) at = this.#readContent(chunk, at, end)
        else if (this.#state === PREAMBLE) at = this.#readPreamble(chunk, at, end)
        else if (this.#state <= DELIMITER_LF) this.#readDelimiter(chunk[at++]!)
        else if (this.#state === EPILOGUE) at = end
        else at = this.#readHead(chunk, at, end)
      }
    } catch (error) {
      this.#state = FAILED
      this.#failure = error
      throw error
    }
    return at - start
  }

  /** The body has ended. @throws WEIR_MULTIPART_TRUNCATED unless the close delimiter was read, or the error that `push` threw */
  finish(): void {
    if (this.#state === EPILOGUE) return
    if (this.#state !== FAILED) {
      this.#state = FAILED
      this.#failure = new WeirError('WEIR_MULTIPART_TRUNCATED')
    }
    throw this.#failure
  }

  /** Discards everything before the first delimiter. Returns where it stopped. */
  #readPreamble(chunk: Uint8Array, at: number, end: number): number {
    const boundaryLength = this.#search.needle.length - LINE_END_LENGTH // it may have arrived in part
    const room = this.#limits.maxPartHeaderSize + boundaryLength - this.#headSize
    const found = this.#preamble!.end(chunk, at, Math.min(end, at + room)) // not what is behind the limit, wherever the chunk ends
    if (found === -1) {
      if (end - at > room) throw this.#headTooLarge()
      this.#headSize += end - at
      return end
    }
    this.#headSize = 0
    this.#preamble = null
    this.#state = AFTER_BOUNDARY
    return found
  }

  #headTooLarge(): PayloadTooLargeError {
    return new PayloadTooLargeError('maxPartHeaderSize', this.#limits.maxPartHeaderSize)
  }

  /** Reads data up to a delimiter, or as far as there certainly is none; at the start, the first delimiter. Returns where it stopped. */
  #readContent(chunk: Uint8Array, at: number, end: number): number {
    const needle = this.#search.needle
    if (this.#matched > 0) {
      let matched = this.#matched
      while (at < end && matched < needle.length && chunk[at] === needle[matched]) {
        at++
        matched++
      }
      if (matched === needle.length) {
        this.#state = AFTER_BOUNDARY
        return at
      }
      this.#matched = matched
      if (at === end) return at
      if (this.#state === START) {
        this.#state = PREAMBLE
        this.#headSize = matched - LINE_END_LENGTH
        this.#preamble = new Preamble(needle.subarray(LINE_END_LENGTH), this.#headSize)
        return at
      }
      // It was not a delimiter, and the bytes read cannot begin another one: their only CR is the first byte.
      const assumed = this.#assumed
      this.#matched = 0
      this.#assumed = 0
      if (matched > assumed) this.#give(Buffer.from(needle.subarray(assumed, matched)), 0, matched - assumed)
      if (this.#paused) return at
    }
    const found = this.#search.find(chunk, at, end)
    if (found === -1) {
      const tail = this.#search.tail(chunk, at, end)
      this.#matched = tail
      this.#give(chunk, at, end - tail)
      return end
    }
    this.#give(chunk, at, found)
    if (this.#paused) return found // the next push finds it again, at its first byte
    this.#state = AFTER_BOUNDARY
    return found + needle.length
  }

  #give(bytes: Uint8Array, start: number, end: number): void {
    if (start < end) this.#paused = !this.#handler.partData(bytes, start, end)
  }

  /** Reads one byte of what follows `--boundary`: `--`, or padding and CRLF. */
  #readDelimiter(byte: number): void {
    const state = this.#state
    if (state === DELIMITER_LF && byte === LF) {
      this.#endPart()
      if (this.#partCount === this.#limits.maxParts) throw new PayloadTooLargeError('maxParts', this.#limits.maxParts)
      this.#partCount++
      this.#headSize = 0
      this.#state = LINE_START
    } else if (state === SECOND_DASH && byte === DASH) {
      this.#endPart()
      this.#state = EPILOGUE
    } else if (state === AFTER_BOUNDARY && byte === DASH) this.#state = SECOND_DASH
    else if (state <= PADDING && byte === CR) this.#state = DELIMITER_LF
    else if (state <= PADDING && isBlank(byte)) {
      this.#state = PADDING
      if (++this.#headSize > this.#limits.maxPartHeaderSize) throw this.#headTooLarge()
    } else throw new WeirError('WEIR_MULTIPART_DELIMITER', `after part ${this.#partCount}`)
  }

  #endPart(): void {
    if (this.#partCount > 0) this.#paused = !this.#handler.partEnd()
  }

  /** Reads the header lines of a part and the empty line after them. Returns where it stopped. */
  #readHead(chunk: Uint8Array, at: number, end: number): number {
    if (this.#state === LINE) return this.#readLine(chunk, at, end)
    const byte = chunk[at]!
    if (this.#state === LINE_START) {
      if (this.#lines.length === 0) {
        const known = knownHead(chunk, at, end)
        if (known !== null && this.#allows(known)) {
          this.#beginPart(known.head)
          return at + known.bytes.length
        }
        this.#headStart = at
      }
      if (byte === CR) this.#state = HEAD_LF
      else if (isBlank(byte)) throw new WeirError('WEIR_MULTIPART_HEADER_SYNTAX', 'a line begins with a blank')
      else {
        const maximum = this.#limits.maxPartHeaders
        if (this.#lines.length === maximum) throw new PayloadTooLargeError('maxPartHeaders', maximum)
        this.#lineLength = 0
        this.#lineBits = 0
        this.#state = LINE
        return at
      }
    } else if (byte !== LF) throw new WeirError('WEIR_MULTIPART_HEADER_SYNTAX', 'a CR without LF')
    else if (this.#state === LINE_LF) {
      this.#lines.push(this.#lineText())
      this.#headSize += this.#lineLength + LINE_END_LENGTH
      this.#state = LINE_START
    } else {
      const head = readPartHead(this.#lines)
      if (this.#headStart !== -1) rememberHead(chunk, this.#headStart, at + 1, this.#lines.length, head)
      this.#beginPart(head)
    }
    return at + 1
  }

  #allows({ bytes, lineCount }: KnownHead): boolean {
    return lineCount <= this.#limits.maxPartHeaders && bytes.length - LINE_END_LENGTH <= this.#limits.maxPartHeaderSize
  }

  #readLine(chunk: Uint8Array, at: number, end: number): number {
    const maximum = this.#limits.maxPartHeaderSize
    const room = maximum - this.#headSize - LINE_END_LENGTH
    let line = this.#line
    let length = this.#lineLength
    let bits = this.#lineBits
    for (; at < end; at++) {
      const byte = chunk[at]!
      if (byte === CR) {
        this.#state = LINE_LF
        at++
        break
      }
      if (byte === LF || byte === 0) throw new WeirError('WEIR_MULTIPART_HEADER_SYNTAX', byte === LF ? 'an LF without CR' : 'a NUL')
      if (length >= room) throw new PayloadTooLargeError('maxPartHeaderSize', maximum)
      if (length === line.length) line = this.#line = Buffer.concat([line], Math.max(FIRST_LINE_BYTES, length * 2))
      bits |= byte
      line[length++] = byte
    }
    this.#lineLength = length
    this.#lineBits = bits
    return at
  }

  #lineText(): string {
    const length = this.#lineLength
    const isAscii = this.#lineBits < 0x80
    if (!isAscii && !isUtf8(this.#line.subarray(0, length))) throw new WeirError('WEIR_MULTIPART_HEADER_SYNTAX', 'a line is not UTF-8')
    const text = this.#line.toString(isAscii ? 'latin1' : 'utf8', 0, length)
    if (this.#line[0] === DASH && text.startsWith(this.#dashBoundary))
      throw new WeirError('WEIR_MULTIPART_DELIMITER', `in the head of part ${this.#partCount}`)
    return text
  }

  #beginPart(head: PartHead): void {
    this.#lines = []
    this.#headSize = 0
    this.#matched = LINE_END_LENGTH
    this.#assumed = LINE_END_LENGTH
    this.#state = DATA
    this.#paused = !this.#handler.partBegin(head)
  }
}
