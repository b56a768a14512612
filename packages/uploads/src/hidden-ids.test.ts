import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'

import { HttpError, WeirError } from '../../weirjs/src/base/errors.ts'
import { withoutIds } from './hidden-ids.ts'
import { newUploadId } from './upload-record.ts'

const ID = newUploadId()

class ServiceError extends Error {
  override readonly name = 'NoSuchKey'
  readonly $metadata = { requestId: 'r-1', attempts: 3 }
  readonly Key = `uploads/${ID}.bin`
}

/** All that a logger could write of an error. */
function shown(error: unknown): string {
  return [inspect(error, { depth: 20, showHidden: true, maxStringLength: null }), String(error), json(error)].join('\n')
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value, Object.getOwnPropertyNames(value ?? {}))
  } catch {
    return ''
  }
}

const ERRORS: Readonly<Record<string, () => unknown>> = {
  'of the file system': () =>
    Object.assign(new Error(`ENOENT: no such file, open '/up/${ID}.bin'`), { syscall: 'open', code: 'ENOENT', path: `/up/${ID}.bin` }),
  'of S3': () => new ServiceError(`The key uploads/${ID}.bin does not exist`),
  'of S3, with the encoded key in a URL': () => new Error(`GET https://s3.example/bucket/uploads%2F${ID}.bin%2Fpart: 404`),
  'of Redis, with its command': () =>
    Object.assign(new Error('READONLY'), { command: { name: 'set', args: [`weir:uploads:${ID}`, Buffer.from(ID), 1] } }),
  'in a cause': () => new Error('failed', { cause: new Error('outer', { cause: new ServiceError(`no ${ID}`) }) }),
  'in an AggregateError': () => new AggregateError([new Error('a'), new ServiceError(`no ${ID}`)], `two of ${ID}`),
  'in its stack alone': () => {
    const error = new Error('x')
    error.stack = `Error: ${ID}\n    at open (/app/${ID}/a.js:1:1)`
    return error
  },
  'in a map, a set and a name': () => Object.assign(new Error('x'), { map: new Map([[ID, 1]]), set: new Set([ID]), [ID]: true }),
  'in an object of a class': () =>
    Object.assign(new Error('x'), {
      request: new (class Request {
        readonly path = `/${ID}`
      })(),
    }),
  'of weir, with a cause': () => new WeirError('WEIR_STORE_UNAVAILABLE', 'uploads', { cause: new Error(ID) }),
  'that has itself for a cause': () => {
    const error = new Error(ID)
    error.cause = error
    return error
  },
  'deeper than anybody looks': () => {
    let value: unknown = { id: ID }
    for (let i = 0; i < 50; i++) value = { value }
    return Object.assign(new Error('x'), { value })
  },
  'a text': () => `no ${ID}`,
  'an object': () => ({ reason: ID }),
  'with members that throw': () =>
    Object.defineProperty(new Error(ID), 'late', {
      enumerable: true,
      get() {
        throw new Error(ID)
      },
    }),
  'a Proxy that refuses everything': () =>
    new Proxy(new Error(ID), {
      get() {
        throw new Error(ID)
      },
      getPrototypeOf() {
        throw new Error(ID)
      },
      ownKeys() {
        throw new Error(ID)
      },
    }),
}

for (const [what, make] of Object.entries(ERRORS))
  test(`hides the id in an error ${what}`, () => {
    const text = shown(withoutIds(make()))
    assert.ok(!text.includes(ID), text)
    assert.ok(!text.includes([...Buffer.from(ID)].join(',')) && !text.includes(Buffer.from(ID).toString('hex')), 'nor as bytes')
  })

test('a copy is of the same class, and keeps everything else', () => {
  const error = withoutIds(new ServiceError(`no ${ID}`)) as ServiceError
  assert.ok(error instanceof ServiceError)
  assert.deepEqual([error.name, error.message, error.Key, error.$metadata.attempts], ['NoSuchKey', 'no :id', 'uploads/:id.bin', 3])
  assert.match(error.stack!, /no :id\n {4}at /)
  const ofWeir = withoutIds(new WeirError('WEIR_STORE_UNAVAILABLE', ID)) as WeirError
  assert.ok(ofWeir instanceof HttpError && ofWeir instanceof WeirError)
  assert.deepEqual([ofWeir.status, ofWeir.code], [503, 'WEIR_STORE_UNAVAILABLE'])
})

test('an error without ids is the same object', () => {
  const error = new ServiceError('x')
  ;(error as { Key: string }).Key = 'uploads/short'
  assert.equal(withoutIds(error), error)
  for (const value of [null, undefined, 7, 'text']) assert.equal(withoutIds(value), value)
})

test('where one id is known, nothing else is hidden', () => {
  const other = newUploadId()
  assert.equal((withoutIds(new Error(`${ID} and ${other}`), ID) as Error).message, `:id and ${other}`)
})
