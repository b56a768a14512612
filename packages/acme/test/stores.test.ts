// The stores that several processes share: a directory, Redis through both clients, and SQLite.

import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { systemClock } from 'weirjs/kit'

import { redisCertificates } from '../../redis/src/index.ts'
import { sqliteStores } from '../../weirjs/src/modules/sqlite/index.ts'
import { noRedis, startRedis } from '../../weirjs/test/support/redis.ts'
import { eventually } from '../../weirjs/test/support/serving.ts'
import { openDatabase, withSqlite } from '../../weirjs/test/support/sqlite.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { openDirectory } from '../src/directory-store.ts'
import type { AcmeStore } from '../src/index.ts'

const LONG_MS = 600_000
const SHORT_MS = 50

/** @param open for each process, with what they share */
function testStore(name: string, skip: string | false, share: (t: TestContext) => Promise<() => Promise<AcmeStore>>): void {
  test(`${name}: texts are shared, and one process at a time has a lock, until it gives it back or its time is over`, {
    skip,
  }, async (t) => {
    const open = await share(t)
    const [one, two] = [await open(), await open()]
    assert.equal(await one.get('a.pem'), null)
    await one.set('a.pem', 'first\n')
    await two.set('a.pem', 'second\n')
    await two.set('b_c-1.pem', 'other')
    assert.equal(await one.get('a.pem'), 'second\n')
    await one.delete('a.pem')
    await two.delete('a.pem')
    assert.deepEqual([await two.get('a.pem'), await one.get('b_c-1.pem')], [null, 'other'])

    const all = await Promise.all(Array.from({ length: 8 }, open))
    const got = await Promise.all(all.map((store, i) => store.lock('ca.lock', `owner ${i}`, LONG_MS)))
    assert.equal(got.filter(Boolean).length, 1)
    const holder = `owner ${got.indexOf(true)}`
    assert.equal(await one.lock('ca.lock', holder, LONG_MS), true, 'it keeps what it has')
    await one.unlock('ca.lock', 'somebody else')
    assert.equal(await two.lock('ca.lock', 'somebody else', LONG_MS), false)
    assert.equal(await two.lock('other.lock', 'somebody else', LONG_MS), true)
    await two.unlock('ca.lock', holder)
    assert.equal(await one.lock('ca.lock', 'next', SHORT_MS), true)
    await eventually(() => two.lock('ca.lock', 'last', LONG_MS), 'the end of the lock')
    await one.unlock('ca.lock', 'next')
    assert.equal(await one.lock('ca.lock', 'next', LONG_MS), false)
    assert.equal(await one.get('ca.lock'), null, 'a lock is no text')
  })
}

testStore('a directory', false, async (t) => {
  const path = join(temporaryDirectory(t), 'store')
  return () => openDirectory(path, systemClock, 'acme')
})

testStore('Redis through redis and ioredis', noRedis, async (t) => {
  const { port } = await startRedis(t)
  let count = 0
  return async () => {
    if (count++ % 2 === 0) {
      const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {})
      t.after(() => client.destroy())
      return redisCertificates(await client.connect(), { timeout: '30s' })
    }
    const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true }).on('error', () => {})
    t.after(() => client.disconnect())
    await client.connect()
    return redisCertificates(client, { timeout: '30s' })
  }
})

withSqlite(import.meta.filename, () => {
  testStore('SQLite', false, async (t) => {
    const path = privateFile(t)
    return async () => {
      const database = openDatabase(path)
      t.after(() => database.close())
      return sqliteStores(database, { timeout: '30s' }).certificates
    }
  })

  test('SQLite: a lock that was taken by a clock that was years ahead is free once the clock is right', async (t) => {
    const path = privateFile(t)
    const open = (aheadMs: number): AcmeStore => {
      const database = openDatabase(path)
      t.after(() => database.close())
      const clock = { ...systemClock, wallTime: () => systemClock.wallTime() + aheadMs }
      return sqliteStores(database, { clock } as object).certificates
    }
    assert.equal(await open(10 * 365 * 86_400_000).lock('ca.lock', 'killed', LONG_MS), true)
    assert.equal(await open(0).lock('ca.lock', 'me', LONG_MS), true)
    assert.equal(await open(0).lock('ca.lock', 'other', LONG_MS), false)
  })

  test('SQLite: keys go to no file that others can read', async (t) => {
    const path = privateFile(t)
    const database = openDatabase(path)
    t.after(() => database.close())
    const { certificates } = sqliteStores(database)
    await certificates.set('a.pem', 'key')
    for (const file of [path, `${path}-wal`]) {
      chmodSync(file, 0o640)
      await assert.rejects(certificates.set('a.pem', 'other'), (error: Error) => error.message.includes(`${file} has the mode 640, and`))
      chmodSync(file, 0o600)
    }
    assert.equal(await certificates.get('a.pem'), 'key')
  })
})

function privateFile(t: TestContext): string {
  const path = join(temporaryDirectory(t), 'app.db')
  writeFileSync(path, '', { mode: 0o600 })
  return path
}
