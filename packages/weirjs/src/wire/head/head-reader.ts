// Reads request heads: the bytes up to the empty line and their meaning (RFC 9112 §3, §5). It checks every byte once, and keeps only the
// facts that the engine needs.
//
// HTTP/2 heads are converted to equivalent HTTP/1.1 heads and read here too, so that one reader checks both.

import { CLASS, CR, isDigit, LF, SLASH, SP, TARGET, TARGET_SPECIAL, TOKEN, trimBlanks, ZERO } from '../../base/ascii.ts'
import { LimitError, ProtocolError } from '../../base/errors.ts'
import { DEFAULT_LIMITS, type Limits } from '../../base/limits.ts'
import { FieldReader, isName } from './fields.ts'
import { bodyLength } from './framing.ts'
import { MutableHead } from './head.ts'
import { isAuthority, plainTarget, readTarget, type Target } from './target.ts'

const METHOD = 0
const REQUEST_TARGET = 1
const VERSION = 2
const FIELDS = 3

const VERSION_TEXT = 'HTTP/1.1\r\n'
const MAJOR_AT = 5
const MINOR_AT = 7
const CR_AT = 8

/** Methods by the length of their names. Recognising one is cheaper than creating a string, and makes later look-ups cheaper too. */
const METHODS: readonly (readonly string[])[] = [[], [], [], ['GET', 'PUT'], ['POST', 'HEAD'], ['PATCH'], ['DELETE'], ['OPTIONS']]

/** Fields that the engine itself reads, as bits of `#seen`. */
const CONNECTION = 1
const TRANSFER_ENCODING = 2
const EXPECT = 4
const UPGRADE = 8
/** A Connection field whose value is just `keep-alive`, as browsers send it. */
const KEEP_ALIVE = 16
/** More than one Content-Type field. */
const CONTENT_TYPES = 32

/**
 * A longer Host or Content-Type is not remembered: values that repeat in every request are shorter, and readers outlive their connections.
 */
const MAX_REMEMBERED_CHARS = 128

/**
 * Reads heads one after the other. It keeps no bytes: until the head is complete, each call receives the bytes from the head's first byte
 * again.
 */
export class HeadReader extends FieldReader {
  #limits: Limits = DEFAULT_LIMITS
  #state = METHOD
  #method = ''
  /** The flags of all bytes of the target, or-ed together. */
  #targetFlags = 0
  #targetStart = 0
  #versionStart = 0
  #minorVersion: 0 | 1 = 1
  #fieldsStart = 0
  #fieldCount = 0
  #seen = 0
  /** Successive requests mostly have the same Host, which is then checked only once. */
  #lastHost = ''
  #hostStart = -1
  #hostEnd = 0
  #lengthStart = -1
  #lengthEnd = 0
  /** Like `#lastHost`. The same string is returned again, so that its reader can remember how it parsed it. */
  #lastType = ''
  #typeStart = -1
  #typeEnd = 0

  /** Whether the method is HEAD. Known as soon as the method was read, even if the rest of the head is refused. */
  get isHead(): boolean {
    return this.#method === 'HEAD'
  }

  /** Prepares for the next head. */
  reset(): void {
    this.at = 0
    this.#method = ''
    this.#targetFlags = 0
    this.#state = METHOD
    this.#fieldCount = 0
    this.#seen = 0
    this.#hostStart = -1
    this.#lengthStart = -1
    this.#typeStart = -1
  }

