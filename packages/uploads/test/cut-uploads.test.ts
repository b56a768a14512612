// Clients that are cut off in the middle of appending, at any place and in every way: what has arrived counts, the next PATCH goes on there, and
// nothing but the upload is left.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { HttpServer, type ServerOptions } from '../../weirjs/src/index.ts'
import { cert, key } from '../../weirjs/test/support/certificate.ts'
import { eventually } from '../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { BYTES_TYPE } from '../../weirjs/test/support/uploading.ts'
import { diskStorage, uploads } from '../src/index.ts'

const UPLOADS = 5
const CUTS = 15
const SIZE = 400_000
const CONTENT = Buffer.from(Array.from({ length: SIZE }, (_, i) => (i * 7 + (i >> 8)) & 0xff))

/** Appends to an upload, and leaves when so many bytes have been handed to the network, and `ready` has resolved. */
type Cut = (port: number, url: string, offset: number, bytes: number, ready: () => Promise<void>) => Promise<void>

function patchHead(url: string, offset: number): string {
  return (
    `PATCH ${url} HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\nContent-Type: ${BYTES_TYPE}\r\n` +
    `Upload-Offset: ${offset}\r\nContent-Length: ${SIZE - offset}\r\n\r\n`
  )
}

const by =
  (open: (port: number) => Socket, leave: (socket: Socket) => void): Cut =>
  (port, url, offset, bytes, ready) =>
    new Promise((resolve, reject) => {
      const socket = open(port)
        .on('error', () => {})
        .on('close', () => resolve())
      socket.write(patchHead(url, offset))
      socket.write(CONTENT.subarray(offset, offset + bytes), () => void ready().then(() => leave(socket), reject))
      socket.resume()
    })

const overTls = (port: number): Socket => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })

/** Each stream is reset on a connection that goes on, as browsers do. */
function byReset(): Cut {
  let session: ClientHttp2Session | null = null
  return (port, url, offset, bytes, ready) =>
    new Promise((resolve, reject) => {
      session ??= connectHttp2(`http://localhost:${port}`).on('error', () => {})
      session.unref()
      const stream = session.request({
        ':method': 'PATCH',
        ':path': url,
        'tus-resumable': '1.0.0',
        'content-type': BYTES_TYPE,
        'upload-offset': offset,
        'content-length': SIZE - offset,
      })
      stream.on('error', () => {}).on('close', () => resolve())
      stream.write(CONTENT.subarray(offset, offset + bytes), () => void ready().then(() => stream.close(8), reject))
      stream.resume()
    })
}

const WAYS: readonly (readonly [name: string, options: ServerOptions, cut: () => Cut])[] = [
  [
    'FIN',
    {},
    () =>
      by(
        (port) => connect(port, '127.0.0.1'),
        (socket) => socket.end(),
      ),
  ],
  [
    'RST',
    {},
    () =>
      by(
        (port) => connect(port, '127.0.0.1'),
        (socket) => socket.resetAndDestroy(),
      ),
  ],
  ['TLS', { tls: { key, cert } }, () => by(overTls, (socket) => socket.destroy())],
  ['RST_STREAM', { http2: 'cleartext' }, byReset],
]

for (const [name, options, cutOf] of WAYS)
  test(`${name}: ${UPLOADS * CUTS} cuts lose no byte and leave nothing`, async (t: TestContext) => {
    const directory = temporaryDirectory(t)
    const failures: unknown[] = []
    const whole: Buffer[] = []
    const server = new HttpServer({
      port: 0,
      address: '127.0.0.1',
      hosts: 'any',
      logger: { error: (_, error) => void failures.push(error) },
      ...options,
    })
    server.use(
      uploads('/files', {
        storage: diskStorage(directory, { sync: false }),
        onComplete: ({ path }) => void whole.push(readFileSync(path)),
      }),
    )
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const tus = (method: string, url: string, headers: Record<string, string | number> = {}, body?: Buffer) =>
      server.inject({ method, url, headers: { 'Tus-Resumable': '1.0.0', ...headers }, ...(body === undefined ? {} : { body }) })
    const cut = cutOf()
    let progress = 0
    await Promise.all(
      Array.from({ length: UPLOADS }, async (_, n) => {
        const created = await tus('POST', '/files', { 'Upload-Length': SIZE })
        const url = created.headers.get('location')!
        let offset = 0
        // The server may have read the bytes of a cut only after it was asked for the offset.
        let sentUntil = 0
        for (let i = 0; i < CUTS; i++) {
          // Of very different lengths: nothing of the body, a few bytes, a piece of the network, or several.
          const bytes = Math.floor(((i * 7919 + n * 104_729) % 1_000) ** 2 / 40)
          sentUntil = Math.max(sentUntil, offset + bytes)
          const before = offset
          // Some leave at once, and some when the server has stored a part.
          const ready = async (): Promise<void> => {
            if (i % 3 === 0 && bytes > 0) await eventually(() => sizeIn(directory, url) > before, 'bytes in the file')
          }
          await cut(server.port, url, offset, bytes, ready)
          const status = await tus('HEAD', url)
          const now = Number(status.headers.get('upload-offset'))
          assert.ok(status.status === 204 && now >= offset && now <= sentUntil, `${offset} until ${sentUntil}: ${status.status}, ${now}`)
          progress += now - offset
          offset = now
        }
        await eventually(() => server.connections <= (name === 'RST_STREAM' ? 1 : 0), 'no connection that may append')
        offset = Number((await tus('HEAD', url)).headers.get('upload-offset'))
        const last = await tus('PATCH', url, { 'Upload-Offset': offset, 'Content-Type': BYTES_TYPE }, CONTENT.subarray(offset))
        assert.equal(last.status, 204)
        assert.equal((await tus('DELETE', url)).status, 204)
      }),
    )
    assert.ok(progress > 0, 'some of what was cut had arrived')
    assert.equal(whole.length, UPLOADS)
    for (const bytes of whole) assert.ok(bytes.equals(CONTENT))
    assert.deepEqual(failures, [])
    assert.deepEqual(readdirSync(directory), [])
    if (name !== 'RST_STREAM') await eventually(() => server.connections === 0, 'no connection')
    if (process.platform === 'linux') await eventually(() => openIn(directory) === 0, 'no descriptor')
  })

function sizeIn(directory: string, url: string): number {
  return statSync(join(directory, `${url.slice('/files/'.length)}.bin`), { throwIfNoEntry: false })?.size ?? 0
}

function openIn(directory: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory)
    } catch {
      return false
    }
  }).length
}
