// Clients that are cut off while they upload to S3, at any place and in every way: no object and no unfinished multipart upload is left, and a
// resumable upload goes on where its bytes end.

import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { s3Files, s3Storage } from '../../packages/s3/src/index.ts'
import { uploads } from '../../packages/uploads/src/index.ts'
import { file, HttpServer, multipart, type ServerOptions } from '../../packages/weirjs/src/index.ts'
import { cert, key } from '../../packages/weirjs/test/support/certificate.ts'
import { encodeForm, FORM_FIELD, patternBytes } from '../../packages/weirjs/test/support/forms.ts'
import { noS3, startS3 } from '../../packages/weirjs/test/support/s3.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'
import { BYTES_TYPE } from '../../packages/weirjs/test/support/uploading.ts'

const PART = 5 * 1024 * 1024
const FILE = patternBytes(2 * PART + 1234)
const FORM = encodeForm([{ name: 'photo', fileName: 'a.png', content: FILE }])
const FORM_TYPE = FORM_FIELD.slice('Content-Type:'.length).trim()
const CUTS = 25
/** Each takes S3 many requests: a part that is too short is kept as an object, and read again. */
const RESUMED_CUTS = 10

/** Sends the beginning of a request, and leaves once `until` resolves. */
type Cut = (
  port: number,
  method: string,
  path: string,
  fields: Readonly<Record<string, string | number>>,
  bytes: Buffer,
  until?: () => Promise<void>,
) => Promise<void>

const atOnce = async (): Promise<void> => {}

const by =
  (open: (port: number) => Socket, leave: (socket: Socket) => void): Cut =>
  (port, method, path, fields, bytes, until = atOnce) =>
    new Promise((resolve, reject) => {
      const socket = open(port)
        .on('error', () => {})
        .on('close', () => resolve())
      const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}\r\n`)
      socket.write(bytes, () => void until().then(() => leave(socket), reject))
      socket.resume()
    })

const byStream: Cut = (port, method, path, fields, bytes, until = atOnce) =>
  new Promise((resolve, reject) => {
    const session = connectHttp2(`http://localhost:${port}`).on('error', () => {})
    session.on('close', () => resolve())
    const stream = session.request({ ':method': method, ':path': path, ...fields }).on('error', () => {})
    stream.on('close', () => session.close()).resume()
    stream.write(bytes, () => void until().then(() => setTimeout(() => stream.close(8), bytes.length % 16), reject))
  })

const overTls = (port: number): Socket => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })

const WAYS: readonly (readonly [name: string, options: ServerOptions, cut: Cut])[] = [
  [
    'FIN',
    {},
    by(
      (port) => connect(port, '127.0.0.1'),
      (socket) => socket.end(),
    ),
  ],
  [
    'RST',
    {},
    by(
      (port) => connect(port, '127.0.0.1'),
      (socket) => socket.resetAndDestroy(),
    ),
  ],
  ['TLS', { tls: { key, cert } }, by(overTls, (socket) => socket.destroy())],
  ['RST_STREAM', { http2: 'cleartext' }, byStream],
]

/** From nothing to all but a byte. */
const lengthOf = (i: number, most: number): number => Math.floor(((most - 1) * ((i * 7919) % CUTS) ** 2) / CUTS ** 2)

async function serving(t: TestContext, options: ServerOptions, map: (server: HttpServer) => void): Promise<HttpServer> {
  const server = new HttpServer({ port: 0, address: '127.0.0.1', hosts: 'any', logger: null, ...options })
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

describe('uploads to S3 that are cut', { skip: noS3 }, () => {
  for (const [name, options, cut] of WAYS) {
    test(`${name}: ${CUTS} forms leave nothing`, async (t) => {
      const s3 = await startS3(t)
      const store = s3Files(s3.client, { bucket: s3.bucket }, { partSize: PART })
      let handled = 0
      const server = await serving(t, options, (it) =>
        it.mapPost('/', { body: multipart({ files: { photo: file({ saveTo: store }) } }), maxRequestBodySize: '30MiB' }, () => {
          handled++
        }),
      )
      const fields = { 'content-type': FORM_TYPE, 'content-length': FORM.length }
      const hasSentPart = (): boolean => s3.front.log.some((line) => line.includes('partNumber=1'))
      for (let i = 0; i < CUTS; i += 5)
        await Promise.all(
          Array.from({ length: 5 }, (_, n) => {
            const bytes = FORM.subarray(0, lengthOf(i + n, FORM.length))
            // A client that leaves at once ends what S3 was to get.
            const until = bytes.length > 1.5 * PART ? () => eventually(hasSentPart, 'a part') : undefined
            return cut(server.port, 'POST', '/', fields, bytes, until)
          }),
        )
      await eventually(() => server.connections === 0, 'no connection')
      await eventually(async () => (await s3.unfinished()).length === 0 && (await s3.keys()).length === 0, 'nothing at S3')
      assert.ok(await s3.isEmpty())
      assert.equal(handled, 0)
      assert.ok(hasSentPart(), 'some had sent a part')
    })

    test(`${name}: a resumable upload goes on after ${RESUMED_CUTS} cuts, and leaves nothing but itself`, async (t) => {
      const s3 = await startS3(t)
      const whole: Buffer[] = []
      const storage = s3Storage(s3.connect({ maxAttempts: 1 }), { bucket: s3.bucket, partSize: PART })
      const server = await serving(t, options, (it) =>
        it.use(uploads('/files', { storage, onComplete: async (upload) => void whole.push(await buffer(upload.stream())) })),
      )
      const tus = (method: string, url: string, headers: Record<string, string | number> = {}, body?: Buffer) =>
        server.inject({ method, url, headers: { 'Tus-Resumable': '1.0.0', ...headers }, ...(body === undefined ? {} : { body }) })
      const url = (await tus('POST', '/files', { 'Upload-Length': FILE.length })).headers.get('location')!
      let offset = 0
      let sentUntil = 0
      for (let i = 0; i < RESUMED_CUTS; i++) {
        const bytes = FILE.subarray(offset, offset + lengthOf(i, FILE.length) / 4)
        sentUntil = Math.max(sentUntil, offset + bytes.length)
        const fields = {
          'tus-resumable': '1.0.0',
          'content-type': BYTES_TYPE,
          'upload-offset': offset,
          'content-length': FILE.length - offset,
        }
        await cut(server.port, 'PATCH', url, fields, bytes)
        const now = Number((await tus('HEAD', url)).headers.get('upload-offset'))
        assert.ok(now >= offset && now <= sentUntil, `${offset} until ${sentUntil}: ${now}`)
        offset = now
      }
      await eventually(() => server.connections === 0, 'no connection')
      offset = Number((await tus('HEAD', url)).headers.get('upload-offset'))
      // What a reset has overtaken never arrives.
      if (name !== 'RST') assert.ok(offset > 0, 'some of what was cut had arrived')
      const last = await tus('PATCH', url, { 'Upload-Offset': offset, 'Content-Type': BYTES_TYPE }, FILE.subarray(offset))
      assert.equal(last.status, 204, last.text())
      assert.ok(whole.length === 1 && whole[0]!.equals(FILE))
      assert.equal((await tus('DELETE', url)).status, 204)
      assert.deepEqual(await s3.unfinished(), [])
      assert.ok(await s3.isEmpty())
    })
  }
})