  /**
   * Continues reading in `buf[base, end)`, where `base` is the head's first byte.
   * @returns the head, `size` bytes long, or null when bytes are missing
   * @throws ProtocolError, LimitError
   */
  read(buf: Buffer, base: number, end: number, limits: Limits): MutableHead | null {
    this.#limits = limits
    const maximum = limits.maxRequestHeaderSize
    const stop = end - base > maximum ? base + maximum : end
    if (this.#state !== FIELDS && !this.#readRequestLine(buf, base, stop)) {
      if (stop < end)
        throw new LimitError(this.#state === METHOD ? 'WEIR_METHOD_TOO_LONG' : 'WEIR_TARGET_TOO_LONG', 'maxRequestHeaderSize', maximum)
      return null
    }
    if (!this.readFields(buf, base, stop)) {
      if (stop < end) throw new LimitError('WEIR_HEAD_TOO_LARGE', 'maxRequestHeaderSize', maximum)
      return null
    }
    return this.#finish(buf, base)
  }

  #readRequestLine(buf: Buffer, base: number, stop: number): boolean {
    let p = base + this.at
    if (this.#state === METHOD) {
      while (p < stop && (CLASS[buf[p]!]! & TOKEN) !== 0) p++
      this.at = p - base
      if (p === stop) return false
      if (p === base) throw new ProtocolError('WEIR_FIRST_BYTE')
      if (buf[p] !== SP) throw new ProtocolError(isLineEnd(buf[p]!) ? 'WEIR_REQUEST_LINE_SYNTAX' : 'WEIR_METHOD_SYNTAX')
      this.#method = readMethod(buf, base, p)
      p++
      this.#targetStart = this.at = p - base
      this.#state = REQUEST_TARGET
    }
    if (this.#state === REQUEST_TARGET) {
      let flags = this.#targetFlags
      for (let is = 0; p < stop && ((is = CLASS[buf[p]!]!) & TARGET) !== 0; p++) flags |= is
      this.#targetFlags = flags
      this.at = p - base
      if (p === stop) return false
      if (buf[p] !== SP) throw new ProtocolError(isLineEnd(buf[p]!) ? 'WEIR_VERSION_SYNTAX' : 'WEIR_TARGET_SYNTAX')
      if (this.at === this.#targetStart) throw new ProtocolError('WEIR_REQUEST_LINE_SYNTAX')
      p++
      this.#versionStart = this.at = p - base
      this.#state = VERSION
    }
    const version = base + this.#versionStart
    const versionEnd = version + VERSION_TEXT.length
    if (p === version && versionEnd <= stop && isText(buf, p, VERSION_TEXT)) {
      this.#minorVersion = 1
      p = versionEnd
    } else for (; p < versionEnd && p < stop; p++) this.#checkVersion(buf, p, p - version)
    this.at = p - base
    if (p < versionEnd) return false
    this.#fieldsStart = this.at
    this.#state = FIELDS
    this.begin(this.at)
    return true
  }

  /** A higher minor version is read as 1.1 (RFC 9110 §2.5). Another major version, one digit, is not supported. Anything else is a bad request. */
  #checkVersion(buf: Buffer, p: number, index: number): void {
    const byte = buf[p]!
    if (index === MAJOR_AT && isDigit(byte)) return
    if (index === MAJOR_AT + 1 && byte === VERSION_TEXT.charCodeAt(index) && buf[p - 1] !== VERSION_TEXT.charCodeAt(MAJOR_AT))
      throw new ProtocolError('WEIR_VERSION_UNSUPPORTED')
    if (byte === VERSION_TEXT.charCodeAt(index)) {
      if (index === MINOR_AT) this.#minorVersion = 1
      return
    }
    if (index !== MINOR_AT || !isDigit(byte))
      throw new ProtocolError(index > MINOR_AT && (index > CR_AT || isLineEnd(byte)) ? 'WEIR_LINE_END' : 'WEIR_VERSION_SYNTAX')
    this.#minorVersion = byte === ZERO ? 0 : 1
  }

