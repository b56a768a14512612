// saveToS3, with a real client and an S3-compatible server: the whole file or nothing, whatever happens on the way.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'

import { GetObjectCommand } from '@aws-sdk/client-s3'
import { type S3SavePolicy, s3Files, saveToS3 } from '../../packages/s3/src/index.ts'
import { file, HttpServer, multipart, t as schema, type WeirError } from '../../packages/weirjs/src/index.ts'
import { encodeForm, FORM_FIELD, patternBytes } from '../../packages/weirjs/test/support/forms.ts'
import { RawClient } from '../../packages/weirjs/test/support/raw-client.ts'
import { noS3, type S3Server, startS3 } from '../../packages/weirjs/test/support/s3.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'

const MIB = 1024 * 1024
const PART = 5 * MIB
/** Two full parts and a third. */
const FILE = patternBytes(2 * PART + 1234)
const INFO = { fileName: 'photo.png' }

/** Pieces that have no relation to the parts. */
function streamOf(bytes: Uint8Array, piece = 123_457): Readable {
  return Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
    })(),
  )
}

/** Nothing is left in the bucket, no part of a multipart upload either. */
async function assertNothingLeft(s3: S3Server): Promise<void> {
  assert.deepEqual(await s3.keys(), [])
  assert.deepEqual(await s3.unfinished(), [])
  assert.ok(await s3.isEmpty())
}

