// server.fetch: what ends it early. The request is aborted, its body fails, the reader of the response cancels, or one side is too slow.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { derivedHost } from '../../src/net/connections/derived-host.ts'
import { fetch } from '../../src/net/fetch/fetch-exchange.ts'
import { Ticker } from '../../src/net/time/ticker.ts'
import { hostOf } from '../../src/server.ts'
import { settled, TestClock } from '../../src/testing/test-clock.ts'
import { gate, within } from '../support/serving.ts'

const LEFT = new Error('the caller has left')

function serverWith(map: (server: HttpServer) => void, options: ServerOptions = {}): { server: HttpServer; logged: unknown[] } {
  const logged: unknown[] = []
  const server = new HttpServer({ logger: { error: (_message, detail) => logged.push(detail) }, ...options })
  map(server)
  return { server, logged }
}

function post(body: ReadableStream, init: RequestInit = {}): Request {
  return new Request('http://localhost/', { ...init, method: 'POST', body, duplex: 'half' } as RequestInit)
}

/** A body that yields one piece and then waits until it fails. */
function brokenBody(): { body: ReadableStream; fail: (error: Error) => void; cancelled: Promise<unknown> } {
  const cancelled = gate<unknown>()
  let fail!: (error: Error) => void
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from('begun'))
      fail = (error) => controller.error(error)
    },
    cancel: (reason) => cancelled.open(reason ?? 'cancelled'),
  })
  return { body, fail, cancelled: cancelled.promise }
}

describe('server.fetch: aborted by its caller', () => {
  test('before it begins, it rejects and no handler runs', async () => {
    const { server } = serverWith((server) => server.mapGet('/', () => assert.fail('the handler ran')))
    await assert.rejects(server.fetch(new Request('http://localhost/', { signal: AbortSignal.abort(LEFT) })), LEFT)
  })

  test('while the handler works, it rejects immediately, and the signal of the handler fires', async () => {
    const reason = gate<unknown>()
    const controller = new AbortController()
    const { server, logged } = serverWith((server) =>
      server.mapGet('/', async (_, { signal }) => {
        setImmediate(() => controller.abort(LEFT))
        await once(signal, 'abort')
        reason.open(signal.reason)
        return 'this is not awaited'
      }),
    )
    await assert.rejects(server.fetch(new Request('http://localhost/', { signal: controller.signal })), LEFT)
    const error = (await within(reason.promise, 'the signal')) as Error & { code: string }
    assert.deepEqual([error.code, error.cause], ['WEIR_CLIENT_GONE', LEFT])
    assert.deepEqual(logged, [])
  })

  test('while the body is being gathered, no handler runs and the body is cancelled', async () => {
    const controller = new AbortController()
    const { server } = serverWith((server) => server.mapPost('/', () => assert.fail('the handler ran')))
    const { body, cancelled } = brokenBody()
    const response = server.fetch(post(body, { signal: controller.signal }))
    await settled()
    controller.abort(LEFT)
    await assert.rejects(response, LEFT)
    assert.equal(await within(cancelled, 'the end of the body'), LEFT)
  })

  test('while the handler works, the body that it has not read is cancelled', async () => {
    const controller = new AbortController()
    const { server } = serverWith((server) =>
      server.mapPost('/', { body: 'stream' }, async (_, { signal }) => {
        setImmediate(() => controller.abort(LEFT))
        await once(signal, 'abort')
      }),
    )
    const { body, cancelled } = brokenBody()
    await assert.rejects(server.fetch(post(body, { signal: controller.signal })), LEFT)
    assert.equal(await within(cancelled, 'the end of the body'), LEFT)
  })

  test('while the response streams, its body errors and the source is closed', async () => {
    const controller = new AbortController()
    const closed = gate()
    const { server, logged } = serverWith((server) =>
      server.mapGet('/', async function* () {
        try {
          for (;;) yield 'again'
        } finally {
          closed.open()
        }
      }),
    )
    const response = await server.fetch(new Request('http://localhost/', { signal: controller.signal }))
    const reader = response.body!.getReader()
    await reader.read()
    controller.abort(LEFT)
    await assert.rejects(reader.read(), LEFT)
    await within(closed.promise, 'the end of the source')
    assert.deepEqual(logged, [])
  })

  test('after the response, it changes nothing', async () => {
    const controller = new AbortController()
    let signal!: AbortSignal
    const { server } = serverWith((server) =>
      server.mapGet('/', async (_, session) => {
        signal = session.signal
        await settled()
        return 'whole'
      }),
    )
    const response = await server.fetch(new Request('http://localhost/', { signal: controller.signal }))
    controller.abort(LEFT)
    assert.deepEqual([await response.text(), signal.aborted], ['whole', false])
  })
})

