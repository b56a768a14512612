// weirjs/testing: chaos passes good handlers, finds faults of bad ones, and repeats a run with the same seed.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { HttpServer, type HttpSession } from '../../weirjs/src/index.ts'
import { sse } from '../../weirjs/src/modules/sse/index.ts'
import { ChaosError, type ChaosOptions, chaos } from '../src/index.ts'

function newServer(map: (server: HttpServer) => void): HttpServer {
  const server = new HttpServer({ logger: null, limits: { maxRequestBodySize: 20_000 }, timeouts: { requestTimeout: 30_000 } })
  map(server)
  return server
}

/** Handlers of every kind that do nothing wrong. */
function mapGood(server: HttpServer): void {
  server.mapGet('/text', () => 'text')
  server.mapGet('/later', async () => {
    await sleep(1)
    return { later: true }
  })
  server.mapGet('/fails', () => {
    throw new Error('planned')
  })
  server.mapGet('/pieces', async function* () {
    for (let i = 0; i < 200; i++) yield 'x'.repeat(1_000)
  })
  server.mapGet('/breaks', () => Readable.from(failing()))
  server.mapGet('/waits', async (_, { signal }) => {
    await once(signal, 'abort', { signal: AbortSignal.timeout(2) }).catch(() => {})
    return 'waited'
  })
  server.mapGet('/events', (_, session) =>
    sse(session, async function* (signal): AsyncGenerator<string> {
      for (;;) {
        yield 'event'
        await sleep(1, null, { signal })
      }
    }),
  )
  server.mapPost('/echo', (_, { request }) => request.body)
  server.mapPost('/length', { body: 'stream' }, async (_, { request }) => {
    let length = 0
    for await (const piece of request.bodyStream()) length += (piece as Buffer).length
    return { length }
  })
  server.mapPost('/form', async (_, { request, response }) => {
    const names: string[] = []
    const isForm = await request.bodyMultipartStream({
      onField: (name) => void names.push(name),
      onFile: ({ fieldName }) => void names.push(fieldName),
    })
    return isForm ? names : response.status(400).text('no form')
  })
}

async function* failing(): AsyncGenerator<string> {
  yield 'one'
  await sleep(1)
  throw new Error('planned')
}

function form(): FormData {
  const data = new FormData()
  data.set('name', 'Ada')
  data.set('file', new File(['x'.repeat(5_000)], 'a.txt'))
  return data
}

const GOOD: ChaosOptions['requests'] = [
  '/text',
  '/later',
  '/fails',
  '/pieces',
  '/breaks',
  '/waits',
  '/nowhere',
  { url: '/events', endless: true },
  { method: 'HEAD', url: '/pieces' },
  { method: 'POST', url: '/echo', body: 'x'.repeat(3_000) },
  { method: 'POST', url: '/echo', body: 'x'.repeat(20_001) },
  { method: 'POST', url: '/length', json: { a: 'x'.repeat(10_000) } },
  { method: 'POST', url: '/form', body: form() },
  { method: 'POST', url: '/form', body: 'none' },
]

test('good handlers pass whatever their clients do', async () => {
  const report = await chaos(newServer(mapGood), { requests: GOOD, seed: 1, runs: 150 })
  assert.equal(report.runs, 150)
  assert.ok(report.answers > 150, `${report.answers} answers`)
  assert.ok(report.breaks > 0, `${report.breaks} breaks`)
})

/** A client that has ended its side still waits for its response; one that has left does not. */
const UNSETTLED =
  /GET \/bad got no complete response|after all clients have left, the handler of GET \/bad has not settled, although its signal has fired/

/** For what chaos finds without waiting: a machine that is slower than `patience` must not be what it finds first. */
const AT_ONCE = { patience: 60_000 }

/** What chaos finds on one bad route next to a good one. */
async function findOn(map: (server: HttpServer) => void, options: Partial<ChaosOptions> = {}): Promise<ChaosError> {
  const server = newServer((server) => {
    server.mapGet('/good', () => 'good')
    map(server)
  })
  try {
    await chaos(server, { requests: ['/good', '/bad'], seed: 1, patience: 1_000, ...options })
  } catch (error) {
    assert.ok(error instanceof ChaosError, String((error as Error).stack))
    return error
  }
  return assert.fail('nothing was found')
}

test('chaos finds a handler that keeps waiting after its client has left', async () => {
  const { message } = await findOn((server) => server.mapGet('/bad', () => new Promise(() => {})))
  assert.match(message, UNSETTLED)
})

