// How a Connection reads some bytes, as a flat list of words with which two readings can be compared in a microsecond.
// packages/weirjs/test/support/wire-reading.ts checks much more, and takes a hundred times as long.

import assert from 'node:assert/strict'

import { WeirError } from '../../packages/weirjs/src/base/errors.ts'
import type { Limits } from '../../packages/weirjs/src/base/limits.ts'
import { CLOSED, DATA, END, HEAD, NEED_DATA, WireConnection } from '../../packages/weirjs/src/wire/http1/connection.ts'
import { OPEN } from '../../packages/weirjs/src/wire/http1/states.ts'

import { codeOf } from './target.ts'

const POISON = 0xdd
/** The number of requests that the outcome describes. */
const MOST_SHAPES = 2

/** The memory in which the connection receives its bytes; it is overwritten when more are needed. */
let lent = Buffer.alloc(4096)

export class WireWords {
  readonly #connection: WireConnection
  /** Heads, bodies, trailers, ends and the refusal, in order. */
  readonly words: (string | number | boolean)[] = []
  /** The shapes of the first requests, and the refusal. */
  outcome = ''
  #shapes = 0
  #body = ''

  /** @param ends where the pieces of the bytes end @param halfClose whether the client ends its side after them */
  constructor(bytes: Buffer, ends: readonly number[], limits: Limits, halfClose: boolean) {
    this.#connection = new WireConnection(limits)
    if (lent.length < bytes.length) lent = Buffer.alloc(2 * bytes.length)
    try {
      let start = 0
      for (const end of ends) {
        if (end > start) this.#receive(bytes, start, end)
        start = end
      }
      if (halfClose) {
        this.#connection.receiveEnd()
        this.#drain()
      }
      this.#endBody()
    } catch (error) {
      this.#endBody()
      const isCutShort = halfClose && error instanceof WeirError && error.code === 'WEIR_BODY_TRUNCATED'
      const code = isCutShort ? error.code : codeOf(error)
      this.words.push(code)
      this.outcome += code
    }
  }

  #receive(bytes: Buffer, start: number, end: number): void {
    bytes.copy(lent, 0, start, end)
    this.#connection.receive(lent, end - start)
    this.#drain()
    lent.fill(POISON, 0, end - start)
  }

  #drain(): void {
    const connection = this.#connection
    for (;;) {
      const event = connection.next()
      if (event === HEAD) this.#noteHead()
      else if (event === DATA) this.#body += connection.buffer.toString('latin1', connection.dataStart, connection.dataEnd)
      else if (event === END) this.#noteEnd()
      else {
        if (event !== NEED_DATA && event !== CLOSED) assert.fail(`event ${event}`)
        return
      }
    }
  }

  #noteHead(): void {
    const { head } = this.#connection
    const { contentLength, keepAlive, expectsContinue, upgrade, host, url, path } = head
    this.words.push(head.method, head.target, head.minorVersion, url, path, host, contentLength, keepAlive, expectsContinue, upgrade)
    const before = this.words.length
    for (const [name, value] of head.entries()) this.words.push(name, value)
    if (this.#shapes++ >= MOST_SHAPES) return
    const kind = contentLength === -1 ? 'chunked' : contentLength === 0 ? 'none' : 'length'
    this.outcome += `${kind}${keepAlive ? ' k' : ''}${expectsContinue ? ' e' : ''}${upgrade ? ' u' : ''}`
    if (this.#shapes === 1) this.outcome += ` ${Math.min((this.words.length - before) / 2, 4)}`
  }

  #noteEnd(): void {
    this.#endBody()
    const { trailers } = this.#connection
    for (const [name, value] of trailers) this.words.push(name, value)
    this.words.push('end')
    if (this.#shapes <= MOST_SHAPES) this.outcome += trailers.length === 0 ? '. ' : ` ${Math.min(trailers.length, 2)}. `
    this.#connection.endResponse()
    if (this.#connection.endCycle() !== OPEN) this.#connection.linger()
  }

  #endBody(): void {
    if (this.#body === '') return
    this.words.push(this.#body)
    this.#body = ''
  }
}
