// Handlers, gates and hooks that go on working after the server has answered in their place: nothing that they do reaches the client, however
// long `onError` takes. By HTTP/1.1, HTTP/2, `inject` and `fetch`.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { offEnd, onEnd } from '../../src/http/exchange.ts'
import { HttpResponse, HttpServer, type HttpSession, principalKey, type ServerOptions, t } from '../../src/index.ts'
import { derivedHost } from '../../src/net/connections/derived-host.ts'
import { fetch } from '../../src/net/fetch/fetch-exchange.ts'
import { inject } from '../../src/net/inject/inject.ts'
import { Ticker } from '../../src/net/time/ticker.ts'
import { hostOf } from '../../src/server.ts'
import { connect, TestClock } from '../../src/testing/index.ts'
import { settled } from '../../src/testing/test-clock.ts'
import { Http2Client } from '../support/http2-client.ts'
import { Http2OnClock } from '../support/http2-on-clock.ts'
import { type Gate, gate } from '../support/serving.ts'

const SECRET = 'argon2id'
const leaky = { id: 1, passwordHash: SECRET }
const answers = { 200: t.object({ id: t.int }) }
const OPTIONS: ServerOptions = { logger: null, timeouts: { requestTimeout: 1_000 } }

/** Sends GET / and lets the time of the request pass. Returns status, fields and body as one text, once there is a response. */
type Send = (t: TestContext, options: ServerOptions, map: (server: HttpServer) => void) => Promise<() => Promise<string>>

function serverWith(options: ServerOptions, map: (server: HttpServer) => void): HttpServer {
  const server = new HttpServer(options)
  map(server)
  return server
}

const clocked = (server: HttpServer, clock: TestClock): ReturnType<typeof hostOf> =>
  derivedHost(hostOf(server), { ticker: new Ticker(clock, hostOf(server).timeouts) })

