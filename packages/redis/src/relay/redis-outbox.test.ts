import assert from 'node:assert/strict'
import { test } from 'node:test'

import { TestClock } from '../../../weirjs/src/testing/test-clock.ts'
import { thinned } from '../../../weirjs/test/support/thinned.ts'
import type { RedisAccess } from '../client/redis-access.ts'
import { RedisOutbox } from './redis-outbox.ts'

const TIMEOUT_MS = 1_000
const LOADING = new Error('a store did not answer', { cause: new Error('LOADING Redis is loading the dataset in memory') })
const NO_REPLY = new Error('no reply within 1000 ms')

/** An outbox whose batches wait for the test, and what became of its messages. */
function outboxOver({ retries = true, maxQueuedSize = 100_000 } = {}) {
  const clock = new TestClock()
  const batches: { readonly number: number; readonly texts: readonly string[]; reply(error?: Error): Promise<void> }[] = []
  const outcomes: Record<string, string> = {}
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const outbox = new RedisOutbox({
    ...{ clock, retries, maxQueuedSize, timeoutMs: TIMEOUT_MS, access: { isDegraded: false, lastError: null } as RedisAccess },
    send: (_, number, texts) =>
      new Promise((resolve, reject) => {
        const reply = async (error?: Error): Promise<void> => {
          if (error === undefined) resolve(texts.map((text) => `id of ${text}`))
          else reject(error)
          await settled()
        }
        batches.push({ number, texts, reply })
      }),
  })
  const publish = (data: string): void => {
    outbox.publish('a', data).then(
      (id) => (outcomes[data] = String(id)),
      (error: Error) => (outcomes[data] = /was not published|may have been published|maxQueuedSize/.exec(error.message)![0]),
    )
  }
  const elapse = async (ms: number): Promise<void> => {
    await clock.advance(ms)
    await settled()
  }
  return { outbox, publish, batches, outcomes, elapse, settled }
}

test('a message that is said not to be published is not published later with its batch', async () => {
  const { publish, batches, outcomes, elapse, settled } = outboxOver()
  publish('first')
  await settled()
  publish('early')
  await elapse(600)
  publish('late')
  await batches[0]!.reply()
  assert.deepEqual(batches[1]!.texts, ['early', 'late'])
  await elapse(500)
  await batches[1]!.reply(LOADING)
  await elapse(50)
  assert.deepEqual(batches[2]!.texts, ['late'])
  await batches[2]!.reply()
  assert.deepEqual(outcomes, { first: 'id of first', early: 'was not published', late: 'id of late' })
})

test('a batch that may have been published is sent again as it was', async () => {
  const { publish, batches, outcomes, elapse, settled } = outboxOver()
  publish('first')
  await settled()
  publish('early')
  await elapse(600)
  publish('late')
  await batches[0]!.reply()
  await elapse(500)
  await batches[1]!.reply(NO_REPLY)
  await elapse(50)
  assert.deepEqual(batches[2], { ...batches[1], reply: batches[2]!.reply })
  await batches[2]!.reply()
  assert.deepEqual(outcomes, { first: 'id of first', early: 'may have been published', late: 'id of late' })
})

test('messages that wait behind one without a reply have no more time than it', async () => {
  const { publish, batches, outcomes, elapse, settled } = outboxOver({ retries: false })
  for (let i = 0; i < 250; i++) publish(`${i}`)
  await settled()
  assert.equal(batches[0]!.texts.length, 100)
  await elapse(TIMEOUT_MS)
  await batches[0]!.reply(NO_REPLY)
  assert.equal(batches.length, 1)
  assert.deepEqual(
    [outcomes['0'], outcomes['99'], outcomes['100'], outcomes['249']],
    [...['may have been published', 'may have been published'], ...['was not published', 'was not published']],
  )
  publish('next')
  await elapse(50)
  await batches.at(-1)!.reply()
  assert.equal(outcomes['next'], 'id of next')
})

// If it grew with the square, this test would take minutes.
test('however many messages wait, those whose time is over are refused in the time of as many', async () => {
  const count = thinned(400_000)
  const { outbox, batches, elapse, settled } = outboxOver({ maxQueuedSize: 200 * count })
  let refused = 0
  for (let i = 0; i < count; i++) outbox.publish('a', '').catch(() => refused++)
  await settled()
  await elapse(TIMEOUT_MS)
  await batches[0]!.reply(LOADING)
  assert.equal(refused, count)
})

test('empty messages take room, too, which is free again after them', async () => {
  const { outbox, publish, batches, outcomes, settled } = outboxOver({ maxQueuedSize: 1_000 })
  const waiting = Array.from({ length: 5 }, () => outbox.publish('a', ''))
  await assert.rejects(outbox.publish('a', ''), /maxQueuedSize \(1000\)/)
  await settled()
  await batches[0]!.reply()
  await Promise.all(waiting)
  publish('more')
  await settled()
  await batches[1]!.reply()
  assert.equal(outcomes['more'], 'id of more')
})
