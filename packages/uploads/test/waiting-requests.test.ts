// Requests that wait for one upload: few of them do, one asks the locks that processes share, and none does for a client that has left.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { connect } from '../../weirjs/src/testing/index.ts'
import { settled } from '../../weirjs/src/testing/test-clock.ts'
import { eventually, gate } from '../../weirjs/test/support/serving.ts'
import { uploading } from '../../weirjs/test/support/uploading.ts'
import { memoryLocks, type UploadLocks } from '../src/index.ts'

const MOST_WAITING = 8

/** An upload that is complete, and whose `onComplete` takes as long as the test wants. */
async function start(t: TestContext) {
  const shared = memoryLocks()
  const signals: (AbortSignal | undefined)[] = []
  const locks: UploadLocks = {
    acquire(...args) {
      signals.push(args[4])
      return shared.acquire(...args)
    },
  }
  const begun = gate()
  const ended = gate()
  const up = uploading(t, { locks }, async (upload) => {
    begun.open()
    await ended.promise
    await upload.keep()
  })
  const url = await up.create(3)
  const done = up.tus('PATCH', url, { 'Upload-Offset': 0 }, 'abc')
  await begun.promise
  signals.length = 0
  return { up, url, shared, signals, done, end: () => ended.open() }
}

test('one request at a time asks the shared locks, and the newest wait', async (t) => {
  const { up, url, signals, done, end } = await start(t)
  const statuses: number[] = []
  const heads = Array.from({ length: 50 }, async (_, i) => {
    statuses[i] = (await up.tus('HEAD', url)).status
  })
  const refused = (): number => statuses.filter((status) => status === 423).length
  await eventually(() => refused() + signals.length >= 50 - MOST_WAITING, 'that the others are refused')
  await settled()
  assert.deepEqual([signals.length, refused()], [0, 50 - MOST_WAITING], 'all of them wait in this process')
  end()
  await Promise.all([...heads, done])
  assert.deepEqual([statuses.filter((status) => status === 204).length, signals.length], [MOST_WAITING, MOST_WAITING])
})

test('a client that has left waits for nothing', async (t) => {
  const { up, url, signals, done, end } = await start(t)
  const { clock } = up
  const before = clock.running
  const clients = await Promise.all(
    Array.from({ length: MOST_WAITING }, async () => {
      const client = connect(up.server)
      await client.send(`HEAD ${url} HTTP/1.1\r\nHost: a\r\nTus-Resumable: 1.0.0\r\n\r\n`)
      return client
    }),
  )
  await eventually(() => clock.running === before + MOST_WAITING, 'that all wait')
  for (const client of clients) client.abort()
  for (let i = 0; i < 20; i++) await settled()
  assert.equal(clock.running, before)
  end()
  assert.equal((await done).status, 204)
  assert.equal(signals.length, 0)
})

test('the shared locks learn when the client has left that waits for another process', async (t) => {
  const { up, url, shared, signals, done, end } = await start(t)
  end()
  await done
  const elsewhere = (await shared.acquire(url.slice('/files/'.length), () => {}, 0, up.clock))!
  const client = connect(up.server)
  await client.send(`HEAD ${url} HTTP/1.1\r\nHost: a\r\nTus-Resumable: 1.0.0\r\n\r\n`)
  await eventually(() => signals.length === 1, 'that it asks')
  const running = up.clock.running
  client.abort()
  for (let i = 0; i < 20; i++) await settled()
  assert.equal(signals[0]?.aborted, true)
  assert.equal(up.clock.running, running - 1)
  await elsewhere.release()
  assert.equal((await up.tus('HEAD', url)).status, 204)
})