describe('server.fetch: ended by a body', () => {
  for (const mode of ['buffer', 'stream'] as const) {
    test(`a request body that fails rejects the call (${mode})`, async () => {
      const seen = gate<unknown>()
      const { server, logged } = serverWith((server) =>
        server.mapPost('/', { body: mode }, async (_, { request }) => {
          if (mode === 'buffer') assert.fail('the handler ran')
          await request.bufferBody().catch(seen.open)
          throw new Error('of no interest')
        }),
      )
      const { body, fail } = brokenBody()
      const response = server.fetch(post(body))
      await settled()
      fail(LEFT)
      await assert.rejects(response, LEFT)
      if (mode === 'stream') assert.equal(((await seen.promise) as { code: string }).code, 'WEIR_CLIENT_GONE')
      if (mode === 'buffer') assert.deepEqual(logged, [])
    })
  }

  test('a piece that is not a Uint8Array rejects the call', async () => {
    const { server } = serverWith((server) => server.mapPost('/', () => assert.fail('the handler ran')))
    const body = new ReadableStream({
      start: (controller) => controller.enqueue('text'),
    })
    await assert.rejects(server.fetch(post(body)), TypeError)
  })

  test('a reader that cancels the response ends its source, and the signal of the handler fires', async () => {
    const closed = gate<unknown>()
    const { server, logged } = serverWith((server) =>
      server.mapGet('/', async function* (_, { signal }) {
        try {
          yield 'one'
          yield 'two'
          await once(signal, 'abort')
        } finally {
          closed.open(signal.aborted)
        }
      }),
    )
    const response = await server.fetch(new Request('http://localhost/'))
    const reader = response.body!.getReader()
    await reader.read()
    await reader.read()
    void reader.read()
    await settled()
    await reader.cancel()
    assert.equal(await within(closed.promise, 'the end of the source'), true)
    assert.deepEqual(logged, [])
  })

  test('a reader that cancels before it has read ends its source too', async () => {
    const closed = gate()
    const { server } = serverWith((server) =>
      server.mapGet('/', async function* () {
        try {
          for (;;) yield 'again'
        } finally {
          closed.open()
        }
      }),
    )
    const response = await server.fetch(new Request('http://localhost/'))
    await response.body!.cancel()
    await within(closed.promise, 'the end of the source')
  })
})

describe('server.fetch: time', () => {
  /** The same server on a clock that does not move by itself. */
  function onClock(server: HttpServer): { clock: TestClock; ask: (request: Request) => Promise<Response> } {
    const clock = new TestClock()
    const host = hostOf(server)
    const timed = derivedHost(host, { ticker: new Ticker(clock, host.timeouts) })
    return { clock, ask: (request) => fetch(timed, request) }
  }

  test('a handler has requestTimeout', async () => {
    const { server } = serverWith((server) => server.mapGet('/', async (_, { signal }) => once(signal, 'abort')), {
      timeouts: { requestTimeout: 10_000 },
    })
    const { clock, ask } = onClock(server)
    const response = ask(new Request('http://localhost/'))
    await clock.advance(9_000)
    await clock.advance(4_000)
    assert.equal((await within(response, 'the response')).status, 503)
    assert.equal(clock.running, 0)
  })

  test('a body that comes too slowly is refused', async () => {
    const { server } = serverWith((server) => server.mapPost('/', () => assert.fail('the handler ran')))
    const { clock, ask } = onClock(server)
    const response = ask(post(brokenBody().body))
    await settled()
    await clock.advance(20_000)
    const refused = await within(response, 'the response')
    assert.equal(((await refused.json()) as { code: string }).code, 'WEIR_BODY_TOO_SLOW')
    assert.equal(clock.running, 0)
  })

  test('a response that is not read for too long ends, and its body errors', async () => {
    const closed = gate()
    const { server } = serverWith(
      (server) =>
        server.mapGet('/', async function* () {
          try {
            for (;;) yield 'again'
          } finally {
            closed.open()
          }
        }),
      { timeouts: { writeTimeout: 10_000 } },
    )
    const { clock, ask } = onClock(server)
    const response = await ask(new Request('http://localhost/'))
    const reader = response.body!.getReader()
    for (let i = 0; i < 10; i++) {
      await clock.advance(8_000)
      await reader.read()
    }
    await clock.advance(12_000)
    await within(closed.promise, 'the end of the source')
    await assert.rejects(
      (async () => {
        while (!(await reader.read()).done);
      })(),
      { code: 'WEIR_WRITE_TIMEOUT' },
    )
    assert.equal(clock.running, 0)
  })

  test('no timer runs for a request that is answered immediately, nor after one that was not', async () => {
    const { server } = serverWith((server) => {
      server.mapGet('/', () => 'now')
      server.mapGet('/later', async () => {
        await settled()
        return 'later'
      })
    })
    const { clock, ask } = onClock(server)
    const now = ask(new Request('http://localhost/'))
    assert.equal(clock.running, 0)
    await now
    const later = ask(new Request('http://localhost/later'))
    assert.equal(clock.running, 1)
    await later
    assert.equal(clock.running, 0)
  })
})
