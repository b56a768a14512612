// Uploads whose clients leave in the middle: no file and no descriptor is left, and each is recorded once as what it is.

import assert from 'node:assert/strict'
import { readdirSync, readlinkSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions, saveTo } from '../../src/index.ts'
import { Observed } from '../support/observed.ts'
import { eventually } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const UPLOADS = 100
const TYPE = 'multipart/form-data; boundary=b'
const PART = `--b\r\nContent-Disposition: form-data; name="f"; filename="a.bin"\r\n\r\n`

/** Sends the beginning of an upload. @returns what leaves: with a reset, or without one */
type Send = (port: number, i: number) => (reset: boolean) => void

const overHttp1: Send = (port, i) => {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const body = PART + 'x'.repeat(1000 + 1000 * i)
  const isChunked = i % 3 === 0
  const framing = isChunked ? 'Transfer-Encoding: chunked' : 'Content-Length: 1000000'
  socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${TYPE}\r\n${framing}\r\n\r\n`)
  socket.write(isChunked ? `${body.length.toString(16)}\r\n${body}\r\n` : body)
  return (reset) => void (reset ? socket.resetAndDestroy() : socket.destroy())
}

const overHttp2: Send = (port, i) => {
  const session = connectHttp2(`http://localhost:${port}`).on('error', () => {})
  const stream = session.request({ ':method': 'POST', ':path': '/', 'content-type': TYPE }).on('error', () => {})
  stream.write(PART + 'x'.repeat(1000 + 500 * i))
  return (reset) => {
    if (reset) stream.close(8, () => session.destroy())
    else session.destroy()
  }
}

const PROTOCOLS: readonly (readonly [name: string, options: ServerOptions, send: Send])[] = [
  ['HTTP/1.1', {}, overHttp1],
  ['HTTP/2', { http2: 'cleartext' }, overHttp2],
]

for (const [name, options, send] of PROTOCOLS)
  test(`${name}: uploads that are cut leave no file, no descriptor and no connection`, async (t: TestContext) => {
    const directory = temporaryDirectory(t)
    const observed = new Observed()
    // All uploads wait until the last has begun, which takes a busy machine longer than a slow client has.
    const server = new HttpServer({ logger: null, timeouts: { minBodyRate: 0 }, ...options })
    observed.on(server)
    let began = 0
    let ended = 0
    server.mapPost('/', async (_, { request }) => {
      try {
        await request.bodyMultipartStream({
          onFile: async (info, content) => {
            began++
            await saveTo(directory, info, content)
          },
        })
      } finally {
        ended++
      }
    })
    await server.start()
    t.after(() => server.stop({ grace: 0 }))
    const leaves = Array.from({ length: UPLOADS }, (_, i) => send(server.port, i))
    await eventually(() => began === UPLOADS, 'the files')
    for (const [i, leave] of leaves.entries()) leave(i % 2 === 0)
    await eventually(() => ended === UPLOADS && observed.ended.length === UPLOADS, 'the ends')
    assert.deepEqual(new Set(observed.ended.map(({ outcome }) => outcome)), new Set(['client-gone']))
    await eventually(() => readdirSync(directory).length === 0, 'no file')
    await eventually(() => server.connections === 0, 'no connection')
    if (process.platform !== 'linux') return
    const open = (): number =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory)
        } catch {
          return false
        }
      }).length
    await eventually(() => open() === 0, 'no descriptor')
  })