const ways: Record<string, Send> = {
  'HTTP/1.1': async (_, options, map) => {
    const clock = new TestClock()
    const response = connect(serverWith(options, map), { clock }).get('/')
    await clock.advance(2_500)
    return async () => {
      const { status, headers, text } = await response
      return `${status} ${JSON.stringify([...headers.entries()])} ${text()}`
    }
  },
  'HTTP/2': async (t, options, map) => {
    const arrived = gate()
    const server = await Http2OnClock.start(
      t,
      (it) => {
        it.observe({ begin: () => arrived.open(), end() {} })
        map(it)
      },
      options,
    )
    const response = (await Http2Client.connect(t, server.port)).get('/')
    await arrived.promise
    await server.elapse(2_500)
    return async () => {
      const { status, headers, text } = await response
      return `${status} ${JSON.stringify(headers)} ${text}`
    }
  },
  inject: async (_, options, map) => {
    const clock = new TestClock()
    const response = inject(clocked(serverWith(options, map), clock), '/')
    await settled()
    await clock.advance(2_500)
    return async () => {
      const { status, headers, text } = await response
      return `${status} ${JSON.stringify([...headers.entries()])} ${text()}`
    }
  },
  fetch: async (_, options, map) => {
    const clock = new TestClock()
    const reply = fetch(clocked(serverWith(options, map), clock), new Request('http://localhost/'), undefined)
    await clock.advance(2_500)
    return async () => {
      const response = await reply
      return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`
    }
  },
}

/** What a handler does when it is too late. */
const deeds: Record<string, (session: HttpSession, response: HttpResponse) => unknown> = {
  'sets the body of a response that it holds': (_, response) => void response.json(leaky),
  'sets the body of session.response': (session) => void session.response.text(SECRET),
  'sets a field of session.response': (session) => void session.response.header('X-Late', SECRET),
  'sets a cookie of a response that it holds': (_, response) => void response.cookie('late', SECRET),
  'sets a status': (session) => void session.response.status(299),
  'returns session.response': ({ response }) => response.json(leaky),
  'returns a value': () => leaky,
  'returns a response of its own': () => new HttpResponse().status(299).header('X-Late', SECRET).json(leaky),
  'returns a stream': async function* () {
    yield SECRET
  },
  throws: () => {
    throw new Error(SECRET)
  },
}

for (const [way, send] of Object.entries(ways)) {
  describe(`${way}: after its time, while onError works, a handler`, () => {
    for (const [what, deed] of Object.entries(deeds)) {
      test(what, async (context) => {
        const working = gate()
        const deciding = gate()
        const receive = await send(
          context,
          { ...OPTIONS, debug: what === 'throws', onError: () => deciding.promise as Promise<undefined> },
          (server) => {
            server.map(null, '/', { answers }, (async (_: object, session: HttpSession) => {
              const { response } = session
              await working.promise
              return deed(session, response)
            }) as never)
          },
        )
        working.open()
        await settled()
        deciding.open()
        const received = await receive()
        assert.match(received, /^503 /)
        assert.doesNotMatch(received, /argon|x-late|299/i)
        assert.match(received, /WEIR_REQUEST_TIMEOUT/)
      })
    }
  })
}

describe('the response in place of a late handler', () => {
  /** Sends GET / to a handler whose time is up, while `onError` works. */
  async function late(
    onError: (error: unknown, session: HttpSession) => unknown,
    map: (server: HttpServer, working: Gate) => void,
  ): Promise<string> {
    const working = gate()
    const deciding = gate()
    const receive = await ways['HTTP/1.1']!(
      {} as TestContext,
      {
        ...OPTIONS,
        onError: async (error, session) => {
          await deciding.promise
          return onError(error, session)
        },
      },
      (server) => map(server, working),
    )
    working.open()
    await settled()
    deciding.open()
    return receive()
  }

  test('onError sets it after a while', async () => {
    const received = await late(
      (_, { response }) => void response.status(504).header('X-Own', '1').text('too slow'),
      (server, working) => server.mapGet('/', () => working.promise),
    )
    assert.match(received, /^504 .*"x-own","1".* too slow$/)
  })

  test('fields set in time are kept, and those of a body are not', async () => {
    const received = await late(
      () => undefined,
      (server, working) => {
        server.mapGet('/', (_, { response }) => {
          response.header('X-Early', '1').header('ETag', '"e"').header('Connection', 'close').text(SECRET)
          return working.promise
        })
      },
    )
    assert.match(received, /"x-early","1"/)
    assert.match(received, /"connection","close"/)
    assert.doesNotMatch(received, /etag|argon/)
  })

  test('principal, bag and request are those of the request, the session is another', async () => {
    const principalOf = principalKey<string>()
    const seen: unknown[] = []
    let first: HttpSession | null = null
    const received = await late(
      (_, session) => {
        seen.push(session === first, session.request === first?.request, session.bag === first?.bag, session.requestId === first?.requestId)
        return principalOf(session)
      },
      (server, working) => {
        server.gate((session) => principalOf.set(session, 'ada'))
        server.mapGet('/', (_, session) => {
          first = session
          session.bag.has({ name: 'x' })
          return working.promise
        })
      },
    )
    assert.deepEqual(seen, [false, true, true, true])
    assert.match(received, / ada$/)
  })

  test('what waits for the end of the exchange is told once, with observers and without', async () => {
    for (const isObserved of [false, true]) {
      const ends: string[] = []
      await late(
        (_, session) => onEnd(session, () => ends.push('onError')),
        (server, working) => {
          if (isObserved) server.observe({ end() {} })
          const removed = (): void => void ends.push('removed')
          server.gate((session) => {
            onEnd(session, () => ends.push('gate'))
            onEnd(session, removed)
          })
          server.beforeSend((session) => offEnd(session, removed))
          server.mapGet('/', async (_, session) => {
            await working.promise
            onEnd(session, () => ends.push('handler'))
          })
        },
      )
      await settled()
      await settled()
      assert.deepEqual(ends, ['gate', 'handler', 'onError'], isObserved ? 'with an observer' : 'without observers')
    }
  })

  test('Server-Timing has what ended in time', async () => {
    const received = await late(
      () => undefined,
      (server, working) => {
        server.mapGet('/', async (_, session) => {
          session.time('early', () => {})
          await session.time('late', () => working.promise)
          session.time('later', () => {})
        })
      },
    )
    assert.match(received, /"server-timing","early;dur=[\d.]+"/)
  })

  test('a gate that is too late changes nothing', async () => {
    const received = await late(
      () => undefined,
      (server, working) => {
        server.gate(async ({ response }) => {
          await working.promise
          return response.header('X-Late', SECRET).text(SECRET)
        })
        server.mapGet('/', () => 'never')
      },
    )
    assert.match(received, /^503 /)
    assert.doesNotMatch(received, /argon|x-late/)
  })

  test('neither does a beforeSend hook of the response that was to be sent', async () => {
    let calls = 0
    const received = await late(
      () => undefined,
      (server, working) => {
        server.beforeSend(async (_, response) => {
          if (++calls > 1) return
          await working.promise
          response.header('X-Late', SECRET)
        })
        server.mapGet('/', () => SECRET)
      },
    )
    assert.match(received, /^503 /)
    assert.doesNotMatch(received, /argon|x-late/)
  })

  test('an onError that is too late itself changes nothing', async () => {
    const deciding = gate()
    const holding = gate()
    let calls = 0
    const receive = await ways['HTTP/1.1']!(
      {} as TestContext,
      {
        ...OPTIONS,
        onError: async (_, { response }) => {
          await deciding.promise
          return response.header('X-Late', SECRET).text(SECRET)
        },
      },
      (server) => {
        server.beforeSend(() => (++calls === 1 ? holding.promise : undefined))
        server.mapGet('/', () => {
          throw new Error('failed')
        })
      },
    )
    deciding.open()
    await settled()
    holding.open()
    const received = await receive()
    assert.match(received, /^503 /)
    assert.doesNotMatch(received, /argon|x-late/)
  })

  test('a stream whose source fails before its first byte is answered with a response that the handler cannot reach', async () => {
    const deciding = gate()
    const server = new HttpServer({ logger: null, onError: () => deciding.promise as Promise<undefined> })
    let held: HttpSession | null = null
    server.mapGet('/', (_, session) => {
      held = session
      return session.response.stream(failing())
    })
    const response = server.inject('/')
    await settled()
    await settled()
    assert.throws(() => held!.response.json(leaky), { code: 'WEIR_RESPONSE_SENT' })
    deciding.open()
    assert.deepEqual([(await response).status, (await response).text().includes(SECRET)], [500, false])
  })
})

// biome-ignore lint/correctness/useYield: it fails before
async function* failing(): AsyncGenerator<string> {
  throw new Error('no source')
}
