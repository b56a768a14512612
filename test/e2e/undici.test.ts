// What undici sees, as fetch and as a plain client: pipelining, streams, and aborts.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Client, fetch } from 'undici'

import { startDemo } from '../../packages/weirjs/test/support/demo.ts'
import { gate, within } from '../../packages/weirjs/test/support/serving.ts'

test('fetch reads the routes of the demo', async (t) => {
  const { origin } = await startDemo(t)
  assert.deepEqual(await (await fetch(`${origin}/users/42?active=true`)).json(), { id: 42, active: true })
  const saved = await fetch(`${origin}/api/user/save`, { method: 'POST', body: 'Grüße' })
  assert.equal(saved.headers.get('content-type'), 'text/plain; charset=utf-8')
  assert.equal(await saved.text(), 'Grüße')
  const page = await fetch(`${origin}/`)
  assert.match(await page.text(), /^<!doctype html>/)
})

test('fetch sends a stream as a chunked body, and gets it back', async (t) => {
  const { origin } = await startDemo(t)
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < 1_000; i++) yield Buffer.from(`${i}\n`)
  }
  const response = await fetch(`${origin}/api/user/save`, { method: 'POST', body: body(), duplex: 'half' })
  assert.equal(await response.text(), Array.from({ length: 1_000 }, (_, i) => `${i}\n`).join(''))
})

test('ten pipelined requests are answered in order on one connection', async (t) => {
  const order: number[] = []
  const ids = new Set<string>()
  const { origin } = await startDemo(t, {}, (server) => {
    server.mapGet('/turn/:n', async ({ n }, session) => {
      ids.add(session.connectionId)
      // Earlier requests take longer, so that a response out of order would arrive first.
      for (let i = Number(n); i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
      return n
    })
  })
  const client = new Client(origin, { pipelining: 10 })
  t.after(() => client.destroy())
  await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      const { body } = await client.request({ method: 'GET', path: `/turn/${n}` })
      assert.equal(await body.text(), String(n))
      order.push(n)
    }),
  )
  assert.deepEqual(order, [...Array(100).keys()])
  assert.equal(ids.size, 1)
})

test('a pipelining client can mix bodies and responses of both kinds', async (t) => {
  const { origin } = await startDemo(t, {}, (server) => {
    server.mapGet('/stream/:n', async function* ({ n }) {
      for (let i = 0; i < 5; i++) yield `${n}.${i} `
    })
  })
  const client = new Client(origin, { pipelining: 10 })
  t.after(() => client.destroy())
  const texts = await Promise.all(
    Array.from({ length: 60 }, async (_, n) => {
      const path = [`/users/${n}`, `/stream/${n}`, '/nowhere'][n % 3]!
      const { statusCode, body } = await client.request({ method: 'GET', path })
      const text = await body.text()
      return statusCode === 200 ? text : String(statusCode)
    }),
  )
  for (const [n, text] of texts.entries()) {
    const expected = [`{"id":${n},"active":false}`, [0, 1, 2, 3, 4].map((i) => `${n}.${i} `).join(''), '404'][n % 3]
    assert.equal(text, expected)
  }
})

test('each piece of a stream arrives before the next one is produced', async (t) => {
  const steps = [gate(), gate(), gate()]
  const { origin } = await startDemo(t, {}, (server) => {
    server.mapGet('/stream', async function* () {
      for (const [i, step] of steps.entries()) {
        yield `piece ${i}`
        await step.promise
      }
    })
  })
  const response = await fetch(`${origin}/stream`)
  const reader = response.body!.getReader()
  for (const [i, step] of steps.entries()) {
    const { value } = await within(reader.read(), `piece ${i}`)
    assert.equal(Buffer.from(value!).toString(), `piece ${i}`)
    step.open()
  }
  assert.equal((await within(reader.read(), 'the end')).done, true)
})

test('a client that leaves during a response closes its source and aborts the signal, and the server continues', async (t) => {
  const aborted = gate<unknown>()
  const closed = gate()
  const { origin } = await startDemo(t, {}, (server) => {
    server.mapGet('/endless', (_, session) => {
      session.signal.addEventListener('abort', () => aborted.open(session.signal.reason))
      return (async function* () {
        try {
          for (;;) yield Buffer.alloc(16 * 1024)
        } finally {
          closed.open()
        }
      })()
    })
  })
  const abort = new AbortController()
  const response = await fetch(`${origin}/endless`, { signal: abort.signal })
  const reader = response.body!.getReader()
  await reader.read()
  abort.abort()
  await assert.rejects(reader.read(), { name: 'AbortError' })
  const reason = (await within(aborted.promise, 'the abort signal')) as { code?: string }
  assert.equal(reason.code, 'WEIR_CLIENT_GONE')
  await within(closed.promise, 'the end of the source')
  assert.equal((await fetch(`${origin}/users/1`)).status, 200)
})

test('a client that leaves during its body does not reach the handler, and the server continues', async (t) => {
  let calls = 0
  const arrived = gate()
  const { origin, server } = await startDemo(t, {}, (demo) => {
    demo.use((session, next) => {
      if (session.request.path === '/api/user/save') calls++
      return next()
    })
  })
  const abort = new AbortController()
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(64 * 1024)
    arrived.open()
    await new Promise(() => {}) // until the client aborts
  }
  const sending = fetch(`${origin}/api/user/save`, { method: 'POST', body: body(), duplex: 'half', signal: abort.signal })
  await within(arrived.promise, 'the first piece')
  abort.abort()
  await assert.rejects(sending, { name: 'AbortError' })
  assert.equal((await fetch(`${origin}/users/1`)).status, 200)
  const { aborted } = await server.stop()
  assert.equal(aborted, 0, 'nothing is left of the aborted upload')
  assert.equal(calls, 0)
})
