// The ids of uploads are secret. No log has one, whatever a storage or locks fail with, and whenever.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { eventually } from '../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { uploading } from '../../weirjs/test/support/uploading.ts'
import { diskStorage, memoryLocks, type UploadLocks, type UploadStorage } from '../src/index.ts'

/** As the clients of S3 and Redis throw it: with the id in the message, the stack, the cause, and members of members. */
function failure(id: string): Error {
  const cause = Object.assign(new Error(`NoSuchKey: uploads/${id}.bin`), { Key: `uploads/${id}.bin`, $metadata: { path: [`/b/${id}`] } })
  return Object.assign(new Error(`GET /b/uploads%2F${id}.bin failed`, { cause }), {
    command: { name: 'set', args: [`weir:${id}`, Buffer.from(id)] },
  })
}

/** @param broken the method that fails */
function failing<T extends object>(target: T, broken: string, idOf: (argument: unknown) => string): T {
  return new Proxy(target, {
    get(from, name) {
      const value: unknown = Reflect.get(from, name)
      if (name === broken && name === 'list')
        return async function* () {
          yield* []
          throw failure(idOf(''))
        }
      if (typeof value !== 'function' && name !== broken) return value
      if (name !== broken) return (...given: unknown[]) => (value as (...all: unknown[]) => unknown).apply(from, given)
      return async (...given: unknown[]) => Promise.reject(failure(idOf(given[0])))
    },
  })
}

/** One of two objects, whichever is in use. */
function switched<T extends object>(whole: T, broken: T, isBroken: () => boolean): T {
  return new Proxy(whole, {
    get(_, name) {
      const from = isBroken() ? broken : whole
      const value: unknown = Reflect.get(from, name)
      return typeof value === 'function' ? (value.bind(from) as unknown) : value
    },
  })
}

const idIn = (argument: unknown): string => (typeof argument === 'string' ? argument : (argument as { id: string }).id)
const METHODS = ['create', 'load', 'save', 'append', 'complete', 'delete', 'moveTo', 'acquire', 'sweep', 'list'] as const

for (const method of METHODS)
  test(`no log has the id where ${method} fails`, async (t) => {
    const logged: unknown[] = []
    const ids = new Set<string>()
    const plain: UploadStorage = diskStorage(temporaryDirectory(t), { sync: false })
    const noted = (argument: unknown): string => {
      const id = method === 'sweep' || method === 'list' ? 'a'.repeat(32) : idIn(argument)
      ids.add(id)
      return id
    }
    let isBroken = method === 'create'
    const broken = failing(plain, method, noted)
    const storage = switched(plain, broken, () => isBroken)
    const locks: UploadLocks = memoryLocks()
    const brokenLocks = failing(locks, method, noted)
    const usedLocks = switched(locks, brokenLocks, () => isBroken)
    const logger = { error: (...details: unknown[]) => void logged.push(details) }
    const options = { storage, locks: usedLocks, expiresAfter: '1h' } as const
    const onComplete = (upload: { moveTo(target: string): Promise<void> }) => upload.moveTo('/nowhere/at/all')
    const up = uploading(t, { ...options, onComplete }, undefined, { logger })
    if (method === 'create') await up.tus('POST', '/files', { 'Upload-Length': 1 })
    else {
      const url = await up.create(1)
      isBroken = true
      await up.tus('HEAD', url)
      await up.tus('PATCH', url, { 'Upload-Offset': 0 }, 'a')
      await up.tus('DELETE', url)
      await up.create(1).catch(() => {})
      isBroken = false
      await up.create(1)
      isBroken = true
      for (let i = 0; i < 3; i++) await up.clock.advance(3_600_000)
    }
    await eventually(() => logged.length > 0 && ids.size > 0, 'the log')
    const text = inspect(logged, { depth: 20, showHidden: true })
    for (const id of ids)
      assert.ok(!text.includes(id) && !text.includes(Buffer.from(id).toString('hex').match(/../g)!.slice(0, 8).join(' ')), text)
    assert.match(text, /:id/)
  })
