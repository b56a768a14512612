// Drives a wire Connection as its owner would, and records what it returns. It also checks what holds for every input: the order of events,
// that nothing borrowed is kept, that a refusal is final, and that all views of a head agree.

import assert from 'node:assert/strict'

import type { ErrorCode } from '../../src/base/error-codes.ts'
import { WeirError } from '../../src/base/errors.ts'
import { type Limits, resolveLimits } from '../../src/base/limits.ts'
import { CHUNKED } from '../../src/wire/head/framing.ts'
import type { Head } from '../../src/wire/head/head.ts'
import { CLOSED, DATA, END, HEAD, NEED_DATA, PAUSED, WireConnection } from '../../src/wire/http1/connection.ts'
import { OPEN } from '../../src/wire/http1/states.ts'

export interface Message {
  readonly method: string
  readonly target: string
  readonly minorVersion: number
  readonly url: string
  readonly path: string
  readonly host: string
  readonly keepAlive: boolean
  readonly expectsContinue: boolean
  readonly upgrade: boolean
  readonly bodyKind: string
  readonly contentLength: number
  readonly fields: readonly (readonly [string, string])[]
  /** The received part of the body. */
  body: Buffer
  trailers: readonly (readonly [string, string])[]
  isWhole: boolean
}

export interface Reading {
  readonly messages: readonly Message[]
  readonly error: ErrorCode | null
  /** Whether the connection ended without a refusal: after a last request, or because the client half-closed between two requests. */
  readonly isClosed: boolean
  /** The most bytes held between two receives, in addition to the size of the last part. */
  readonly mostHeldBytes: number
}

export interface ReadingOptions {
  readonly limits?: Limits
  /** The client ends its side after the last byte. */
  readonly halfClose?: boolean
  /** Whether the connection pauses after each request, as it does while a handler is running. */
  readonly pauses?: boolean
  /** Called after each HEAD, to set what an owner may set. */
  readonly onHead?: (connection: WireConnection) => void
}

const DEFAULT_LIMITS = resolveLimits()
/** The parser must not read these bytes, which follow those that were passed in. */
const SLACK_BYTES = 8
const POISON = 0xdd

/** What the parser makes of these parts. */
export function read(parts: readonly Buffer[], options: ReadingOptions = {}): Reading {
  return new Reader(options).read(parts)
}

class Reader {
  readonly #connection: WireConnection
  readonly #options: ReadingOptions
  readonly #messages: Message[] = []
  #head: Head | null = null
  #data: Buffer[] = []
  #isReading = false
  #error: ErrorCode | null = null
  #isClosed = false
  #mostHeldBytes = 0

  constructor(options: ReadingOptions) {
    this.#options = options
    this.#connection = new WireConnection(options.limits ?? DEFAULT_LIMITS)
  }

