// saveToS3 and s3Files over a bucket in memory: the commands they send, and what is left when one fails.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { PassThrough, Readable } from 'node:stream'
import { test } from 'node:test'

import { patternBytes } from '../../weirjs/test/support/forms.ts'
import { eventually, gate } from '../../weirjs/test/support/serving.ts'
import { s3Files, saveToS3 } from '../src/index.ts'
import { FakeS3 } from './support/fake-s3.ts'

const PART = 5 * 1024 * 1024
const FILE = patternBytes(2 * PART + 1234)
const INFO = { fileName: '../photo.PNG' }
const TARGET = { bucket: 'b', key: 'a/b.png' }

/** Pieces that have no relation to the parts. */
function streamOf(bytes: Uint8Array, piece = 123_457): Readable {
  return Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
    })(),
  )
}

test('a small file is one command, and a large one is sent in parts', async () => {
  const rows: [bytes: Uint8Array, commands: readonly string[]][] = [
    [FILE.subarray(0, 0), ['PutObject']],
    [FILE.subarray(0, 1234), ['PutObject']],
    [FILE, ['CreateMultipartUpload', 'UploadPart', 'UploadPart', 'UploadPart', 'CompleteMultipartUpload']],
  ]
  for (const [bytes, commands] of rows) {
    const s3 = new FakeS3()
    const { etag, ...saved } = await saveToS3(s3.client, TARGET, INFO, streamOf(bytes), { partSize: PART, hash: 'sha256' })
    const hash = createHash('sha256').update(bytes).digest('hex')
    assert.deepEqual(saved, { ...TARGET, size: bytes.length, hash, detectedType: null })
    assert.match(etag!, /^"[0-9a-f]{32}"$/)
    assert.ok(s3.objects.get(TARGET.key)!.bytes.equals(bytes))
    assert.deepEqual(s3.sent, commands)
  }
})

test('makes keys without anything of the client, except an extension that the policy allows', async () => {
  const s3 = new FakeS3()
  const target = { bucket: 'b', prefix: 'photos/' }
  const content = FILE.subarray(0, 5)
  assert.match((await saveToS3(s3.client, target, INFO, content)).key, /^photos\/[0-9a-f]{32}$/)
  assert.match((await saveToS3(s3.client, target, INFO, content, { extensions: ['.png'] })).key, /^photos\/[0-9a-f]{32}\.png$/)
})

for (const failing of ['CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload']) {
  test(`when ${failing} fails, there is one error, the stream is destroyed, and nothing is left`, async () => {
    const s3 = new FakeS3()
    s3.fault = (command) =>
      command === failing ? Object.assign(new Error('no'), { name: 'AccessDenied', $metadata: { httpStatusCode: 403 } }) : null
    const content = streamOf(FILE)
    await assert.rejects(saveToS3(s3.client, TARGET, INFO, content, { partSize: PART }), {
      code: 'WEIR_STORE_UNAVAILABLE',
      status: 503,
      message: /S3: saving an object failed with AccessDenied \(403\)$/,
    })
    assert.ok(content.destroyed)
    assert.deepEqual([s3.objects.size, s3.unfinished.size], [0, 0])
  })
}

test('a file that is too large, a stream that breaks and a signal leave nothing', async () => {
  const s3 = new FakeS3()
  const policy = { partSize: PART }
  await assert.rejects(saveToS3(s3.client, TARGET, INFO, streamOf(FILE), { ...policy, maxSize: FILE.length - 1 }), { status: 413 })
  const broken = new Error('the disk is broken')
  const content = Readable.from(
    (function* () {
      yield FILE
      throw broken
    })(),
  )
  await assert.rejects(saveToS3(s3.client, TARGET, INFO, content, policy), broken)
  const reason = new Error('the program wants it')
  await assert.rejects(saveToS3(s3.client, TARGET, INFO, streamOf(FILE), { ...policy, signal: AbortSignal.abort(reason) }), reason)
  assert.deepEqual([s3.objects.size, s3.unfinished.size], [0, 0])
})

for (const [silent, ...ends] of [
  ['CreateMultipartUpload', 'the signal', 'the client'],
  ['UploadPart', 'the signal', 'the client'],
  ['CompleteMultipartUpload', 'the signal'],
  ['PutObject', 'the signal'],
] as const)
  for (const end of ends)
    test(`while S3 does not answer ${silent}, ${end} ends a save, and what was begun is deleted`, { timeout: 60_000 }, async () => {
      const s3 = new FakeS3()
      const answer = gate()
      s3.held.set(silent, answer.promise)
      const content = new PassThrough()
      content.on('error', () => {})
      content.write(silent === 'PutObject' ? FILE.subarray(0, 10) : FILE)
      if (end === 'the signal') content.end()
      const [control, reason] = [new AbortController(), new Error('no more')]
      const saving = saveToS3(s3.client, TARGET, INFO, content, { partSize: PART, signal: control.signal })
      await eventually(() => s3.sent.includes(silent), 'the command')
      if (end === 'the signal') control.abort(reason)
      else content.destroy(reason)
      if (silent === 'CreateMultipartUpload') answer.open() // too late, but it says what is to be deleted
      await assert.rejects(saving, reason)
      assert.deepEqual([s3.objects.size, s3.unfinished.size], [0, 0])
      assert.equal(s3.sent.includes('AbortMultipartUpload'), silent !== 'PutObject')
    })

test('a save ends ten seconds after its signal if S3 stays silent, and deletes what it has begun once S3 answers', async (t) => {
  const alive = setInterval(() => {}, 60_000) // the timer of the save does not keep a process alive
  t.after(() => clearInterval(alive))
  const s3 = new FakeS3()
  const answer = gate()
  s3.held.set('CreateMultipartUpload', answer.promise)
  const [control, reason] = [new AbortController(), new Error('no more')]
  const saving = saveToS3(s3.client, TARGET, INFO, streamOf(FILE), { partSize: PART, signal: control.signal })
  await eventually(() => s3.sent.includes('CreateMultipartUpload'), 'the command')
  control.abort(reason)
  await assert.rejects(saving, reason)
  answer.open()
  await eventually(() => s3.sent.includes('AbortMultipartUpload') && s3.unfinished.size === 0, 'the end of all parts')
})

test('a file of a form that is refused later is deleted', async () => {
  const s3 = new FakeS3()
  const store = s3Files(s3.client, { bucket: 'b', prefix: 'new/' })
  const saved = await store.save({ ...INFO, name: 'photo', contentType: null } as never, streamOf(FILE.subarray(0, 10)))
  assert.deepEqual([...s3.objects.keys()], [saved.key])
  await store.discard(saved)
  assert.equal(s3.objects.size, 0)
})
