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
    const page = await new PageRequest(source, after, '').page
    events += page.events.length
    after = page.end
  }
  isOver = true
  assert.equal(events, EVENTS - 1)
  assert.ok(pages > 3 && turns >= pages - 1, `${pages} pages in ${turns} turns`)
  await relay.close()
})

test('pages that many streams of one client ask for at once are read in several turns of the event loop', async () => {
  const streams = 40
  const relay = memoryRelay({ maxLength: 10_000 })
  for (let i = 0; i < 10_000; i++) await relay.publish('news', String(i))
  const event = { bytes: new Uint8Array(20), id: null } as unknown as EncodedEvent
  let inTurn = 0
  let most = 0
  const source: PageSource = {
    relay,
    name: 'news',
    gap: event,
    decode() {
      most = Math.max(most, ++inTurn)
      return event
    },
    isRecent: () => false,
    onMissingId: () => assert.fail(),
    onEnd: () => {},
  }
  let isOver = false
  const count = (): void => {
    inTurn = 0
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const requests = Array.from({ length: streams }, (_, i) => new PageRequest(source, `unknown-${i}`, '192.0.2.1'))
  requests[streams - 1]!.finish() // its client has left
  const pages = await Promise.all(requests.map(({ page }) => page))
  isOver = true
  assert.equal(pages[streams - 1]!.events.length, 0)
  const [{ events }] = pages as [(typeof pages)[0]]
  for (const page of pages.slice(0, -1)) assert.equal(page.events.length, events.length)
  assert.ok(events.length > 1_000 && most < 10 * events.length, `${most} events in a turn, ${events.length} in a page`)
  await relay.close()
})

test('a relay that fails fails the page, also when its turn comes later', async () => {
  const source: PageSource = {
    relay: {
      subscribe() {
        throw new Error('away')
      },
    } as unknown as PageSource['relay'],
    name: 'news',
    gap: {} as EncodedEvent,
    decode: () => null,
    isRecent: () => false,
    onMissingId: () => assert.fail(),
    onEnd: () => {},
  }
  for (const request of Array.from({ length: 10 }, (_, i) => new PageRequest(source, String(i), '')))
    await assert.rejects(request.page, { message: 'away' })
})
