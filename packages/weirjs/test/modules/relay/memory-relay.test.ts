// memoryRelay, with and without kept messages.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { BEFORE_FIRST, type MemoryRelayOptions, memoryRelay } from '../../../src/modules/relay/index.ts'
import { testConformance } from './conformance.ts'

testConformance('memoryRelay', () => {
  const relay = memoryRelay({ maxLength: 50, onError: () => {} })
  return { relay: () => relay, keeps: true, dropsAfter: 50 }
})
testConformance('memoryRelay that keeps nothing', () => {
  const relay = memoryRelay({ maxLength: 0, onError: () => {} })
  return { relay: () => relay, keeps: false }
})

test('exactly maxLength messages are kept, and only a lost one is a gap', async () => {
  const relay = memoryRelay({ maxLength: 2 })
  const ids: string[] = []
  for (const data of ['a', 'b', 'c', 'd']) ids.push((await relay.publish('x', data))!)
  const after = async (id: string): Promise<string[]> => {
    const heard: string[] = []
    const { ready } = relay.subscribe('x', ({ data }) => void heard.push(data), { after: id, onGap: () => void heard.push('<gap>') })
    await ready
    return heard
  }
  assert.deepEqual(await after(ids[0]!), ['<gap>', 'c', 'd'])
  assert.deepEqual(await after(ids[1]!), ['c', 'd'])
  assert.deepEqual(await after(ids[2]!), ['d'])
  assert.deepEqual(await after(ids[3]!), [])
  assert.deepEqual(await after(`${ids[3]}0`), ['<gap>', 'c', 'd'])
})

test('who has missed thousands of messages gets them in turns with other work, in order, and is ready after the last', async () => {
  const relay = memoryRelay({ maxLength: 10_000 })
  const expected = Array.from({ length: 5_000 }, (_, i) => String(i))
  for (const data of expected) void relay.publish('x', data)
  const heard: string[] = []
  const { ready } = relay.subscribe('x', ({ data }) => void heard.push(data), { after: BEFORE_FIRST })
  let isReady = false
  void ready.then(() => (isReady = true))
  const counts: number[] = []
  for (let i = 0; i < 20 && !isReady; i++) {
    await new Promise(setImmediate)
    if (i === 0) void relay.publish('x', 'last').then(() => heard.push('published'))
    counts.push(heard.length)
  }
  assert.deepEqual(heard, [...expected, 'last', 'published'])
  for (const [i, count] of counts.entries()) assert.ok(count - (counts[i - 1] ?? 0) <= 1_002, counts.join())
})

test('ids of one relay are unknown to another: that of a program before its restart', async () => {
  const [before, now] = [memoryRelay(), memoryRelay()]
  const id = (await before.publish('x', 'old'))!
  await now.publish('x', 'a')
  await now.publish('x', 'b')
  const heard: string[] = []
  await now.subscribe('x', ({ data }) => void heard.push(data), { after: id, onGap: () => void heard.push('<gap>') }).ready
  assert.deepEqual(heard, ['<gap>', 'a', 'b'])
})

test('publish resolves when every subscriber has heard the message', async () => {
  const relay = memoryRelay()
  const heard: string[] = []
  relay.subscribe('x', ({ data }) => void heard.push(data))
  await relay.publish('x', 'a')
  assert.deepEqual(heard, ['a'])
})

test('what a listener throws goes to onError', async () => {
  const errors: unknown[] = []
  const relay = memoryRelay({ onError: (error) => void errors.push(error) })
  const thrown = new Error('broken')
  relay.subscribe('x', () => {
    throw thrown
  })
  await relay.publish('x', 'a')
  assert.deepEqual(errors, [thrown])
})

test('invalid options and data are refused', async () => {
  const wrong: unknown[] = [null, { maxLength: -1 }, { maxLength: Number.NaN }, { onError: 1 }, { maxlength: 1 }]
  for (const options of wrong) assert.throws(() => memoryRelay(options as MemoryRelayOptions), { code: 'WEIR_OPTION_INVALID' })
  await assert.rejects(memoryRelay().publish('x', 1 as unknown as string), { code: 'WEIR_OPTION_INVALID' })
})

test('as many ids of the program are remembered as messages are kept', async () => {
  const relay = memoryRelay({ maxLength: 3 })
  const ids: (string | null)[] = []
  for (const once of ['a', 'b', 'c', 'd']) ids.push(await relay.publish('x', once, { once }))
  assert.equal(await relay.publish('x', 'd', { once: 'd' }), ids[3])
  assert.equal(await relay.publish('x', 'b', { once: 'b' }), ids[1])
  assert.ok(!ids.includes(await relay.publish('x', 'a', { once: 'a' })))
})
