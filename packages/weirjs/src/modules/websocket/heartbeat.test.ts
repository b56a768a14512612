import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'

import type { WebSocket } from 'ws'

import type { UpgradedDuplex } from '../../http/answer/response-content.ts'
import type { HttpSession } from '../../http/session.ts'

import { type ConnectionHost, WebSocketConnection } from './connection.ts'

const INTERVAL_MS = 200

/** A connection whose heartbeats the test calls, and what it has done by itself. */
function connected() {
  const done: string[] = []
  const ws = Object.assign(new EventEmitter(), {
    ...{ readyState: 1, OPEN: 1, bufferedAmount: 0 },
    ping: () => done.push('ping'),
    terminate: () => done.push('terminate'),
  })
  const wire = { hasRead: false, receivedBytes: 0, hasBeenRead: () => wire.hasRead }
  const host = { handlers: {}, pingInterval: INTERVAL_MS, maxQueuedBytes: 1 }
  const connection = new WebSocketConnection(
    host as unknown as ConnectionHost<null>,
    ws as unknown as WebSocket,
    wire as unknown as UpgradedDuplex,
    null,
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
  return { done, wire, pass, block }
}

test('a process that was blocked pings a silent client, and reads its answer, before it aborts it', () => {
  const { done, wire, pass, block } = connected()
  for (let i = 0; i < 2; i++) block(100 * INTERVAL_MS)
  assert.deepEqual(done, ['ping'])
  block(100 * INTERVAL_MS)
  assert.deepEqual(done, ['ping'])
  wire.receivedBytes++
  pass(INTERVAL_MS)
  assert.deepEqual(done, ['ping'])
  for (let i = 0; i < 3; i++) block(100 * INTERVAL_MS)
  assert.deepEqual(done, ['ping', 'ping', 'terminate'])
})

test('a client that reads slowly is not aborted, and one that stops reading is', () => {
  const { done, wire, pass } = connected()
  for (let i = 0; i < 50; i++) {
    pass(2 * INTERVAL_MS - INTERVAL_MS / 10)
    wire.hasRead = true
    pass(INTERVAL_MS / 10)
    wire.hasRead = false
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
  const { done, wire, pass } = connected()
  for (let i = 0; i < 50; i++) {
    if (i % 2 === 0) wire.receivedBytes++
    wire.hasRead = i % 2 === 1
    pass(INTERVAL_MS / 10)
    wire.hasRead = false
    pass(INTERVAL_MS - INTERVAL_MS / 5)
  }
  assert.deepEqual(done, [])
})
