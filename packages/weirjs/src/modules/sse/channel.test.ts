import assert from 'node:assert/strict'
import { test } from 'node:test'

import { SseChannel, type SseChannelOptions } from './channel.ts'

/** Reads all events that the client gets without waiting. */
async function readAll(client: AsyncIterable<{ bytes: Uint8Array }>): Promise<string[]> {
  const iterator = client[Symbol.asyncIterator]()
  const texts: string[] = []
  for (;;) {
    const result = await Promise.race([iterator.next(), new Promise<'waits'>((resolve) => setImmediate(() => resolve('waits')))])
    if (result === 'waits') return texts
    if (result.done === true) return [...texts, 'end']
    texts.push(Buffer.from(result.value.bytes).toString().trim().replaceAll('\n', ' '))
  }
}

function filled(options: SseChannelOptions, count: number) {
  const channel = new SseChannel(options)
  const client = channel.subscribe(null)
  const queued = Array.from({ length: count }, (_, i) => channel.send(String(i)))
  return { channel, client, queued }
}
/** The cost of `data: 0\n\n` in a queue. */
const COST = 9 + 64

test('a client gets every event from the moment it listens, in order', async () => {
  const channel = new SseChannel()
  assert.equal(channel.send('too early'), 0)
  const client = channel.subscribe(null)
  assert.equal(channel.send('a'), 1)
  assert.equal(channel.send({ data: 'b' }), 1)
  assert.deepEqual(await readAll(client), ['data: a', 'data: b'])
})

test('a full queue disconnects the client: its queue is discarded, and the stream ends', async () => {
  const { channel, client, queued } = filled({ maxQueuedSize: 3 * COST }, 5)
  assert.deepEqual(queued, [1, 1, 1, 0, 0])
  assert.equal(channel.size, 0)
  assert.deepEqual(await readAll(client), ['end'])
})

test('with drop-oldest a client misses the oldest events', async () => {
  const { channel, client, queued } = filled({ maxQueuedSize: 3 * COST, whenFull: 'drop-oldest' }, 5)
  assert.deepEqual(queued, [1, 1, 1, 1, 1])
  assert.deepEqual(await readAll(client), ['data: 2', 'data: 3', 'data: 4'])
  assert.equal(channel.size, 1)
})

test('with drop-oldest a client misses only an event that is larger than a queue', async () => {
  const { channel, client } = filled({ maxQueuedSize: 3 * COST, whenFull: 'drop-oldest' }, 2)
  assert.equal(channel.send('x'.repeat(4 * COST)), 0)
  assert.equal(channel.send('y'), 1)
  assert.deepEqual(await readAll(client), ['data: 0', 'data: 1', 'data: y'])
})

test('with disconnect an event that is larger than a queue ends the stream, even if the queue is empty', async () => {
  const { channel, client } = filled({ maxQueuedSize: 3 * COST }, 0)
  assert.equal(channel.send('x'.repeat(4 * COST)), 0)
  assert.deepEqual(await readAll(client), ['end'])
  assert.equal(channel.size, 0)
})

for (const whenFull of ['disconnect', 'drop-oldest'] as const) {
  test(`with ${whenFull} a waiting client gets an event of any size`, async () => {
    const { channel, client } = filled({ maxQueuedSize: COST, whenFull }, 0)
    const next = client[Symbol.asyncIterator]().next()
    assert.equal(channel.send('x'.repeat(4 * COST)), 1)
    assert.equal((await next).value?.bytes.length, 4 * COST + 8)
  })
}

test('an event that was read makes room for another', async () => {
  const { channel, client } = filled({ maxQueuedSize: 3 * COST }, 3)
  const iterator = client[Symbol.asyncIterator]()
  for (let i = 0; i < 20; i++) {
    await iterator.next()
    assert.equal(channel.send('n'), 1)
  }
})

test('a client that reconnects gets what it missed, which does not count towards its queue', async () => {
  const channel = new SseChannel({ history: 4, maxQueuedSize: 3 * COST })
  for (let i = 0; i < 6; i++) channel.send({ id: `${i}`, data: i })
  channel.send('without an id')
  assert.deepEqual(await readAll(channel.subscribe('3')), ['id: 4 data: 4', 'id: 5 data: 5'])
  assert.deepEqual(await readAll(channel.subscribe('5')), [])
  const late = channel.subscribe('unknown')
  for (const data of ['a', 'b', 'c']) assert.equal(channel.send(data), 3)
  assert.deepEqual(await readAll(late), [
    'id: 2 data: 2',
    'id: 3 data: 3',
    'id: 4 data: 4',
    'id: 5 data: 5',
    'data: a',
    'data: b',
    'data: c',
  ])
  assert.deepEqual(await readAll(channel.subscribe(null)), [])
})

test('endAll ends streams after the queued events; clients may connect to the channel again', async () => {
  const { channel, client } = filled({}, 2)
  channel.endAll()
  assert.equal(channel.size, 0)
  assert.deepEqual(await readAll(client), ['data: 0', 'data: 1', 'end'])
  const again = channel.subscribe(null)
  assert.equal(channel.send('more'), 1)
  assert.deepEqual(await readAll(again), ['data: more'])
})

test('invalid options are refused', () => {
  const wrong: unknown[] = [{ maxQueuedSize: 0 }, { maxQueuedSize: Number.NaN }, { whenFull: 'wait' }, { history: -1 }, { maxQueued: 1 }]
  for (const options of wrong) assert.throws(() => new SseChannel(options as SseChannelOptions), { code: 'WEIR_OPTION_INVALID' })
})
