// What a handler does to its objects affects only itself: its request is answered, and so is the next one. This need not be malice: a mock,
// or a library that patches the objects that it receives, does the same.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import { Controller, HttpError, HttpServer, type HttpSession, type Middleware, routes, t as schema } from '../../src/index.ts'
import { attempt, fails, namesOf, overHttp1, quiet, survives, type Tamper, tampers } from '../support/hostile.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate } from '../support/serving.ts'

/** The objects that a handler can reach. */
const targets: Readonly<Record<string, (session: HttpSession, args: object | null) => unknown>> = {
  session: (session) => session,
  request: ({ request }) => request,
  response: ({ response }) => response,
  'response.content': ({ response }) => response.content,
  arguments: (_, args) => args,
  'the prototype of the arguments': (_, args) => args && Object.getPrototypeOf(args),
  routeValues: ({ request }) => request.routeValues,
  query: ({ request }) => request.query,
  headers: ({ request }) => request.headers,
  metadata: (session) => session.metadata,
  bag: (session) => session.bag,
  signal: (session) => session.signal,
}

const DECLARATION = { id: schema.int, page: schema.int.default(1), metadata: { role: 'admin' } }

function tamperAll(tamper: Tamper, session: HttpSession, args: object | null = null): void {
  // All are collected before the first is changed: otherwise the handler could no longer reach them.
  const found = Object.values(targets).map((find) => find(session, args))
  for (const target of found) if (typeof target === 'object' && target !== null) tamper(target)
}

for (const [what, tamper] of Object.entries(tampers)) {
  test(`a handler that ${what} is answered for, and so is the next request`, async (t) => {
    const map = (server: HttpServer): void => {
      for (const [name, find] of Object.entries(targets)) {
        server.mapGet(`/one/${encodeURIComponent(name)}/:id`, DECLARATION, (args, session) => {
          const { id, page } = args
          const target = find(session, args)
          if (typeof target === 'object' && target !== null) tamper(target)
          return { id, page }
        })
      }
      server.mapGet('/args/:id', DECLARATION, (args, session) => {
        const { id, page } = args
        tamperAll(tamper, session, args)
        return { id, page }
      })
      server.mapGet('/later/:id', DECLARATION, async (args, session) => {
        const { id, page } = args
        tamperAll(tamper, session, args)
        await null
        return { id, page }
      })
      server.mapGet('/response/:id', DECLARATION, (args, session) => {
        const { response } = session
        response.status(201).text('made')
        tamperAll(tamper, session, args)
        return response
      })
      server.mapGet('/nothing/:id', DECLARATION, (args, session) => {
        session.response.status(201).text('made')
        tamperAll(tamper, session, args)
      })
      server.mapGet('/stream/:id', DECLARATION, (args, session) => {
        tamperAll(tamper, session, args)
        return Readable.from(['a', 'b'])
      })
      server.mapGet('/fails/:id', DECLARATION, (args, session) => {
        tamperAll(tamper, session, args)
        throw new HttpError(418, 'no coffee')
      })
    }
    const found = [200, '{"id":7,"page":1}'] as const
    const expected = Object.fromEntries([
      ...[...Object.keys(targets).map((name) => `one/${encodeURIComponent(name)}`), 'args', 'later'].map(
        (name) => [`/${name}/7`, found] as const,
      ),
      ['/response/7', [201, 'made']],
      ['/nothing/7', [201, 'made']],
      ['/stream/7', [200, 'ab']],
      ['/fails/7', [418, /no coffee/]],
      ['/args/7?page=x', [400, /page/]],
    ] as const)
    await survives(t, map, expected)
  })

  test(`middleware, beforeSend and onError that do the same: ${what}`, async (t) => {
    const before: Middleware = (session, next) => {
      tamperAll(tamper, session)
      return next()
    }
    const behind: Middleware = async (session, next) => {
      const response = await next()
      tamperAll(tamper, session)
      tamper(response)
    }
    const promise: Middleware = (session, next) => {
      const answer = next()
      tamperAll(tamper, session)
      tamper(answer)
    }
    for (const middleware of [before, behind, promise]) {
      const map = (server: HttpServer): void => {
        server.use((session, next) => (session.request.path.startsWith('/untouched') ? next() : middleware(session, next)))
        server.mapGet('/now/:id', DECLARATION, ({ id, page }) => ({ id, page }))
        server.mapGet('/later/:id', DECLARATION, async ({ id, page }) => ({ id, page }))
      }
      const found = [200, '{"id":7,"page":1}'] as const
      await survives(t, map, { '/now/7': found, '/later/7': found, '/nowhere': [404] })
    }
    const map = (server: HttpServer): void => {
      server.beforeSend((session, response) => {
        if (session.request.path.startsWith('/untouched')) return
        tamperAll(tamper, session)
        tamper(response)
      })
      server.mapGet('/now', () => 'now')
    }
    await survives(t, map, { '/now': [200, 'now'], '/nowhere': [404] })
    const onError = (error: unknown, session: HttpSession): unknown => {
      tamperAll(tamper, session)
      if (typeof error === 'object' && error !== null) tamper(error)
      return 'an error'
    }
    await survives(t, () => {}, { '/nowhere': [200, 'an error'] }, { ...quiet, onError })
  })
}

