// A channel for each key: who gets what, and that a channel is gone with its last client, in one process and over a relay.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { memoryRelay, relayChannels } from '../../src/modules/relay/index.ts'
import { SseChannels, sse } from '../../src/modules/sse/index.ts'
import { connect } from '../../src/testing/index.ts'
import { eventually } from '../support/serving.ts'

interface Keyed {
  readonly size: number
  of(key: string): Parameters<typeof sse>[1]
  end(key: string): void
  endAll(): void
}

/** Listens to a key, and keeps what arrives. */
async function listen(
  t: TestContext,
  server: HttpServer,
  key: string,
  lastEventId = '',
): Promise<{ text: () => string; leave: () => void; isOver: () => boolean }> {
  const client = connect(server)
  t.after(() => client.reset())
  const response = await client.stream({
    url: `/${encodeURIComponent(key)}`,
    ...(lastEventId !== '' && { headers: { 'Last-Event-ID': lastEventId } }),
  })
  let text = ''
  let isOver = false
  const read = async (): Promise<void> => {
    for await (const piece of response) text += piece.toString()
    isOver = true
  }
  read().catch(() => {})
  return { text: () => text, leave: () => client.reset(), isOver: () => isOver }
}

function serverOf(channels: Keyed): HttpServer {
  return new HttpServer({ logger: null }).mapGet('/:key', ({ key }, session) => sse(session, channels.of(key)))
}

const KINDS: Readonly<Record<string, () => Keyed & { send(key: string, event: string): unknown }>> = {
  'in one process': () => new SseChannels(),
  'over a relay': () => {
    const channels = relayChannels(memoryRelay({ maxLength: 0 }), 'inbox')
    return Object.assign(channels, { send: (key: string, event: string) => channels.publish(key, event) })
  },
}

for (const [kind, make] of Object.entries(KINDS)) {
  describe(`channels by key, ${kind}`, () => {
    test('each client gets the events of its key, and no others', async (t) => {
      const channels = make()
      const server = serverOf(channels)
      const [ann, annAgain, bob] = [await listen(t, server, 'ann'), await listen(t, server, 'ann'), await listen(t, server, 'a b/ü')]
      await eventually(() => channels.size === 2, 'all listen')
      await channels.send('ann', 'for ann')
      await channels.send('a b/ü', 'for bob')
      await channels.send('nobody', 'for nobody')
      await eventually(() => [ann, annAgain].every(({ text }) => text().includes('data: for ann\n')), 'the event of ann')
      await eventually(() => bob.text().includes('data: for bob\n'), 'the event of bob')
      for (const { text } of [ann, annAgain]) assert.doesNotMatch(text(), /bob|nobody/)
      assert.doesNotMatch(bob.text(), /ann|nobody/)
      assert.equal(channels.size, 2, 'sending makes no channel')
    })

    test('a channel is gone with its last client, and begins again with the next', async (t) => {
      const channels = make()
      const server = serverOf(channels)
      const [one, other] = [await listen(t, server, 'ann'), await listen(t, server, 'ann')]
      await eventually(() => channels.size === 1, 'both listen')
      one.leave()
      await channels.send('ann', 'still here')
      await eventually(() => other.text().includes('still here'), 'the event')
      assert.equal(channels.size, 1)
      other.leave()
      await eventually(() => channels.size === 0, 'the end')
      const next = await listen(t, server, 'ann')
      await eventually(() => channels.size === 1, 'the next')
      await channels.send('ann', 'again')
      await eventually(() => next.text().includes('again'), 'the event')
    })

    test('the streams of one key end, or those of all', async (t) => {
      const channels = make()
      const server = serverOf(channels)
      const [ann, bob] = [await listen(t, server, 'ann'), await listen(t, server, 'bob')]
      await eventually(() => channels.size === 2, 'both listen')
      channels.end('ann')
      await eventually(() => ann.isOver(), 'the end of ann')
      assert.deepEqual([bob.isOver(), channels.size], [false, 1])
      channels.endAll()
      await eventually(() => bob.isOver() && channels.size === 0, 'the end of all')
      channels.end('nobody')
    })

    test('a key that is missing is an error, not a channel that all such clients share', async () => {
      const channels = make()
      for (const key of ['', undefined, null, 7]) {
        assert.throws(() => channels.of(key as string), {
          code: 'WEIR_OPTION_INVALID',
          message: /the key is .*not a string that is not empty/,
        })
        await assert.rejects(async () => channels.send(key as string, 'x'), { code: 'WEIR_OPTION_INVALID' })
      }
    })
  })
}

test('send tells for how many clients an event was queued, and options are checked', async (t) => {
  const channels = new SseChannels({ maxQueuedSize: '64KiB' })
  const server = serverOf(channels)
  await listen(t, server, 'ann')
  await eventually(() => channels.size === 1, 'it listens')
  assert.deepEqual([channels.send('ann', 'x'), channels.send('bob', 'x')], [1, 0])
  assert.throws(() => channels.send('bob', { event: 'a\nb' }), { code: 'WEIR_RESULT_UNSENDABLE' })
  assert.throws(() => new SseChannels({ history: 3 } as never), { code: 'WEIR_OPTION_INVALID' })
})

test('over a relay that keeps messages, a client that returns misses none, although nobody listened', async (t) => {
  const relay = memoryRelay()
  const [here, there] = [relayChannels(relay, 'inbox'), relayChannels(relay, 'inbox')] // of two machines
  const server = serverOf(here)
  const first = await listen(t, server, 'ann')
  await eventually(() => here.size === 1, 'it listens')
  const id = await there.publish('ann', 'one')
  await eventually(() => first.text().includes('one'), 'the first event')
  first.leave()
  await eventually(() => here.size === 0, 'nobody listens')
  await there.publish('ann', 'two')
  const next = await listen(t, server, 'ann', id!)
  await eventually(() => next.text().includes('two'), 'the event that was missed')
  assert.doesNotMatch(next.text(), /data: one\n/)
  assert.throws(() => relayChannels(relay, 7 as never), { code: 'WEIR_OPTION_INVALID', message: /relayChannels\(\): the name/ })
  assert.throws(() => relayChannels({} as never, 'a'), { code: 'WEIR_OPTION_INVALID' })
})
