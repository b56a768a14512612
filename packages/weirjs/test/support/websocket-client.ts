// Clients for the tests of weirjs/websocket: frames written byte by byte, and the client of ws; and the echo that they talk to.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { WebSocket as WsClient } from 'ws'
import type { HttpServer } from '../../src/index.ts'
import { type WebSocketConnection, type WebSocketOptions, type WebSocketRoute, websocket } from '../../src/modules/websocket/index.ts'
import type { RawClient } from './raw-client.ts'
import type { Serving } from './serving.ts'

export const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
/** The accept value that RFC 6455 §1.3 lists for that key. */
export const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='
export const HANDSHAKE = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n`

export const TEXT = 1
export const BINARY = 2
export const CLOSE = 8
export const PING = 9
export const PONG = 10

/** A frame as a client sends it (RFC 6455 §5.2). Its mask is zero, so the payload stays readable. */
export function frame(opcode: number, payload: string | Uint8Array = '', { fin = true, mask = true, compressed = false } = {}): Buffer {
  const bytes = Buffer.from(payload as string)
  const start = [
    (fin ? 0x80 : 0) | (compressed ? 0x40 : 0) | opcode,
    (mask ? 0x80 : 0) | (bytes.length < 126 ? bytes.length : bytes.length < 65_536 ? 126 : 127),
  ]
  const length = bytes.length < 126 ? Buffer.alloc(0) : Buffer.alloc(bytes.length < 65_536 ? 2 : 8)
  if (length.length === 2) length.writeUInt16BE(bytes.length)
  if (length.length === 8) length.writeBigUInt64BE(BigInt(bytes.length))
  return Buffer.concat([Buffer.from(start), length, Buffer.alloc(mask ? 4 : 0), bytes])
}

/** A frame from the server. Reads short ones only. */
async function readFrame(client: RawClient, buffered: { bytes: Buffer }): Promise<{ opcode: number; payload: Buffer }> {
  for (;;) {
    const { bytes } = buffered
    const length = bytes.length < 2 ? 0 : bytes[1]!
    if (bytes.length >= 2 + length && bytes.length >= 2) {
      buffered.bytes = bytes.subarray(2 + length)
      return { opcode: bytes[0]! & 0x0f, payload: bytes.subarray(2, 2 + length) }
    }
    buffered.bytes = Buffer.concat([bytes, await client.atLeast(1)])
  }
}

/** A raw client that has completed its handshake. */
export class RawSocket {
  readonly client: RawClient
  readonly head: string
  readonly #buffered: { bytes: Buffer }

  constructor(client: RawClient, response: string) {
    this.client = client
    const end = response.indexOf('\r\n\r\n') + 4
    this.head = response.slice(0, end)
    this.#buffered = { bytes: Buffer.from(response.slice(end), 'latin1') }
  }

  static async open({ connect }: Serving, path = '/', fields = ''): Promise<RawSocket> {
    const client = await connect()
    const response = await client.get(path, HANDSHAKE + fields).until('\r\n\r\n')
    assert.match(response, /^HTTP\/1\.1 101 /)
    return new RawSocket(client, response)
  }

  frame() {
    return readFrame(this.client, this.#buffered)
  }

  /** The code with which the server closes. Earlier frames are skipped. */
  async closeCode(): Promise<number> {
    for (;;) {
      const { opcode, payload } = await this.frame()
      if (opcode === CLOSE) return payload.readUInt16BE()
    }
  }
}

/** Sends to a client that does not read, until something waits in the server. */
export async function fill(socket: WebSocketConnection): Promise<void> {
  while (socket.bufferedBytes === 0) {
    socket.send('x'.repeat(60_000))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

export const echo: WebSocketOptions<unknown> = { message: (socket, data) => void socket.send(data) }

export function mapEcho(server: HttpServer, options: WebSocketOptions<unknown> = {}): WebSocketRoute<unknown> {
  const route = websocket('/', { ...echo, ...options })
  server.use(route)
  return route
}

/** An open client of ws. */
export async function openWs(t: TestContext, server: HttpServer, path = '/', ...rest: unknown[]): Promise<WsClient> {
  const client = new WsClient(`ws://127.0.0.1:${server.port}${path}`, ...(rest as []))
  t.after(() => client.terminate())
  await once(client, 'open')
  return client
}
