// One exchange with a server by raw TCP, timed as Http11Probe's runner times it: read to the end of the head, take what has
// arrived 100 ms later, and look 50 ms after that whether the server has closed the connection.
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

import { Dictionary, fromAscii } from './dotnet.mjs'

/** @typedef {{ StatusCode: number, ReasonPhrase: string, HttpVersion: string, Headers: Dictionary, RawResponse: string, Body: string | null }} ProbeResponse */
/** @typedef {'Open' | 'ClosedByServer' | 'TimedOut' | 'Error'} ConnectionState */

const READ_TIMEOUT_MS = 5000
const MAX_BYTES = 65536
const BODY_MS = 100
const STATE_MS = 50

export class ProbeConnection {
  /** What has arrived and was not read. */
  #unread = Buffer.alloc(0)
  #isClosed = false
  #wake = () => {}
  #socket

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.#socket = socket
    socket.on('data', (bytes) => {
      this.#unread = Buffer.concat([this.#unread, bytes])
      this.#wake()
    })
    for (const event of ['end', 'error', 'close'])
      socket.on(event, () => {
        this.#isClosed = true
        this.#wake()
      })
  }

  /** @param {string} host @param {number} port @returns {Promise<ProbeConnection>} */
  static open(host, port) {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, family: 4, noDelay: true, allowHalfOpen: true }, () => resolve(new ProbeConnection(socket)))
      socket.once('error', reject)
    })
  }

  /** @param {Buffer} bytes @returns {Promise<boolean>} whether they were sent */
  send(bytes) {
    if (bytes.length === 0) return Promise.resolve(true)
    return new Promise((resolve) => this.#socket.write(bytes, (error) => resolve(error === null || error === undefined)))
  }

  /** @returns {Promise<{ bytes: Buffer, state: ConnectionState }>} */
  async receive() {
    const deadline = performance.now() + READ_TIMEOUT_MS
    let bytes = Buffer.alloc(0)
    const take = () => {
      const part = this.#unread.subarray(0, MAX_BYTES - bytes.length)
      bytes = Buffer.concat([bytes, part])
      this.#unread = this.#unread.subarray(part.length)
    }
    for (;;) {
      take()
      if (bytes.includes('\r\n\r\n') || bytes.length === MAX_BYTES) break
      if (this.#isClosed) return { bytes, state: 'ClosedByServer' }
      const ms = deadline - performance.now()
      if (ms <= 0) return { bytes, state: 'TimedOut' }
      await this.#arrival(ms)
    }
    if (deadline - performance.now() < BODY_MS) return { bytes, state: 'TimedOut' }
    await pause(BODY_MS)
    take()
    return { bytes, state: 'Open' }
  }

  /** @param {number} ms @returns {Promise<void>} */
  #arrival(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** The state after a response. Bytes that nobody has read hide a close. @returns {Promise<ConnectionState>} */
  async stateAfter() {
    await pause(STATE_MS)
    return this.state()
  }

  /** @returns {ConnectionState} */
  state() {
    return this.#isClosed && this.#unread.length === 0 ? 'ClosedByServer' : 'Open'
  }

  close() {
    this.#socket.destroy()
  }
}

/**
 * Reads a response as leniently as the board does.
 * @param {Buffer} bytes @returns {ProbeResponse | null}
 */
export function readResponse(bytes) {
  const text = fromAscii(bytes)
  const [head = ''] = text.split('\r\n\r\n', 1)
  const lines = head.split('\n').map((line) => line.replace(/\r+$/, ''))
  const parts = /^([^ ]*) ([^ ]*)(?: (.*))?$/s.exec(lines[0] ?? '')
  if (parts === null || !text.includes('\n') || !/^\s*[+-]?\d{1,9}\s*$/.test(parts[2] ?? '')) return null
  const headers = new Dictionary(true)
  for (const line of lines.slice(1)) {
    if (line === '') break
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    const name = line.slice(0, colon).trim()
    const value = line.slice(colon + 1).trim()
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  const bodyAt = text.indexOf('\r\n\r\n') + 4
  return {
    StatusCode: Number(parts[2]),
    ReasonPhrase: parts[3] ?? '',
    HttpVersion: parts[1] ?? '',
    Headers: headers,
    RawResponse: text.slice(0, 8192),
    Body: bodyAt >= 4 && bodyAt < text.length ? text.slice(bodyAt, bodyAt + 4096) : null,
  }
}
