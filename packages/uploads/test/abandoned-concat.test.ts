// A concatenation whose client leaves.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import { connect } from '../../weirjs/src/testing/index.ts'
import { eventually, gate } from '../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { uploading } from '../../weirjs/test/support/uploading.ts'
import { diskStorage, type UploadStorage } from '../src/index.ts'

const PARTS = 3

test('ends with its client, leaves nothing behind, and can be made again', async (t) => {
  const directory = temporaryDirectory(t)
  const disk = diskStorage(directory, { sync: false })
  const begun = gate()
  const gone = gate()
  let read = 0
  async function* slowly(record: Parameters<UploadStorage['read']>[0]): AsyncGenerator<unknown> {
    read++
    begun.open()
    await gone.promise
    yield* disk.read(record)
  }
  const storage = new Proxy(disk, {
    get(target, name: keyof UploadStorage) {
      if (name === 'read') return (record: Parameters<UploadStorage['read']>[0]) => Readable.from(slowly(record), { objectMode: false })
      const member: unknown = target[name]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const up = uploading(t, { storage })
  const parts: string[] = []
  for (let i = 0; i < PARTS; i++) {
    const url = await up.create(3, { 'Upload-Concat': 'partial' })
    await up.tus('PATCH', url, { 'Upload-Offset': 0 }, 'abc')
    parts.push(url)
  }
  const before = readdirSync(directory).sort()
  const concat = `final;${parts.join(' ')}`
  const client = connect(up.server)
  await client.send(`POST /files HTTP/1.1\r\nHost: a\r\nTus-Resumable: 1.0.0\r\nUpload-Concat: ${concat}\r\n\r\n`)
  await begun.promise
  client.abort()
  await new Promise((resolve) => setImmediate(resolve))
  gone.open()
  await eventually(() => readdirSync(directory).sort().join() === before.join(), 'only the parts are there')
  assert.equal(read, 1)
  assert.equal((await up.tus('POST', '/files', { 'Upload-Concat': concat })).status, 201)
  assert.deepEqual(
    up.received.map(({ size }) => size),
    [3 * PARTS],
  )
})
