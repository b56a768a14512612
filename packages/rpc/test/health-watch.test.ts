// Streams that watch the health of a service: clients decide how many there are.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import type { HttpServer } from 'weirjs'
import { growthOf } from '../../weirjs/test/support/memory-growth.ts'
import { Turns } from '../../weirjs/test/support/turns.ts'
import { health, type RpcCall } from '../src/index.ts'
import { HealthCheckResponse_ServingStatus as Status } from '../src/proto/grpc/health/v1/health_pb.ts'

const session = { clientAddress: '127.0.0.1' }

/** The timer of streams that wait keeps no process alive. */
function stayAlive(t: TestContext): void {
  const timer = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(timer))
}

test('they share one question, and one listener for the stop', async (t) => {
  stayAlive(t)
  const streams = 200
  const stop = new AbortController()
  const { signal } = stop
  let listeners = 0
  const add = signal.addEventListener.bind(signal)
  signal.addEventListener = (...given: Parameters<typeof add>) => {
    listeners++
    add(...given)
  }
  let asked = 0
  let isServing = true
  const { watch } = health({ isReady: true, stopping: signal } as HttpServer, {
    interval: 5,
    isServing() {
      asked++
      return isServing
    },
  })
  const all = Array.from({ length: streams }, () =>
    watch!({ service: '' } as never, { signal: new AbortController().signal, session } as unknown as RpcCall)[Symbol.asyncIterator](),
  )
  for (const one of all) assert.equal((await one.next()).value?.status, Status.SERVING)
  const changes = all.map((one) => one.next())
  const before = asked
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.ok(asked > before && asked - before < streams, `asked ${asked - before} times for ${streams} streams`)
  isServing = false
  for (const { value } of await Promise.all(changes)) assert.equal(value?.status, Status.NOT_SERVING)
  const ends = all.map((one) => one.next())
  stop.abort()
  for (const { done } of await Promise.all(ends)) assert.equal(done, true)
  assert.ok(listeners <= 1, `${listeners} listeners`)
})

test('few of them are told of a change in one turn of the event loop', async (t) => {
  const streams = 1_000
  const turns = new Turns(t)
  const stop = new AbortController()
  const { watch } = health({ isReady: true, stopping: stop.signal } as HttpServer)
  const all = Array.from({ length: streams }, () =>
    watch!({ service: '' } as never, { signal: new AbortController().signal, session } as unknown as RpcCall)[Symbol.asyncIterator](),
  )
  for (const one of all) await one.next()
  const changes = all.map(async (one) => {
    await one.next()
    turns.count()
  })
  stop.abort()
  await Promise.all(changes)
  assert.ok(turns.most <= 2 * 128, `${turns.most} in one turn`) // the check phase may have two parts
})

test('each ends with its call, also if that has ended before, and with what isServing throws', async (t) => {
  stayAlive(t)
  const ended = new AbortController()
  let fails = false
  const { watch } = health({ isReady: true, stopping: new AbortController().signal } as HttpServer, {
    interval: 5,
    isServing() {
      if (fails) throw new Error('broken')
      return true
    },
  })
  const follow = ({ signal }: AbortController) =>
    watch!({ service: '' } as never, { signal, session } as unknown as RpcCall)[Symbol.asyncIterator]()
  const [early, late, broken] = [follow(ended), follow(ended), follow(new AbortController())]
  for (const one of [early, late, broken]) await one.next()
  const waiting = early.next()
  ended.abort()
  assert.equal((await waiting).done, true)
  assert.equal((await late.next()).done, true)
  const failing = broken.next()
  fails = true
  await assert.rejects(failing as Promise<unknown>, { message: 'broken' })
})

test('none keeps the name of a service that there is not', async (t) => {
  stayAlive(t)
  const { watch } = health({ isReady: true, stopping: new AbortController().signal } as HttpServer)
  const changes: Promise<unknown>[] = []
  const grown = await growthOf(async () => {
    for (let i = 0; i < 64; i++) {
      const service = Buffer.alloc(500_000, 'x').toString('latin1')
      const stream = watch!({ service } as never, { signal: new AbortController().signal, session } as unknown as RpcCall)[
        Symbol.asyncIterator
      ]()
      assert.equal((await stream.next()).value?.status, Status.SERVICE_UNKNOWN)
      changes.push(stream.next())
    }
  })
  assert.ok(grown < 16_000_000, `${grown} bytes for ${changes.length} streams`)
})
