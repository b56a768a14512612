// How Node's own server reads the same bytes. packages/weirjs/test/properties/node-parser.test.ts lists the known and intended differences; whatever could
// be one of them is not compared here.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

export interface NodeReading {
  /** Method, target, version, fields, body, trailers. */
  readonly requests: readonly unknown[]
  /** Whether Node refused something, with an error or with its own response. */
  readonly refuses: boolean
}

const KNOWN = [/^connection:.*\t/im, /^upgrade:/im, /^connection:.*keep-alive/im, /^proxy-connection:/im, /^transfer-encoding:.*\t/im]

/** A connection without a network: what is pushed is read, and responses are discarded. */
class Wire extends Duplex {
  readonly requests: unknown[] = []
  refuses = false

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (/^HTTP\/1\.1 4/.test(chunk.toString('latin1', 0, 10))) this.refuses = true
    done()
  }
}

let server: Server | null = null

/** Null if it could be a known difference. */
export async function readByNode(bytes: Buffer): Promise<NodeReading | null> {
  const text = bytes.toString('latin1')
  if (KNOWN.some((known) => known.test(text))) return null
  server ??= makeServer()
  const wire = new Wire()
  wire.on('error', () => {})
  server.emit('connection', wire)
  wire.push(bytes)
  for (let turn = 0; turn < 4; turn++) await setImmediate()
  const { requests, refuses } = wire
  wire.destroy()
  return { requests, refuses }
}

function makeServer(): Server {
  return createServer({ maxHeaderSize: 64 * 1024 }, onRequest).on('clientError', (_error, wire) => {
    ;(wire as Wire).refuses = true
  })
}

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  const wire = request.socket as unknown as Wire
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('error', () => {})
  request.on('end', () => {
    const { method, url: target, httpVersion: version, rawHeaders: fields, rawTrailers: trailers } = request
    wire.requests.push({ method, target, version, fields, body: Buffer.concat(pieces).toString('latin1'), trailers })
    response.end()
  })
}