test('chaos finds a handler that never settles if its client leaves early', async () => {
  const { message } = await findOn((server) =>
    server.mapGet('/bad', (_, { signal }) => new Promise((resolve) => setTimeout(() => signal.aborted || resolve('in time'), 2))),
  )
  assert.match(message, UNSETTLED)
})

test('chaos finds a handler that responds twice', async () => {
  const { message } = await findOn(
    (server) =>
      server.mapGet('/bad', (_, { response }) => {
        setImmediate(() => response.text('twice'))
        return response.text('once')
      }),
    AT_ONCE,
  )
  assert.match(message, /an error was not caught: WeirError: the response was changed after it had been sent/)
})

test('chaos finds handlers that throw late, in every way', async () => {
  const late: readonly ((fail: () => never) => void)[] = [
    (fail) => void setTimeout(fail, 1),
    (fail) => void Promise.resolve().then(fail),
    (fail) => void sleep(20).then(fail),
  ]
  for (const start of late) {
    const error = await findOn(
      (server) =>
        server.mapGet('/bad', () => {
          start(() => {
            throw new Error('too late')
          })
          return 'fine'
        }),
      AT_ONCE,
    )
    assert.match(error.message, /an error was not caught: Error: too late/)
    assert.equal((error.cause as Error).message, 'too late')
  }
})

test('chaos finds streams that never end, even those that should end only with the client', async () => {
  const endless = await findOn((server) =>
    server.mapGet('/bad', async function* () {
      yield 'one'
      await new Promise(() => {})
    }),
  )
  assert.match(endless.message, /GET \/bad got no complete response|the response to GET \/bad is still in progress/)
  const events = await findOn(
    (server) =>
      server.mapGet('/bad', async function* () {
        yield 'one'
        await new Promise(() => {})
      }),
    { requests: ['/good', { url: '/bad', endless: true }] },
  )
  assert.match(events.message, /the response to GET \/bad is still in progress for a client that has left/)
})

test('chaos finds a handler that misses the error of a body that is cut short', async () => {
  const { message } = await findOn(
    (server) =>
      server.mapPost('/bad', { body: 'stream' }, async (_: object, { request }: HttpSession) => {
        await new Promise((resolve) =>
          request
            .bodyStream()
            .on('error', () => {})
            .on('end', resolve)
            .resume(),
        )
        return 'read'
      }),
    { requests: [{ method: 'POST', url: '/bad', body: 'x'.repeat(5_000) }] },
  )
  assert.match(message, /the handler of POST \/bad has not settled|POST \/bad got no complete response/)
})

test('chaos reports a response that fails the check of the test', async () => {
  const { message, cause } = await findOn((server) => server.mapGet('/bad', () => 'bad'), {
    ...AT_ONCE,
    check: (response, { url }) => assert.equal(response.text(), 'good', url),
  })
  assert.match(message, /the response 200 to GET \/bad failed its check/)
  assert.ok(cause instanceof assert.AssertionError)
})

test('the same seed repeats a run, alone and among others', async () => {
  const map = (server: HttpServer): void => {
    server.mapPost('/echo', (_, { request }) => request.body)
    server.mapGet('/bad', async (_, { signal }) => {
      await new Promise((resolve) => setImmediate(resolve))
      if (signal.aborted) await new Promise(() => {})
      return 'x'.repeat(100_000)
    })
  }
  const requests: ChaosOptions['requests'] = ['/bad', { method: 'POST', url: '/echo', body: 'x'.repeat(3_000) }]
  const first = await findOn(map, { requests })
  const again = await findOn(map, { requests, seed: first.seed, runs: 1 })
  assert.deepEqual(again.story, first.story)
  assert.ok(first.story.length > 3)
  assert.match(first.message, new RegExp(`seed: ${first.seed}, runs: 1`))
})

test('chaos restores the listeners of the process, and two calls at the same time run one after the other', async () => {
  const before = process.listeners('unhandledRejection')
  const server = newServer(mapGood)
  await Promise.all([chaos(server, { requests: ['/text'], runs: 3 }), chaos(server, { requests: ['/later'], runs: 3 })])
  await findOn((server) => server.mapGet('/bad', () => void Promise.reject(new Error('bad'))), AT_ONCE)
  assert.deepEqual(process.listeners('unhandledRejection'), before)
})

test('requests that no client could send are refused', async () => {
  const server = newServer(mapGood)
  await assert.rejects(chaos(server, { requests: [] }), { code: 'WEIR_OPTION_INVALID' })
  await assert.rejects(chaos(server, { requests: ['/a b'] }), { code: 'WEIR_OPTION_INVALID' })
})
