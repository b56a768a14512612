import assert from 'node:assert/strict'
import { test } from 'node:test'

import { memoryRelay } from '../relay/memory-relay.ts'
import type { EncodedEvent } from './event.ts'
import { PageRequest, type PageSource } from './page-request.ts'

const EVENTS = 20_000

test('a client that has missed many pages, all of which are in memory, leaves turns of the event loop to others', async () => {
  const relay = memoryRelay({ maxLength: EVENTS })
  const first = (await relay.publish('news', '0'))!
  for (let i = 1; i < EVENTS; i++) await relay.publish('news', String(i))
  const event = { bytes: new Uint8Array(20), id: null } as unknown as EncodedEvent
  const source: PageSource = {
    relay,
    name: 'news',
    gap: event,
    decode: () => event,
    isRecent: () => false,
    onMissingId: () => assert.fail(),
    onEnd: () => {},
  }
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  let events = 0
  let pages = 0
  for (let after = first; events < EVENTS - 1; pages++) {
    const page = await new PageRequest(source, after).page
    events += page.events.length
    after = page.end
  }
  isOver = true
  assert.equal(events, EVENTS - 1)
  assert.ok(pages > 3 && turns >= pages - 1, `${pages} pages in ${turns} turns`)
  await relay.close()
})