  read(parts: readonly Buffer[]): Reading {
    const shared = Buffer.alloc(parts.reduce((most, part) => Math.max(most, part.length), 0) + SLACK_BYTES)
    for (const part of parts) {
      shared.fill(POISON)
      part.copy(shared)
      this.#connection.receive(shared, part.length)
      this.#drain(shared)
      this.#mostHeldBytes = Math.max(this.#mostHeldBytes, this.#connection.heldBytes - part.length)
    }
    if (this.#options.halfClose) {
      this.#connection.receiveEnd()
      this.#drain(shared)
    }
    this.#writeDown()
    return { messages: this.#messages, error: this.#error, isClosed: this.#isClosed, mostHeldBytes: this.#mostHeldBytes }
  }

  /**
   * Calls `next` until the connection has nothing more to return. From then on the memory that was passed in belongs to the owner again,
   * which overwrites it.
   */
  #drain(shared: Buffer): void {
    for (;;) {
      const event = this.#next()
      if (event === HEAD) {
        assert.ok(!this.#isReading, 'HEAD in the middle of a request')
        this.#isReading = true
        this.#head = this.#connection.head
        this.#options.onHead?.(this.#connection)
      } else if (event === DATA) {
        const { buffer, dataStart, dataEnd } = this.#connection
        assert.ok(this.#isReading, 'DATA outside a request')
        assert.ok(0 <= dataStart && dataStart < dataEnd && dataEnd <= buffer.length, `DATA from ${dataStart} to ${dataEnd}`)
        this.#data.push(Buffer.from(buffer.subarray(dataStart, dataEnd)))
      } else if (event === END) {
        assert.ok(this.#isReading, 'END outside a request')
        if (this.#options.pauses) {
          assert.equal(this.#next(), PAUSED, 'after END the connection waits for endCycle')
          shared.fill(POISON)
          assert.equal(this.#next(), PAUSED, 'PAUSED stays')
        }
        this.#endMessage()
      } else {
        shared.fill(POISON)
        assert.notEqual(event, PAUSED, 'PAUSED although the response is complete')
        if (event === CLOSED) {
          this.#isClosed = this.#error === null
          assert.ok(!this.#isReading || this.#error !== null, 'CLOSED in the middle of a request')
          assert.equal(this.#next(), CLOSED, 'CLOSED stays')
        } else {
          assert.equal(event, NEED_DATA, 'an unknown event')
          assert.equal(this.#error, null, 'NEED_DATA after a refusal')
          assert.equal(this.#next(), NEED_DATA, 'NEED_DATA stays')
        }
        return
      }
    }
  }

  #next(): number {
    try {
      return this.#connection.next()
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      const isTruncation = error.code === 'WEIR_BODY_TRUNCATED' && this.#options.halfClose
      assert.ok(
        error.fault === 'peer' || error.fault === 'limit' || isTruncation,
        `refused with ${error.code}, whose fault is ${error.fault}`,
      )
      assert.equal(this.#error, null, `a second refusal: ${error.code}`)
      this.#error = error.code
      return CLOSED
    }
  }

  #endMessage(): void {
    const { keepAlive, contentLength } = this.#head!
    const message = this.#writeDown()!
    message.trailers = this.#connection.trailers.map(([name, value]) => [name, value])
    message.isWhole = true
    if (contentLength !== CHUNKED) assert.equal(message.body.length, contentLength, 'a body as long as its Content-Length')
    this.#isReading = false
    this.#connection.endResponse()
    if (this.#connection.endCycle() !== OPEN) this.#connection.linger()
    if (!keepAlive) assert.equal(this.#connection.next(), CLOSED, 'after the last request the connection is closed')
  }

  /** As late as possible, after the buffer has been overwritten: a handler may read a head at any time. */
  #writeDown(): Message | null {
    const head = this.#head
    if (head === null) return null
    this.#head = null
    const fields = [...head.entries()].map(([name, value]) => [name, value] as const)
    checkViews(head, fields)
    const { method, target, minorVersion, url, path, host, keepAlive, expectsContinue, upgrade, contentLength } = head
    const bodyKind = contentLength === CHUNKED ? 'chunked' : contentLength === 0 ? 'none' : 'length'
    const facts = { method, target, minorVersion, url, path, host, keepAlive, expectsContinue, upgrade, bodyKind, contentLength }
    const message = { ...facts, fields, body: Buffer.concat(this.#data), trailers: [], isWhole: false }
    this.#data = []
    this.#messages.push(message)
    return message
  }
}

/** Reads one head in several ways, which must all agree. */
function checkViews(head: Head, fields: readonly (readonly [string, string])[]): void {
  const mark = head.url.indexOf('?')
  assert.equal(head.queryString, mark < 0 ? '' : head.url.slice(mark + 1), 'queryString is what follows the ? in url')
  const combined = new Map<string, string>()
  for (const [name, value] of fields) {
    const key = name.toLowerCase()
    const before = combined.get(key)
    combined.set(key, before === undefined ? value : `${before}${key === 'cookie' ? '; ' : ', '}${value}`)
  }
  for (const [key, value] of combined) assert.equal(head.get(key), value, `get('${key}')`)
  for (const key of ['constructor', '__proto__', 'x-not-there', 'hos', 'ost', '']) {
    if (!combined.has(key)) assert.equal(head.get(key), null, `get('${key}') of a field that was not sent`)
  }
}

/** The reading in the format of a fixture. */
export function formatReading(reading: Reading, halfClose = false): string {
  const lines = reading.messages.flatMap(formatMessage)
  if (reading.error !== null) lines.push(`error ${reading.error}`)
  else if (halfClose && reading.isClosed) lines.push('closed')
  return lines.join('\n')
}

function formatMessage(message: Message): string[] {
  const length = message.bodyKind === 'length' ? `${message.contentLength}` : message.bodyKind
  const flags = `${message.keepAlive ? 'keep-alive' : 'close'}${message.expectsContinue ? ' continue' : ''}${message.upgrade ? ' upgrade' : ''}`
  const lines = [`head ${message.method} ${visible(message.target)} HTTP/1.${message.minorVersion} body=${length} ${flags}`]
  for (const [name, value] of message.fields) lines.push(`field ${name}: ${visible(value)}`.trimEnd())
  if (message.url !== message.target) lines.push(`url ${visible(message.url)}`)
  if (message.path !== message.url.split('?')[0]) lines.push(`path ${visible(message.path)}`)
  const sent = message.fields.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? ''
  if (message.host !== sent) lines.push(`host ${visible(message.host)}`.trimEnd())
  if (message.body.length > 0) lines.push(`data "${visible(message.body.toString('latin1')).replaceAll('"', '\\"')}"`)
  for (const [name, value] of message.trailers) lines.push(`trailer ${name}: ${visible(value)}`.trimEnd())
  if (message.isWhole) lines.push('end')
  return lines
}

/** `text` with escapes for all controls, characters above 0x7E and backslashes, and for a blank at either end. */
function visible(text: string): string {
  return text.replace(/\\|^ | $|[^ -~]/g, (char) => {
    const code = char.charCodeAt(0)
    if (char === '\\') return '\\\\'
    if (code > 0xff) return `\\u${code.toString(16).padStart(4, '0')}`
    return { '\r': '\\r', '\n': '\\n', '\t': '\\t' }[char] ?? `\\x${code.toString(16).padStart(2, '0')}`
  })
}
