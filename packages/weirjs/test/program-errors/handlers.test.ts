// Handlers, hooks, schemas and iterables that misbehave: none ends the process, hangs the server or loses data.

import assert from 'node:assert/strict'
import { createReadStream, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SavedFile } from '../../src/index.ts'
import { HttpServer, saveTo } from '../../src/index.ts'
import type { StandardSchema } from '../../src/modules/schema/index.ts'
import { eventually, gate, inBothReadModes, within } from '../support/serving.ts'

const quiet = { logger: null }

/** An iterable that `for await` accepts, but whose `return` does not return a promise. */
function plainReturn(values: readonly string[], onReturn: () => void): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]() {
      let i = 0
      return {
        next: async () => (i < values.length ? { done: false, value: values[i++]! } : { done: true, value: undefined }),
        return(): never {
          onReturn()
          return { done: true, value: undefined } as never
        },
      }
    },
  }
}

inBothReadModes('a handler that misbehaves', (serve) => {
  test('a Readable that fails does not end the process, for HEAD or when its response is replaced', async (t) => {
    const missing = join(tmpdir(), 'weir-is-not-here')
    const { connect } = await serve(t, (server) => {
      server.use(async ({ request }, next) => {
        await next()
        return request.path === '/replaced' ? 'instead' : undefined
      })
      server.mapGet('/doc', () => createReadStream(missing))
      server.mapGet('/replaced', () => createReadStream(missing))
      server.mapGet('/later', async (_, { response }) => {
        response.stream(createReadStream(missing))
        await new Promise((resolve) => setTimeout(resolve, 20))
      })
    })
    const client = await connect()
    client.send('HEAD /doc HTTP/1.1\r\nHost: h\r\n\r\n')
    assert.equal((await client.message(true)).status, 200)
    assert.equal((await client.get('/replaced').message()).text, 'instead')
    assert.equal((await client.get('/later').message()).status, 500)
    assert.equal((await client.get('/doc').message()).status, 500)
  })

  test('a Readable that fails after its client has disconnected does not end the process', async (t) => {
    const [left, returned] = [gate(), gate()]
    const { connect } = await serve(t, (server) =>
      server.mapGet('/', async (_, { signal }) => {
        signal.addEventListener('abort', () => left.open())
        await left.promise
        returned.open()
        return createReadStream(join(tmpdir(), 'weir-is-not-here'))
      }),
    )
    const client = (await connect()).get('/')
    setTimeout(() => client.reset(), 20)
    await within(returned.promise, 'the handler')
    await new Promise((resolve) => setTimeout(resolve, 20))
  })

  test('a bufferBody that is not awaited does not end the process', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', { body: 'stream' }, (_, { request }) => {
        void request.bufferBody()
        return 'x'
      }),
    )
    const client = await connect()
    client.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc')
    assert.equal((await client.message()).text, 'x')
    client.reset()
    await new Promise((resolve) => setTimeout(resolve, 20))
  })

  test('an iterator whose return does not return a promise is streamed completely, and closed when the client disconnects', async (t) => {
    let returns = 0
    const { connect } = await serve(t, (server) => {
      server.mapGet('/whole', () => plainReturn(['a', 'b'], () => returns++))
      server.mapGet('/endless', () => plainReturn(new Array(1_000_000).fill('x'.repeat(1000)), () => returns++))
    })
    const client = await connect()
    assert.equal((await client.get('/whole').message()).text, 'ab')
    const before = returns
    await client.get('/endless').atLeast(10_000)
    client.reset()
    await eventually(() => returns > before, 'the return')
  })
})

test('an onError whose response fails is called once', async () => {
  let asked = 0
  const server = new HttpServer({
    ...quiet,
    // biome-ignore lint/correctness/useYield: it fails before it has anything to give
    onError: async function* () {
      asked++
      throw new Error('again')
    },
  })
  server.mapGet('/', () => {
    throw new Error('first')
  })
  const response = await server.inject('/')
  assert.deepEqual([response.status, asked], [500, 1])
})

test('a thenable that returns nothing, and errors without a message, get a response', async () => {
  class Thenable {
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    then(resolve: (value: string) => void): void {
      resolve('x')
    }
  }
  const server = new HttpServer({ debug: true, logger: { error: () => assert.fail('a logger that fails') } })
  server.mapGet('/thenable', () => new Thenable())
  server.mapGet('/bare', () => {
    throw Object.create(null)
  })
  assert.equal((await server.inject('/thenable')).text(), 'x')
  const bare = await server.inject('/bare')
  assert.deepEqual([bare.status, (bare.json() as { detail: string }).detail], [500, 'an object'])
})

test('a schema that rejects after one that throws does not end the process', async () => {
  const make = (validate: StandardSchema['~standard']['validate']): StandardSchema => ({
    '~standard': { version: 1, vendor: 'x', validate },
  })
  const server = new HttpServer(quiet)
  const throws = (): never => {
    throw new Error('sync')
  }
  server.mapGet('/', { a: make(() => Promise.reject(new Error('async'))), b: make(throws) }, () => '')
  assert.equal((await server.inject('/?a=1&b=2')).status, 500)
  await new Promise((resolve) => setImmediate(resolve))
})

test('files that onFile saves without awaiting are saved completely; a stream that was read is refused', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const server = new HttpServer(quiet)
  server.mapPost('/', async (_, { request }) => {
    const jobs: Promise<SavedFile>[] = []
    await request.bodyMultipartStream({ onFile: (info, content) => void jobs.push(saveTo(folder, info, content)) })
    return (await Promise.all(jobs)).map(({ size }) => size)
  })
  server.mapPost('/read', async (_, { request }) => {
    let outcome: unknown
    await request.bodyMultipartStream({
      onFile: async (info, content) => {
        content.resume()
        outcome = await saveTo(folder, info, content).catch((error: Error) => error.name)
      },
    })
    return { outcome }
  })
  for (const size of [0, 11, 100_000, 3_000_000]) {
    const form = new FormData()
    for (const name of ['a', 'b']) form.set(name, new File([Buffer.alloc(size, name)], `${name}.txt`))
    assert.deepEqual((await server.inject({ method: 'POST', url: '/', body: form })).json(), [size, size])
    assert.deepEqual((await server.inject({ method: 'POST', url: '/read', body: form })).json(), { outcome: 'BodyAlreadyReadError' })
  }
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size)
  assert.deepEqual(
    sizes.sort((a, b) => a - b),
    [0, 0, 11, 11, 100_000, 100_000, 3_000_000, 3_000_000],
  )
})
