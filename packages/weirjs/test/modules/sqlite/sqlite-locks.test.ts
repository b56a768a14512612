// The locks of uploads in SQLite, alone and with the uploads of several processes.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'

import { systemClock } from '../../../src/base/clock.ts'
import { sqliteStores } from '../../../src/modules/sqlite/index.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { eventually } from '../../support/serving.ts'
import { openDatabase, temporaryDatabase, withSqlite } from '../../support/sqlite.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { startUploadProcess, type UploadProcess } from '../../support/upload-processes.ts'

const nobody = (): void => {}
const TUS = { 'Tus-Resumable': '1.0.0' }

/** Two processes, as far as SQLite knows, whose wall clock a test can set. */
function twoOf(t: TestContext) {
  const { path, database } = temporaryDatabase(t)
  const second = openDatabase(path)
  t.after(() => second.close())
  const wall = { ahead: 0 }
  const clock = { ...systemClock, wallTime: () => Date.now() + wall.ahead }
  const [one, other] = [database, second].map((each) => sqliteStores(each, { timeout: '30s', clock }).uploadLocks)
  const rows = (): unknown => Object(database.prepare('SELECT count(*) AS n FROM weir_upload_locks').get()).n
  const lease = (): number => Object(database.prepare('SELECT lease FROM weir_upload_locks').get()).lease
  return { one: one!, other: other!, wall, rows, lease }
}