describe('saveToS3', { skip: noS3 }, () => {
  for (const [what, size] of [
    ['an empty file', 0],
    ['a small file', 1234],
    ['a file of exactly one part', PART],
    ['a file of one part and a byte', PART + 1],
    ['a file of several parts', FILE.length],
  ] as const) {
    test(`saves ${what}, from memory and from a stream`, async (t) => {
      const s3 = await startS3(t)
      const bytes = FILE.subarray(0, size)
      const target = { bucket: s3.bucket, key: 'a/b.bin' }
      for (const content of [bytes, streamOf(bytes)]) {
        const saved = await saveToS3(s3.client, target, INFO, content, { partSize: PART, hash: 'sha256' })
        assert.ok((await s3.bytes('a/b.bin')).equals(bytes))
        const { etag, ...rest } = saved
        assert.deepEqual(rest, {
          bucket: s3.bucket,
          key: 'a/b.bin',
          size,
          hash: createHash('sha256').update(bytes).digest('hex'),
          detectedType: null,
        })
        assert.match(etag!, /^"[0-9a-f]{32}(?:-\d)?"$/)
      }
      assert.deepEqual(await s3.keys(), ['a/b.bin'])
      assert.deepEqual(await s3.unfinished(), [])
    })
  }

  test('makes keys without anything of the client, except an extension that the policy allows', async (t) => {
    const s3 = await startS3(t)
    const names = ['../../etc/passwd', 'a?b&c=d/e.PNG', '.png', null]
    for (const fileName of names) {
      const saved = await saveToS3(s3.client, { bucket: s3.bucket, prefix: 'photos/' }, { fileName }, Buffer.from('x'))
      assert.match(saved.key, /^photos\/[0-9a-f]{32}$/)
    }
    const saved = await saveToS3(s3.client, { bucket: s3.bucket }, { fileName: '../x.PNG' }, Buffer.from('x'), { extensions: ['.png'] })
    assert.match(saved.key, /^[0-9a-f]{32}\.png$/)
    assert.equal((await s3.keys()).length, names.length + 1)
  })

  test('passes parameters on, and no type of the client', async (t) => {
    const s3 = await startS3(t)
    const params = { ContentType: 'image/png', Metadata: { owner: '7' } }
    for (const bytes of [FILE.subarray(0, 10), FILE]) {
      await saveToS3(s3.client, { bucket: s3.bucket, key: 'k', params }, INFO, bytes, { partSize: PART })
      const { ContentType, Metadata } = await s3.client.send(new GetObjectCommand({ Bucket: s3.bucket, Key: 'k' }))
      assert.deepEqual({ ContentType, Metadata }, params)
    }
    const once = { bucket: s3.bucket, key: 'k', params: { IfNoneMatch: '*' } }
    await assert.rejects(saveToS3(s3.client, once, INFO, FILE.subarray(0, 10)), {
      code: 'WEIR_STORE_UNAVAILABLE',
      message: /PreconditionFailed/,
    })
  })

  describe('refuses what the policy does not allow, and leaves nothing', () => {
    const rows: [what: string, policy: S3SavePolicy, error: Partial<WeirError>][] = [
      ['a size in the first part', { maxSize: 1000 }, { status: 413 }],
      ['a size in a later part', { maxSize: FILE.length - 1 }, { status: 413 }],
      ['an extension', { extensions: ['.jpg'] }, { code: 'WEIR_FILE_EXTENSION' }],
      ['a content', { magic: [[1, 2, 3]] }, { code: 'WEIR_FILE_MAGIC' }],
    ]
    for (const [what, policy, error] of rows) {
      test(what, async (t) => {
        const s3 = await startS3(t)
        const content = streamOf(FILE)
        await assert.rejects(saveToS3(s3.client, { bucket: s3.bucket }, INFO, content, { partSize: PART, ...policy }), error)
        assert.ok(content.destroyed)
        await assertNothingLeft(s3)
      })
    }
  })

  test('a signal aborts it, and nothing is left', async (t) => {
    const s3 = await startS3(t)
    const stop = new AbortController()
    const content = new Readable({ read() {} }) // goes on forever
    content.push(FILE)
    const saving = saveToS3(s3.client, { bucket: s3.bucket }, INFO, content, { partSize: PART, signal: stop.signal })
    await eventually(async () => (await s3.unfinished()).length === 1, 'a multipart upload')
    const reason = new Error('the program wants it')
    stop.abort(reason)
    await assert.rejects(saving, reason)
    assert.ok(content.destroyed)
    await assertNothingLeft(s3)
    await assert.rejects(saveToS3(s3.client, { bucket: s3.bucket }, INFO, FILE, { signal: stop.signal }), reason)
  })

  test('a stream that fails aborts it, and nothing is left', async (t) => {
    const s3 = await startS3(t)
    const broken = new Error('the disk is broken')
    const content = Readable.from(
      (function* () {
        yield FILE
        throw broken
      })(),
    )
    await assert.rejects(saveToS3(s3.client, { bucket: s3.bucket }, INFO, content, { partSize: PART }), broken)
    await assertNothingLeft(s3)
  })

  describe('a failure of S3 is one error, reading stops, and nothing is left', () => {
    for (const status of [403, 500]) {
      for (const failing of ['POST ?uploads', 'PUT ?partNumber=1', 'PUT ?partNumber=2', 'POST ?uploadId', 'PUT'] as const) {
        test(`${status} for ${failing}`, async (t) => {
          const s3 = await startS3(t)
          s3.front.fault = ({ method, query }) => {
            const word = query.has('uploads')
              ? ' ?uploads'
              : query.has('partNumber')
                ? ` ?partNumber=${query.get('partNumber')}`
                : query.has('uploadId')
                  ? ' ?uploadId'
                  : ''
            return `${method}${word}` === failing ? status : null
          }
          let given = 0
          const content = new Readable({
            read() {
              given += MIB
              this.push(
                failing === 'PUT' || failing === 'POST ?uploadId'
                  ? given > MIB * (failing === 'PUT' ? 2 : 12)
                    ? null
                    : FILE.subarray(0, MIB)
                  : FILE.subarray(0, MIB),
              )
            },
          })
          const saving = saveToS3(s3.connect({ maxAttempts: 1 }), { bucket: s3.bucket, key: 'k' }, INFO, content, { partSize: PART })
          const code = status === 403 ? 'AccessDenied' : 'InternalError'
          await assert.rejects(saving, {
            code: 'WEIR_STORE_UNAVAILABLE',
            status: 503,
            message: new RegExp(`S3: saving an object failed with ${code} \\(${status}\\)$`),
          })
          assert.ok(content.destroyed)
          assert.ok(given < 40 * MIB, `${given} bytes were read`)
          s3.front.fault = () => null
          await assertNothingLeft(s3)
        })
      }
    }
  })

  test('a server that has gone is one error', async (t) => {
    const s3 = await startS3(t, true)
    await s3.front.stop()
    await s3.kill()
    const saving = saveToS3(s3.connect({ maxAttempts: 1 }), { bucket: s3.bucket }, INFO, FILE, { partSize: PART })
    await assert.rejects(saving, { code: 'WEIR_STORE_UNAVAILABLE', message: /ECONNREFUSED/ })
  })

  describe('a part of a form', () => {
    async function serve(t: TestContext, s3: S3Server, policy: S3SavePolicy = {}): Promise<{ server: HttpServer; errors: unknown[] }> {
      const errors: unknown[] = []
      const server = new HttpServer({ logger: { error: () => {} } })
      server.mapPost('/', { maxRequestBodySize: 100 * MIB }, async (_, { request, response }) => {
        const keys: string[] = []
        const isValid = await request.bodyMultipartStream({
          async onFile(info, content) {
            const saving = saveToS3(s3.client, { bucket: s3.bucket }, info, content, { partSize: PART, ...policy })
            saving.catch((error) => errors.push(error))
            keys.push((await saving).key)
          },
        })
        return isValid ? { keys } : response.status(400).text('not a form')
      })
      await server.start()
      t.after(() => server.stop({ graceMs: 0 }))
      return { server, errors }
    }

    test('is saved while it arrives, one after the other', async (t) => {
      const s3 = await startS3(t)
      const { server } = await serve(t, s3)
      const form = new FormData()
      form.append('a', new File([FILE], '../a.png'))
      form.append('b', new File(['small'], 'b.png'))
      const response = await fetch(`http://127.0.0.1:${server.port}/`, { method: 'POST', body: form })
      const { keys } = (await response.json()) as { keys: [string, string] }
      assert.ok((await s3.bytes(keys[0])).equals(FILE))
      assert.equal((await s3.bytes(keys[1])).toString(), 'small')
    })

    test('of which a limit is exceeded becomes a 413, and nothing is left', async (t) => {
      const s3 = await startS3(t)
      const { server } = await serve(t, s3, { maxSize: PART + 5 })
      const form = new FormData()
      form.append('a', new File([FILE], 'a.png'))
      const response = await fetch(`http://127.0.0.1:${server.port}/`, { method: 'POST', body: form })
      assert.equal(response.status, 413)
      assert.match(await response.text(), /maxSize/)
      await assertNothingLeft(s3)
    })

    test('becomes a 503 when S3 fails, which names neither the bucket nor the key', async (t) => {
      const s3 = await startS3(t)
      const { server } = await serve(t, s3)
      s3.front.fault = ({ method }) => (method === 'PUT' ? 403 : null)
      const form = new FormData()
      form.append('a', new File([FILE], 'a.png'))
      const response = await fetch(`http://127.0.0.1:${server.port}/`, { method: 'POST', body: form })
      assert.equal(response.status, 503)
      assert.doesNotMatch(await response.text(), /uploads|AccessDenied|S3/)
      s3.front.fault = () => null
      await assertNothingLeft(s3)
    })

    test('whose client leaves in the middle is aborted, and nothing is left', async (t) => {
      const s3 = await startS3(t)
      const { server, errors } = await serve(t, s3)
      const client = await RawClient.connect(server.port)
      const form = encodeForm([{ name: 'a', fileName: 'a.png', content: FILE }])
      client.send(`POST / HTTP/1.1\r\nHost: localhost\r\n${FORM_FIELD}Content-Length: ${form.length}\r\n\r\n`)
      client.send(form.subarray(0, form.length - 1000))
      await eventually(
        () => s3.front.log.some((line) => line.endsWith('partNumber=1&uploadId') || line.includes('partNumber=1')),
        'the first part',
      )
      client.destroy()
      await eventually(() => errors.length === 1, 'the end of the save')
      await assertNothingLeft(s3)
    })
  })
})

