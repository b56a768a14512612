import assert from 'node:assert/strict'
import { test } from 'node:test'

import { workTurns } from '../../http/work-turns.ts'
import type { Relay } from '../relay/relay-option.ts'
import { encodeBroadcast } from './envelope.ts'
import { RelayedRooms } from './relayed-rooms.ts'

const MIB = 2 ** 20

/** Rooms that hear what the test says. @param work what each broadcast that they deliver takes of a turn of the event loop, which has 1,024 */
function rooms(work: number) {
  const heard: string[] = []
  const told = { message: (_: string): void => {}, gap: (): void => {} }
  const relay: Relay = {
    isConnected: true,
    publish: async () => null,
    subscribe(_, listener, { onGap } = {}) {
      told.message = (data) => listener({ id: null, data })
      told.gap = onGap!
      return { ready: Promise.resolve(), close() {} }
    },
    close: async () => {},
  }
  const route = {
    channel: 'a',
    maxQueuedSize: MIB,
    deliver({ bytes }: { readonly bytes: Uint8Array }): void {
      heard.push(String(bytes).length > 100 ? 'large' : Buffer.from(bytes).toString())
      workTurns.spend(work)
    },
    onGap: () => heard.push('gap'),
    log: (message: string, error: unknown) => heard.push(`${message} ${String(error)}`),
  }
  void new RelayedRooms(relay, route).listen(new AbortController().signal)
  let number = 0
  const say = (text: string): void =>
    told.message(encodeBroadcast({ origin: 'other', number: ++number, isBeacon: false, isAfterLoss: false }, null, text))
  return { heard, say, gap: () => told.gap() }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what other processes broadcast takes turns of the event loop, too, and stays in order', async () => {
  const { heard, say, gap } = rooms(100)
  await turn()
  const expected = Array.from({ length: 100 }, (_, i) => (i === 50 ? 'gap' : String(i)))
  for (const one of expected) one === 'gap' ? gap() : say(one)
  const counts = [heard.length]
  for (let i = 0; i < 50 && heard.length < expected.length; i++) {
    await turn()
    counts.push(heard.length)
  }
  assert.deepEqual(heard, expected)
  for (const [i, count] of counts.entries()) assert.ok(count - (counts[i - 1] ?? 0) <= 12, counts.join())
})

test('of what this process cannot send on, no more than 16 MiB wait: what is dropped is a gap', async () => {
  const { heard, say } = rooms(1_024)
  await turn()
  for (let i = 0; i < 40; i++) say('x'.repeat(MIB))
  say('last')
  for (let i = 0; i < 50; i++) await turn()
  assert.deepEqual([heard[0], heard[1], heard.at(-1)], ['large', 'gap', 'last'])
  assert.ok(heard.length < 12, heard.join())
})