withSqlite(import.meta.filename, () => {
  test('whoever comes later asks the holder, who learns of it', async (t) => {
    const { one, other, rows } = twoOf(t)
    let isWanted = false
    const held = (await one.acquire('a', () => (isWanted = true), 0, systemClock))!
    assert.deepEqual([held.hasTakenOver, held.isHeld()], [false, true])
    assert.equal(await other.acquire('a', nobody, 0, systemClock), null)
    assert.ok(await other.acquire('b', nobody, 0, systemClock), 'another upload has another lock')
    const next = other.acquire('a', nobody, 30_000, systemClock)
    await eventually(() => isWanted, 'the question')
    assert.equal(held.isHeld(), true, 'asked is not lost')
    await held.release()
    assert.equal(held.isHeld(), false)
    const lock = (await next)!
    assert.deepEqual([lock.hasTakenOver, lock.isHeld()], [false, true])
    await held.release() // of another now
    assert.equal(lock.isHeld(), true)
    await lock.release()
    assert.equal(rows(), 1)
  })

  test('nobody asks for a client that has left', async (t) => {
    const { one, other } = twoOf(t)
    const held = (await one.acquire('a', nobody, 0, systemClock))!
    const clock = new TestClock()
    const leaving = new AbortController()
    let lock: unknown
    void other.acquire('a', nobody, 600_000, clock, leaving.signal).then((one) => (lock = one))
    await eventually(() => clock.running === 1, 'that it waits')
    leaving.abort()
    await clock.advance(25)
    await eventually(() => lock !== undefined || clock.running === 1, 'what comes next')
    assert.equal(lock, null)
    await held.release()
  })

  test('a lock whose holder gives no sign is taken over, and its holder knows at once that it has none', async (t) => {
    const { one, other, wall } = twoOf(t)
    let isTold = false
    const held = (await one.acquire('a', () => (isTold = true), 0, systemClock))!
    wall.ahead = 9_000
    assert.equal(await other.acquire('a', nobody, 0, systemClock), null)
    wall.ahead = 10_001
    const lock = (await other.acquire('a', nobody, 0, systemClock))!
    assert.deepEqual([lock.hasTakenOver, lock.isHeld(), held.isHeld()], [true, true, false])
    await eventually(() => isTold, 'the loss')
    await held.release()
    assert.equal(lock.isHeld(), true)
    await lock.release()
  })

  test('a holder that works for long keeps the lock', async (t) => {
    const { one, lease } = twoOf(t)
    const held = (await one.acquire('a', nobody, 0, systemClock))!
    const first = lease()
    await eventually(() => lease() > first, 'a longer lease')
    assert.equal(held.isHeld(), true)
    await held.release()
  })

  test('a lease of a time when the clock was far ahead is over', async (t) => {
    const { one, other, wall } = twoOf(t)
    wall.ahead = 86_400_000
    const held = (await one.acquire('a', nobody, 0, systemClock))!
    wall.ahead = 0
    const lock = (await other.acquire('a', nobody, 0, systemClock))!
    assert.deepEqual([lock.hasTakenOver, held.isHeld()], [true, false])
    await Promise.all([held.release(), lock.release()])
  })

  test('processes killed at random lose no byte that was confirmed, and continue the uploads of each other', async (t) => {
    const directory = temporaryDirectory(t)
    const { path, database } = temporaryDatabase(t)
    const files = Array.from({ length: 4 }, () => randomBytes(1_500_000))
    const state = files.map(() => ({ url: '', confirmed: 0 }))
    let processes: readonly UploadProcess[] = []
    let confirmations = 0
    const any = (): UploadProcess => processes[Math.floor(Math.random() * processes.length)]!
    const ask = (url: string, init: RequestInit): Promise<Response> =>
      fetch(`http://127.0.0.1:${any().port}${url}`, { ...init, headers: { ...TUS, ...init.headers } })

    /** One piece of one upload, through any process. @throws when the process is killed */
    async function step(i: number): Promise<void> {
      const [file, upload] = [files[i]!, state[i]!]
      const head = await ask(upload.url, { method: 'HEAD' })
      if (head.status === 423) return // its holder was killed a moment ago
      assert.ok(head.ok, String(head.status))
      const offset = Number(head.headers.get('upload-offset'))
      assert.ok(offset >= upload.confirmed, `${upload.confirmed} bytes were confirmed, and ${offset} are there`)
      const piece = file.subarray(offset, offset + 1 + Math.floor(Math.random() * 150_000))
      const headers = { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': String(offset) }
      const done = await ask(upload.url, { method: 'PATCH', headers, body: new Uint8Array(piece) })
      await done.arrayBuffer()
      if (done.status !== 204) return
      upload.confirmed = Number(done.headers.get('upload-offset'))
      confirmations++
    }

    const isDone = (): boolean => state.every(({ confirmed }, i) => confirmed === files[i]!.length)
    const received: { size: number; hash: string }[] = []
    for (let round = 0; !isDone(); round++) {
      processes = await Promise.all(
        [0, 1].map(() => startUploadProcess((end) => t.after(end), directory, { shared: path, clockAheadMs: round * 11_000 })),
      )
      for (const [i, upload] of state.entries())
        if (upload.url === '')
          upload.url = (await ask('/files', { method: 'POST', headers: { 'Upload-Length': String(files[i]!.length) } })).headers.get(
            'location',
          )!
      const enough = round < 3 ? confirmations + 12 : Number.POSITIVE_INFINITY
      await Promise.all(
        state.map(async (upload, i) => {
          // Whoever is first to have enough kills both, while the others are under way.
          while (upload.confirmed < files[i]!.length && confirmations < enough)
            await step(i).catch((error: unknown) => {
              if (!(error instanceof TypeError)) throw error // of `fetch`: nobody is there
              if (confirmations < enough) throw error
            })
          if (confirmations >= enough) await Promise.all(processes.map((one) => one.kill()))
        }),
      )
      if (isDone()) await eventually(() => processes.flatMap((one) => one.received).length > 0, 'the last upload')
      received.push(...processes.flatMap((one) => one.received))
    }
    const expected = files.map((file) => createHash('sha256').update(file).digest('hex')).sort()
    // A process may be killed after `onComplete`, before it has noted that: then it runs again.
    assert.deepEqual([...new Set(received.map(({ hash }) => hash))].sort(), expected)
    assert.deepEqual({ ...Object(database.prepare('PRAGMA integrity_check').get()) }, { integrity_check: 'ok' })
  })
})