test('what a handler changes on the prototypes of its arguments does not reach the engine', async (t) => {
  const undo: (() => void)[] = []
  t.after(() => {
    for (const one of undo) one()
  })
  const patch = (target: object): void => {
    for (const name of Reflect.ownKeys(target)) {
      if (name === 'constructor') continue
      const descriptor = Object.getOwnPropertyDescriptor(target, name)!
      attempt(() => {
        Object.defineProperty(target, name, { get: fails, configurable: true })
        undo.push(() => Object.defineProperty(target, name, descriptor))
      })
    }
  }
  const server = new HttpServer(quiet)
  server.mapGet('/patch/:id', DECLARATION, (args, session) => {
    const { request, response } = session
    for (const one of [session, request, response, request.query, args]) patch(Object.getPrototypeOf(one))
    return 'patched'
  })
  server.mapGet('/next/:id', DECLARATION, ({ id, page }) => ({ id, page }))
  const ask = await overHttp1(t, server)
  assert.equal((await ask('/patch/7?page=2')).text, 'patched')
  assert.equal((await ask('/next/7?page=2')).text, '{"id":7,"page":2}')
  assert.equal((await ask('/next/7?page=x')).status, 400)
  assert.equal((await ask('/nowhere')).status, 404)
})

test('members of a session, a request, a response and a controller are not writable', async () => {
  const written: string[] = []
  const write = (target: object, names: readonly string[]): void => {
    for (const name of names) {
      try {
        ;(target as Record<string, unknown>)[name] = null
        written.push(name)
      } catch (error) {
        assert.ok(error instanceof TypeError)
      }
    }
  }
  class Shop extends Controller {
    static routes = routes(this, { show: ['GET', '/:id'] })
    show() {
      const { session } = this
      write(this, ['session', 'request', 'response'])
      write(session, ['server', 'request', 'response', 'bag', 'signal', 'metadata', 'route', 'clientAddress', 'isSecure', 'requestId'])
      write(session.request, ['method', 'url', 'path', 'query', 'headers', 'routeValues', 'body', 'signal'])
      write(session.response, ['statusCode', 'content'])
      write(session.server, ['logger', 'port', 'address', 'isListening', 'stopping', 'endpoints', 'routes'])
      return 'whole'
    }
  }
  const server = new HttpServer(quiet).mapController(Shop)
  assert.equal((await server.inject('/7')).text(), 'whole')
  assert.deepEqual(written, [])
})

test('what a handler sets on its server does not prevent run from stopping it', async () => {
  const signal = 'SIGHUP' // not SIGUSR2, on which Node may write a report
  const server = new HttpServer(quiet)
  server.mapGet('/', (_, session) => {
    for (const name of namesOf(session.server)) attempt(() => Object.defineProperty(session.server, name, { value: fails }))
    return 'x'
  })
  const run = server.run({ signals: [signal] })
  await eventually(() => server.isListening, 'the start')
  const { port } = server
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'x')
  process.emit(signal, signal)
  await run
})

// Bodies, signals and sockets that a handler has broken, when their client continues or leaves.

const post = (length: number): string => `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`

for (const [what, handle] of Object.entries<(session: HttpSession) => unknown>({
  'the stream of the body': ({ request }) => {
    const stream = request.bodyStream()
    tampers['defines every member as a getter that throws']!(stream)
  },
  'the signal': (session) => {
    session.signal.addEventListener('abort', () => {})
    tampers['replaces every method by one that throws']!(session.signal)
    return new Promise(() => {}) // it is still working when its client leaves
  },
  'the content of a file of a form': async ({ request }) => {
    await request.bodyMultipartStream({
      onFile: async (_info, content) => {
        await null
        tampers['replaces every method by one that throws']!(content)
      },
    })
  },
})) {
  for (const [how, leave] of [
    ['leaves', (client: RawClient) => client.reset()],
    ['continues', (client: RawClient) => client.send('x'.repeat(5_000))],
  ] as const) {
    test(`a handler that breaks ${what} affects no other request when its client ${how}`, async (t) => {
      const started = gate()
      const server = new HttpServer(quiet)
      server.mapPost('/', { body: 'stream' }, async (_, session) => {
        const settled = handle(session)
        started.open()
        await settled
        return 'answered'
      })
      server.mapGet('/untouched', () => 'x')
      await server.start()
      t.after(() => server.stop({ graceMs: 0 }))
      const client = await RawClient.connect(server.port)
      const head = post(10_000).replace('\r\n\r\n', '\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n')
      client.send(`${head}--b\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n${'x'.repeat(1_000)}`)
      await started.promise
      leave(client)
      for (let i = 0; i < 3; i++) {
        const other = await RawClient.connect(server.port)
        assert.equal((await other.get('/untouched').message()).text, 'x')
        other.destroy()
      }
      client.destroy()
    })
  }
}

test('a takeOver that fails later aborts its own connection, and nothing else', async (t) => {
  const server = new HttpServer(quiet)
  server.mapGet('/', (_, { response }) =>
    response.upgrade('x', async () => {
      await null
      throw new Error('broken')
    }),
  )
  server.mapGet('/untouched', () => 'x')
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const client = await RawClient.connect(server.port)
  client.get('/', 'Connection: Upgrade\r\nUpgrade: x\r\n')
  await client.closed()
  const other = await RawClient.connect(server.port)
  assert.equal((await other.get('/untouched').message()).text, 'x')
  other.destroy()
})
