import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { ByteLink } from '../../http/response/byte-link.ts'
import type { HttpSession } from '../../http/session.ts'

import { WireWebSocket } from '../../wire/websocket/connection.ts'
import type { ConnectionHost } from './connection.ts'
import { WebSocketConnection } from './connection.ts'

const INTERVAL_MS = 200

/** A connection whose heartbeats the test calls, and what it has done by itself. */
function connected() {
  const done: string[] = []
  const link = {
    ...{ hasRead: false, receivedBytes: 0, isBlocked: false },
    hasBeenRead: () => link.hasRead,
    writeBoth: () => done.push('ping'),
    write: () => done.push('ping'),
    destroy: () => done.push('terminate'),
  }
  const host = { handlers: {}, pingInterval: INTERVAL_MS, maxQueuedSize: 1 }
  const connection = new WebSocketConnection(
    host as unknown as ConnectionHost<null>,
    link as unknown as ByteLink,
    new WireWebSocket(1),
    { protocol: '', deflate: null },
    null,
    {} as HttpSession,
  )
  let now = 1
  /** Lets time pass in heartbeats. */
  const pass = (ms: number): void => {
    for (const end = now + ms; now < end; ) connection.onHeartbeat((now += INTERVAL_MS / 10))
  }
  pass(INTERVAL_MS / 10)
  /** One heartbeat, late because the process was blocked. */
  const block = (ms: number): void => connection.onHeartbeat((now += ms))
  return { done, link, pass, block }
}

test('a process that was blocked pings a silent client, and reads its pong, before it aborts it', () => {
  const { done, link, pass, block } = connected()
  for (let i = 0; i < 2; i++) block(100 * INTERVAL_MS)
  assert.deepEqual(done, ['ping'])
  block(100 * INTERVAL_MS)
  assert.deepEqual(done, ['ping'])
  link.receivedBytes++
  pass(INTERVAL_MS)
  assert.deepEqual(done, ['ping'])
  for (let i = 0; i < 3; i++) block(100 * INTERVAL_MS)
  assert.deepEqual(done, ['ping', 'ping', 'terminate'])
})

test('a client that reads slowly is not aborted, and one that stops reading is', () => {
  const { done, link, pass } = connected()
  for (let i = 0; i < 50; i++) {
    pass(2 * INTERVAL_MS - INTERVAL_MS / 10)
    link.hasRead = true
    pass(INTERVAL_MS / 10)
    link.hasRead = false
  }
  assert.deepEqual(new Set(done), new Set(['ping']))
  assert.equal(done.length, 50)
  done.length = 0
  pass(2 * INTERVAL_MS - INTERVAL_MS / 10)
  assert.deepEqual(done, ['ping'])
  pass(INTERVAL_MS / 10)
  assert.deepEqual(done, ['ping', 'terminate'])
})

test('a client that reads or writes often is not even pinged', () => {
  const { done, link, pass } = connected()
  for (let i = 0; i < 50; i++) {
    if (i % 2 === 0) link.receivedBytes++
    link.hasRead = i % 2 === 1
    pass(INTERVAL_MS / 10)
    link.hasRead = false
    pass(INTERVAL_MS - INTERVAL_MS / 5)
  }
  assert.deepEqual(done, [])
})