  protected override field(buf: Buffer, base: number, nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
    if (++this.#fieldCount > this.#limits.maxRequestHeaders) {
      throw new LimitError('WEIR_TOO_MANY_FIELDS', 'maxRequestHeaders', this.#limits.maxRequestHeaders)
    }
    const name = base + nameStart
    switch (nameEnd - nameStart) {
      case 4:
        if (!isName(buf, name, 'host')) return
        if (this.#hostStart !== -1) throw new ProtocolError('WEIR_HOST_REPEATED')
        this.#hostStart = valueStart
        this.#hostEnd = valueEnd
        return
      case 6:
        if (isName(buf, name, 'expect')) this.#seen |= EXPECT
        return
      case 7:
        if (isName(buf, name, 'upgrade')) this.#seen |= UPGRADE
        return
      case 10:
        if (!isName(buf, name, 'connection')) return
        this.#seen |= this.#isKeepAlive(buf, base + valueStart, base + valueEnd) ? KEEP_ALIVE : CONNECTION
        return
      case 12:
        if (!isName(buf, name, 'content-type')) return
        if (this.#typeStart !== -1) this.#seen |= CONTENT_TYPES
        this.#typeStart = valueStart
        this.#typeEnd = valueEnd
        return
      case 14:
        if (!isName(buf, name, 'content-length')) return
        if (this.#lengthStart !== -1) throw new ProtocolError('WEIR_CONTENT_LENGTH_REPEATED')
        this.#lengthStart = valueStart
        this.#lengthEnd = valueEnd
        return
      case 17:
        if (isName(buf, name, 'transfer-encoding')) this.#seen |= TRANSFER_ENCODING
    }
  }

  #finish(buf: Buffer, base: number): MutableHead {
    const block = buf.toString('latin1', base, base + this.at)
    const method = this.#method
    const text = block.slice(this.#targetStart, this.#versionStart - 1)
    const isPlain = (this.#targetFlags & TARGET_SPECIAL) === 0 && text.charCodeAt(0) === SLASH && method !== 'CONNECT'
    const target = isPlain ? plainTarget(text) : readTarget(method, text)
    const isSame = target.authority === null && isAgain(block, this.#hostStart, this.#hostEnd, this.#lastHost)
    const head = new MutableHead(
      block,
      method,
      target,
      this.#targetStart,
      this.#versionStart,
      this.#minorVersion,
      this.#fieldsStart,
      isSame ? this.#lastHost : this.#readHost(buf, base, target),
    )
    if (this.#typeStart !== -1) head.contentType = this.#readType(buf, base, block, head)
    const seen = this.#seen
    const transferEncoding = (seen & TRANSFER_ENCODING) === 0 ? null : head.get('transfer-encoding')
    const contentLength = this.#lengthStart === -1 ? null : trimBlanks(block, this.#lengthStart, this.#lengthEnd)
    if (transferEncoding !== null || contentLength !== null)
      head.contentLength = bodyLength(contentLength, transferEncoding, this.#minorVersion)
    if (seen === 0) return head
    if ((seen & CONNECTION) === 0) head.keepAlive ||= (seen & KEEP_ALIVE) !== 0
    else this.#readConnection(head, (seen & UPGRADE) !== 0)
    if ((seen & EXPECT) !== 0 && this.#minorVersion === 1) {
      checkExpectation(head.get('expect')!)
      head.expectsContinue = head.contentLength !== 0
    }
    return head
  }

  /** RFC 9112 §3.2: HTTP/1.1 requires exactly one Host. The authority of an absolute-form target must be the same. */
  #readHost(buf: Buffer, base: number, target: Target): string {
    if (this.#hostStart === -1) {
      if (this.#minorVersion === 1) throw new ProtocolError('WEIR_HOST_MISSING')
      if (target.authority === null) return ''
    }
    const host = this.#hostStart === -1 ? target.authority! : ownText(buf, base + this.#hostStart, base + this.#hostEnd)
    // A client sends an empty Host when its target has no authority (RFC 9112 §3.2).
    if (host !== '' && host !== this.#lastHost && !isAuthority(host)) throw new ProtocolError('WEIR_HOST_SYNTAX')
    // An authority may be a slice of its head, and would keep the whole head in memory.
    if (this.#hostStart !== -1 && host.length <= MAX_REMEMBERED_CHARS) this.#lastHost = host
    if (target.authority !== null && target.authority.toLowerCase() !== host.toLowerCase()) throw new ProtocolError('WEIR_HOST_MISMATCH')
    return host
  }

  /** Several fields are joined like any other field. No media type can be read from the result. */
  #readType(buf: Buffer, base: number, block: string, head: MutableHead): string | null {
    if ((this.#seen & CONTENT_TYPES) !== 0) return head.get('content-type')
    if (isAgain(block, this.#typeStart, this.#typeEnd, this.#lastType)) return this.#lastType
    const type = ownText(buf, base + this.#typeStart, base + this.#typeEnd)
    if (type.length <= MAX_REMEMBERED_CHARS) this.#lastType = type
    return type
  }

  #isKeepAlive(buf: Buffer, from: number, end: number): boolean {
    const start = buf[from] === SP ? from + 1 : from
    return end - start === 'keep-alive'.length && isName(buf, start, 'keep-alive')
  }

  /** RFC 9112 §9.3: `close` takes precedence. HTTP/1.0 stays open only with `keep-alive`. */
  #readConnection(head: MutableHead, namesUpgrade: boolean): void {
    const options = head
      .get('connection')!
      .toLowerCase()
      .split(',')
      .map((option) => trimBlanks(option))
    head.keepAlive = !options.includes('close') && (this.#minorVersion === 1 || options.includes('keep-alive'))
    head.upgrade = namesUpgrade && this.#minorVersion === 1 && options.includes('upgrade')
  }
}

/** @param value of Expect, which is case-insensitive (RFC 9110 §10.1.1) */
export function checkExpectation(value: string): void {
  if (value.toLowerCase() !== '100-continue') throw new ProtocolError('WEIR_EXPECTATION_UNKNOWN')
}

function readMethod(buf: Buffer, start: number, end: number): string {
  const length = end - start
  if (length < METHODS.length) for (const method of METHODS[length]!) if (isText(buf, start, method)) return method
  return buf.toString('latin1', start, end)
}

function isText(buf: Buffer, start: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (buf[start + i] !== text.charCodeAt(i)) return false
  return true
}

/** A value to remember. It must not be a slice of the block, because it would keep the block in memory. */
function ownText(buf: Buffer, start: number, end: number): string {
  return trimBlanks(buf.toString('latin1', start, end))
}

/** Whether a value is the same as in the previous request, after a single blank. @param start -1 if there is none */
function isAgain(block: string, start: number, end: number, last: string): boolean {
  return (
    start !== -1 && last !== '' && end - start === last.length + 1 && block.charCodeAt(start) === SP && block.startsWith(last, start + 1)
  )
}

function isLineEnd(byte: number): boolean {
  return byte === CR || byte === LF
}
