// What code enters in its asynchronous context belongs to its exchange. A connection carries requests of many clients, behind a proxy or with HTTP/2.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { constants as http2 } from 'node:http2'
import { Readable, Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { constants, deflateRawSync } from 'node:zlib'

import { HttpServer, type HttpSession } from '../../src/index.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { type WebSocketOptions, websocket } from '../../src/modules/websocket/index.ts'
import { mountFetch, mountNode } from '../../src/node/index.ts'
import { Http2Client, responseOf } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, within } from '../support/serving.ts'
import { frame, HANDSHAKE, TEXT } from '../support/websocket-client.ts'

const USERS = ['ann', 'bob', 'eve']

/** Enters, at `place`, who the client is. Notes what was there before, unless it is that client already. */
class Entering {
  readonly store = new AsyncLocalStorage<string>()
  readonly found: string[] = []

  enter(place: string, user: string): void {
    const before = this.store.getStore()
    if (before !== undefined && before !== user) this.found.push(`${place}: ${user} is ${before}`)
    this.store.enterWith(user)
  }

  of(place: string, session: HttpSession): void {
    this.enter(place, userOf(session))
  }
}

function userOf({ request }: HttpSession): string {
  return request.header('x-user')!
}

/** Routes whose code enters. Each responds with who the client is at the end. */
function mapRoutes(server: HttpServer, entering: Entering): void {
  const { store } = entering
  const gate = { name: 'enter', gate: (session: HttpSession) => entering.of('gate', session) }
  server.post('/gate', { use: [gate], body: 'buffer' }, () => String(store.getStore()))
  const late = async (session: HttpSession): Promise<void> => {
    await turn()
    entering.of('late gate', session)
  }
  server.post('/late-gate', { use: [{ name: 'late', gate: late }] }, () => 'passed')
  server.post('/handler', { body: 'buffer' }, (_, session) => {
    entering.of('handler', session)
    return String(store.getStore())
  })
  server.post('/async', { body: 'buffer' }, async (_, session) => {
    entering.of('asynchronous handler', session)
    await turn()
    return String(store.getStore())
  })
  server.post('/stream', { body: 'stream' }, (_, session) => {
    const stream = session.request.bodyStream()
    return new Promise((resolve) =>
      stream
        .on('data', () => entering.of('listener for data', session))
        .on('end', () => resolve(String(store.getStore())))
        .on('error', resolve),
    )
  })
  server.post('/form', { body: 'stream' }, async (_, session) => {
    await session.request.bodyMultipartStream({ onField: () => entering.of('callback of a form', session) })
    return 'read'
  })
  server.post('/error', { body: 'buffer' }, () => {
    throw new RangeError('an error')
  })
  server.post('/hook', { use: [{ name: 'hook', beforeSend: (session) => entering.of('hook', session) }] }, () => 'sent')
  server.post('/rows', { body: 'buffer' }, (_, session) => {
    entering.of('handler of a stream', session)
    return session.response.stream(
      (async function* () {
        yield 'x'.repeat(100_000)
        entering.of('source of a stream', session)
        yield String(store.getStore())
      })(),
    )
  })
  mountNode(server, '/node', (req, res) => {
    const user = String(req.headers['x-user'])
    entering.enter('mounted code', user)
    req.on('data', () => entering.enter('listener of mounted code', user)).on('end', () => res.end(store.getStore()))
  })
  mountFetch(server, '/fetch', async (request) => {
    entering.enter('mounted fetch', request.headers.get('x-user')!)
    await request.text()
    return new Response(store.getStore())
  })
}

const PATHS = ['/gate', '/late-gate', '/handler', '/async', '/stream', '/form', '/error', '/hook', '/rows', '/node', '/fetch']
const FORM = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n'
const TYPE = 'multipart/form-data; boundary=b'
/** Those that respond with who the client is. */
const SAYING = /^\/(?:gate|handler|async|rows|node|fetch)$/

function checkAnswer(path: string, user: string, text: string): void {
  if (SAYING.test(path)) assert.equal(text.slice(-user.length), user, path)
}

function onErrorOf(entering: Entering): (error: unknown, session: HttpSession) => string {
  return (_, session) => {
    entering.of('onError', session)
    return 'an error'
  }
}

