// What s3Storage, saveToS3 and s3Files refuse when they are called.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { s3Files, s3Storage, saveToS3 } from '../src/index.ts'

const MIB = 1024 * 1024
const FILE = new Uint8Array(10)
const INFO = { fileName: 'photo.png' }
const client = { config: {}, send: () => Promise.reject(new Error('never sent')) }

test('s3Storage refuses what makes no sense', () => {
  const rows: [options: unknown, message: RegExp][] = [
    [{}, /bucket is undefined/],
    [{ bucket: '' }, /bucket is a string, not its name/],
    [{ bucket: 'b', partsize: 1 }, /it is called "partSize"/],
    [{ bucket: 'b', partSize: MIB }, /partSize is 1048576, not a whole number of at least 5242880 or a size such as/],
    [{ bucket: 'b', prefix: 1 }, /prefix is 1, not a string$/],
    [{ bucket: 'b', params: { Bucket: 'x' } }, /params: Bucket is set by weir: leave it out$/],
  ]
  for (const [options, message] of rows) assert.throws(() => s3Storage(client, options as never), { code: 'WEIR_OPTION_INVALID', message })
  assert.throws(() => s3Storage(null as never, { bucket: 'b' }), { code: 'WEIR_OPTION_INVALID', message: /client is null/ })
})

describe('saveToS3 refuses invalid arguments before it reads anything', () => {
  const rows: [what: string, args: readonly unknown[], message: RegExp][] = [
    ['no client', [null, { bucket: 'b' }, INFO, FILE], /client is null, not a client of @aws-sdk\/client-s3$/],
    ['another client', [{ config: {} }, { bucket: 'b' }, INFO, FILE], /client has no send/],
    ['no bucket', [client, {}, INFO, FILE], /bucket is undefined, not its name$/],
    ['an empty key', [client, { bucket: 'b', key: '' }, INFO, FILE], /key is the string "", not a string that is not empty$/],
    ['a key and a prefix', [client, { bucket: 'b', key: 'k', prefix: 'p' }, INFO, FILE], /key and prefix exclude each other/],
    ['a misspelt target', [client, { Bucket: 'b' }, INFO, FILE], /there is no option "Bucket": it is called "bucket"$/],
    ['a parameter of weir', [client, { bucket: 'b', params: { Key: 'k' } }, INFO, FILE], /params: Key is set by weir: leave it out$/],
    [
      'small parts',
      [client, { bucket: 'b' }, INFO, FILE, { partSize: MIB }],
      /partSize is 1048576, not a whole number of at least 5242880 or a size such as/,
    ],
    ['no concurrency', [client, { bucket: 'b' }, INFO, FILE, { concurrency: 0 }], /concurrency is 0/],
    ['no content', [client, { bucket: 'b' }, INFO, 'text'], /content is bytes or a Readable, not a string$/],
    ['no signal', [client, { bucket: 'b' }, INFO, FILE, { signal: true }], /signal is true, not an AbortSignal$/],
  ]
  for (const [what, args, message] of rows) {
    test(what, async () => {
      await assert.rejects(saveToS3(...(args as Parameters<typeof saveToS3>)), { code: 'WEIR_OPTION_INVALID', message })
    })
  }
})

test('s3Files refuses a key for all files', () => {
  assert.throws(() => s3Files(client, { bucket: 'b', key: 'k' } as never), {
    code: 'WEIR_OPTION_INVALID',
    message: /key is for one object/,
  })
  assert.throws(() => s3Files({} as never, { bucket: 'b' }), { code: 'WEIR_OPTION_INVALID' })
})