describe('s3Files', { skip: noS3 }, () => {
  test('the files of a declared form are objects, and none is left of a form that is refused', async (t) => {
    const s3 = await startS3(t)
    const store = s3Files(s3.client, { bucket: s3.bucket, prefix: 'new/' }, { partSize: PART })
    const body = multipart({ fields: { title: schema.string }, files: { photo: file({ saveTo: store, count: 2 }) } })
    const server = new HttpServer({ logger: null })
    server.mapPost('/', { body, maxRequestBodySize: 30 * MIB }, ({ body: { files } }) =>
      files.photo.map(({ key, size }) => ({ key, size })),
    )
    const send = (parts: Parameters<typeof encodeForm>[0]) =>
      server.inject({ method: 'POST', url: '/', body: encodeForm(parts), headers: { 'Content-Type': FORM_FIELD.slice(14).trim() } })
    const photo = { name: 'photo', fileName: 'a.png', content: FILE }
    const refused = await send([photo, { ...photo, content: 'small' }])
    assert.equal(refused.status, 400, refused.text())
    await assertNothingLeft(s3)
    const response = await send([photo, { name: 'title', content: 'Sea' }])
    const [{ key, size }] = response.json() as [{ key: string; size: number }]
    assert.equal(size, FILE.length)
    assert.ok((await s3.bytes(key)).equals(FILE))
    assert.deepEqual(await s3.keys(), [key])
  })
})