async function serve(t: TestContext, entering: Entering): Promise<HttpServer> {
  const server = new HttpServer({ address: '127.0.0.1', port: 0, hosts: 'any', logger: null, onError: onErrorOf(entering) })
  mapRoutes(server, entering)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

function post(path: string, user: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-User: ${user}\r\nContent-Type: ${TYPE}\r\nContent-Length: ${FORM.length}\r\n\r\n${FORM}`
}

for (const path of PATHS) {
  test(`${path}: of the requests on one connection, none finds what another has entered`, async (t) => {
    const entering = new Entering()
    const { port } = await serve(t, entering)
    const together = await RawClient.connect(port)
    together.send(USERS.map((user) => post(path, user)).join(''))
    for (const [i, { text }] of (await together.messages(USERS.length)).entries()) checkAnswer(path, USERS[i]!, text)
    together.destroy()
    const later = await RawClient.connect(port)
    for (const user of USERS) {
      const request = post(path, user)
      later.send(request.slice(0, -10))
      await turn()
      checkAnswer(path, user, (await later.send(request.slice(-10)).message()).text)
    }
    later.destroy()
    assert.deepEqual(entering.found, [])
  })

  test(`${path}: nor over HTTP/2`, async (t) => {
    const entering = new Entering()
    const { server } = await serveHttp2(t, (one) => mapRoutes(one, entering), { onError: onErrorOf(entering) })
    const client = await Http2Client.connect(t, server.port)
    const ask = async (user: string): Promise<void> => {
      const stream = client.open({ ':method': 'POST', ':path': path, 'x-user': user, 'content-type': TYPE })
      stream.write(FORM.slice(0, -10))
      await turn()
      stream.end(FORM.slice(-10))
      checkAnswer(path, user, (await responseOf(stream)).text)
    }
    await Promise.all(USERS.map(ask))
    for (const user of USERS) await ask(user)
    assert.deepEqual(entering.found, [])
  })
}

test('nor does a request find what observers or code on the way of the connection have entered', async (t) => {
  const store = new AsyncLocalStorage<string>()
  const server = new HttpServer({ address: '127.0.0.1', port: 0, hosts: 'any', logger: null })
  server.observe({ begin: () => store.enterWith('an observer'), end: () => store.enterWith('an observer') })
  server.get('/', () => String(store.getStore()))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const client = await RawClient.connect(server.port)
  for (let i = 0; i < 3; i++) assert.equal((await client.get('/').message()).text, 'undefined')
  client.destroy()
})

test('observers of a request, and what is logged of it, do not find what the callers of other requests have entered', async () => {
  const store = new AsyncLocalStorage<string>()
  const found: (string | undefined)[] = []
  const lines = new Writable({
    write(_, _encoding, done) {
      found.push(store.getStore())
      done()
    },
  })
  const server = new HttpServer({ logger: null })
  server.observe({ end: () => void found.push(store.getStore()) })
  const user = (): string => {
    found.push(store.getStore())
    return 'a user'
  }
  server.use(accessLog({ to: lines, user }))
  server.get('/', () => turn('x'))
  const ask = (name: string) => store.run(name, () => server.fetch(new Request('http://localhost/')))
  await Promise.all((await Promise.all(USERS.map(ask))).map((response) => response.text()))
  for (let i = 0; i < 3; i++) await turn()
  assert.ok(found.length > 2 * USERS.length)
  assert.deepEqual([...new Set(found)], [undefined])
})

for (const end of ['requestTimeout', 'its caller'] as const)
  test(`what listens to the signal of a request runs in its context, whoever ends it: ${end}`, async (t) => {
    const alive = setInterval(() => {}, 1000) // timeouts do not keep the process alive
    t.after(() => clearInterval(alive))
    const store = new AsyncLocalStorage<string>()
    const found: string[] = []
    const server = new HttpServer({ logger: null, timeouts: end === 'requestTimeout' ? { requestTimeout: 20 } : {} })
    const work = (session: HttpSession): Promise<string> =>
      new Promise((resolve) =>
        session.signal.addEventListener('abort', () => {
          found.push(`${userOf(session)} is ${store.getStore()}`)
          resolve('ended')
        }),
      )
    server.get('/', (_, session) => work(session))
    const callers = USERS.map((user) => {
      const controller = new AbortController()
      const request = new Request('http://localhost/', { headers: { 'X-User': user }, signal: controller.signal })
      return { controller, response: store.run(user, () => server.fetch(request)) }
    })
    await turn()
    if (end === 'its caller') for (const { controller } of callers) store.run('another', () => controller.abort())
    await Promise.allSettled(callers.map(({ response }) => response))
    assert.deepEqual(
      found,
      USERS.map((user) => `${user} is ${user}`),
    )
  })

test('a stream is read and closed in the context of the code that has returned it, whoever ends it', async (t) => {
  const store = new AsyncLocalStorage<string>()
  const found = new Set<string>()
  const see = (what: string, user: string): void => void found.add(`${what} of ${user}: ${store.getStore()}`)
  const { server } = await serveHttp2(t, (server) => {
    server.gate((session) => store.enterWith(userOf(session)))
    server.get('/node', (_, session) => {
      const user = userOf(session)
      const destroy = (error: Error | null, done: (error: Error | null) => void): void => {
        see('destroy', user)
        done(error)
      }
      return session.response.stream(new Readable({ read: () => see('read', user), destroy }), 'text/plain')
    })
    server.get('/web', (_, session) => {
      const user = userOf(session)
      return new Response(new ReadableStream({ pull: () => see('pull', user), cancel: () => see('cancel', user) }, { highWaterMark: 0 }))
    })
  })
  const client = await Http2Client.connect(t, server.port)
  for (const user of ['ann', 'bob'])
    for (const path of ['/node', '/web']) {
      const stream = client.open({ ':path': path, 'x-user': user })
      await eventually(() => found.size % 2 === 1, `${path} is read`)
      stream.close(http2.NGHTTP2_CANCEL)
      await eventually(() => found.size % 2 === 0, `${path} is closed`)
    }
  const ends = (user: string): string[] => ['read', 'destroy', 'pull', 'cancel'].map((what) => `${what} of ${user}: ${user}`)
  assert.deepEqual([...found], [...ends('ann'), ...ends('bob')])
})

test('without a socket, a request continues the context of its caller, and leaves it as it is', async () => {
  const store = new AsyncLocalStorage<string>()
  const server = new HttpServer({ logger: null })
  server.get('/', () => {
    const found = String(store.getStore())
    store.enterWith('the handler')
    return found
  })
  await store.run('the caller', async () => {
    for (let i = 0; i < 2; i++) {
      assert.equal(await (await server.fetch(new Request('http://localhost/'))).text(), 'the caller')
      assert.equal(store.getStore(), 'the caller')
      assert.equal((await server.inject('/')).text(), 'the caller')
      assert.equal(store.getStore(), 'the caller')
    }
  })
})

/** A WebSocket whose handlers enter who the client is, which middleware has said first. */
function mapSocket(server: HttpServer, entering: Entering, said: string[], options: Partial<WebSocketOptions<unknown>> = {}): void {
  server.use((session, next) => entering.store.run(userOf(session), next))
  server.use(
    websocket('/socket', {
      ...options,
      open: ({ session }) => entering.of('open', session),
      message(socket) {
        entering.of('message', socket.session)
        socket.send(String(entering.store.getStore()))
      },
      close: ({ session }) => void said.push(`${userOf(session)} ${entering.store.getStore()}`),
    }),
  )
}

test('the handlers of a WebSocket run in the context of the code that has accepted it', async (t) => {
  const entering = new Entering()
  const said: string[] = []
  const server = new HttpServer({ address: '127.0.0.1', port: 0, hosts: 'any', logger: null })
  mapSocket(server, entering, said)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  for (const user of USERS) {
    const client = await RawClient.connect(server.port)
    client.send(`GET /socket HTTP/1.1\r\nHost: localhost\r\nX-User: ${user}\r\n${HANDSHAKE}\r\n`)
    assert.equal((await client.message(true)).status, 101)
    client.send(frame(TEXT, 'who'))
    assert.equal(String((await client.atLeast(2 + user.length)).subarray(2)), user)
    client.destroy()
  }
  assert.deepEqual(entering.found, [])
})

test('also where several are on one connection', async (t) => {
  const entering = new Entering()
  const said: string[] = []
  const { server } = await serveHttp2(t, (one) => mapSocket(one, entering, said))
  const client = await Http2Client.connect(t, server.port)
  const sockets = USERS.map((user) => {
    const head = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/socket', 'sec-websocket-version': '13', 'x-user': user }
    return { user, stream: client.session.request(head, { endStream: false }).on('error', () => {}) }
  })
  for (let i = 0; i < 2; i++)
    await Promise.all(
      sockets.map(async ({ user, stream }) => {
        const coming = new Promise<Buffer>((resolve) => stream.once('data', resolve))
        stream.write(frame(TEXT, 'who'))
        assert.equal(String((await within(coming, 'a message')).subarray(2)), user)
      }),
    )
  client.session.destroy()
  assert.deepEqual(entering.found, [])
})

test('also where their messages wait for a turn of the event loop', async (t) => {
  const entering = new Entering()
  const server = new HttpServer({ address: '127.0.0.1', port: 0, hosts: 'any', logger: null })
  mapSocket(server, entering, [], { perMessageDeflate: true, maxMessageSize: '1MiB' })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const message = frame(TEXT, deflateRawSync('x'.repeat(600_000), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4), {
    compressed: true,
  })
  const clients = await Promise.all(
    USERS.map(async (user) => {
      const client = await RawClient.connect(server.port)
      const fields = `X-User: ${user}\r\nSec-WebSocket-Extensions: permessage-deflate\r\n`
      client.send(`GET /socket HTTP/1.1\r\nHost: localhost\r\n${fields}${HANDSHAKE}\r\n`)
      assert.equal((await client.message(true)).status, 101)
      return { client, user }
    }),
  )
  const each = 8
  for (const { client } of clients) client.send(Buffer.concat(Array.from({ length: each }, () => message)))
  for (const { client, user } of clients) {
    const said = await client.atLeast(each * (2 + user.length))
    assert.equal(said.toString('latin1').replaceAll(/[^a-z]/g, ''), user.repeat(each))
    client.destroy()
  }
  assert.deepEqual(entering.found, [])
})
