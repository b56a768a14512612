// Streams of events and WebSockets end with the session under which they were opened. Nothing else does.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http2'
import { describe, type TestContext, test } from 'node:test'

import { Agent, fetch, WebSocket } from 'undici'

import type { HttpServer, InjectResponse } from '../../../src/index.ts'
import { auth } from '../../../src/modules/auth/index.ts'
import { type SessionsOptions, sessions } from '../../../src/modules/sessions/index.ts'
import { LastingResponses } from '../../../src/modules/sessions/lasting-responses.ts'
import { SseChannel, sse } from '../../../src/modules/sse/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { Http2Client } from '../../support/http2-client.ts'
import { serveHttp2 } from '../../support/http2-serving.ts'
import { gate, within } from '../../support/serving.ts'
import { PLACES, SECURE_PEER, setCookies, WatchedStore } from '../../support/user-sessions.ts'
import { CLOSE, frame } from '../../support/websocket-client.ts'

/** A live connection of a client. */
interface Live {
  /** What ended it: `end` of a stream, or the code and reason of a close frame. */
  readonly ended: Promise<string>
  leave(): void
}

/** One client, with a connection of its own. */
interface Client {
  status(method: string, path: string, cookie: string): Promise<number>
  events(cookie: string): Promise<Live>
  socket(cookie: string): Promise<Live>
}

const CLIENTS: Readonly<Record<string, (t: TestContext, server: HttpServer) => Promise<Client>>> = {
  'HTTP/1.1': async (t, { port }) => {
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] } })
    t.after(() => dispatcher.destroy())
    const ask = (method: string, path: string, cookie: string, signal: AbortSignal | null = null) =>
      fetch(`https://localhost:${port}${path}`, { method, headers: { Cookie: cookie }, dispatcher, signal })
    return {
      async status(method, path, cookie) {
        const response = await ask(method, path, cookie)
        await response.arrayBuffer()
        return response.status
      },
      async events(cookie) {
        const cut = new AbortController()
        const response = await ask('GET', '/events', cookie, cut.signal)
        assert.equal(response.status, 200)
        return {
          ended: response.text().then(
            () => 'end',
            (error: Error) => error.name,
          ),
          leave: () => cut.abort(),
        }
      },
      async socket(cookie) {
        const socket = new WebSocket(`wss://localhost:${port}/socket`, { headers: { Cookie: cookie }, dispatcher })
        await within(once(socket, 'open'), 'the upgrade')
        const closed = once(socket, 'close') as Promise<[{ code: number; reason: string }]>
        return { ended: closed.then(([{ code, reason }]) => `${code} ${reason}`), leave: () => socket.close() }
      },
    }
  },
  'HTTP/2': async (t, { port }) => {
    const client = await Http2Client.connect(t, port)
    return {
      async status(method, path, cookie) {
        return (await (method === 'GET' ? client.get(path, { cookie }) : client.post(path, '', { cookie }))).status
      },
      async events(cookie) {
        const stream = client.open({ ':path': '/events', cookie })
        await within(once(stream, 'data'), 'the first byte')
        stream.resume()
        return {
          ended: once(stream, 'close').then(() => (stream.rstCode === 0 ? 'end' : `reset ${stream.rstCode}`)),
          leave: () => stream.close(),
        }
      },
      async socket(cookie) {
        const fields: OutgoingHttpHeaders = {
          ':method': 'CONNECT',
          ':protocol': 'websocket',
          ':path': '/socket',
          'sec-websocket-version': '13',
          cookie,
        }
        const stream = client.session.request(fields, { endStream: false }).on('error', () => {})
        const [{ ':status': status }] = (await within(once(stream, 'response'), 'the response')) as [{ ':status': number }]
        assert.equal(status, 200)
        const closed = once(stream, 'data').then(([bytes]: Buffer[]) => {
          assert.equal(bytes![0]! & 0x0f, CLOSE)
          stream.end(frame(CLOSE, bytes!.subarray(2, 4)))
          return `${bytes!.readUInt16BE(2)} ${bytes!.subarray(4)}`
        })
        return { ended: closed, leave: () => stream.close() }
      },
    }
  },
}

/** The session cookie that a response sets. */
function cookieIn(response: InjectResponse): string {
  const text = setCookies(response).find((one) => one.startsWith('__Host-session='))!
  return text.slice(0, text.indexOf(';'))
}

async function liveServer(t: TestContext, store: SessionsOptions['store']) {
  const kept: LastingResponses[] = []
  const { add } = LastingResponses.prototype
  t.mock.method(LastingResponses.prototype, 'add', function (this: LastingResponses, ...args: Parameters<typeof add>) {
    kept.push(this)
    return add.apply(this, args)
  })
  const news = new SseChannel()
  const [entered, released] = [gate(), gate()]
  const { server, logged } = await serveHttp2(t, (one) => {
    const users = sessions({ store, data: undefined as never })
    const rules = auth({ schemes: [users.scheme()] })
    one.use(users)
    one.use(rules)
    one.mapPost('/visit', { use: [rules.open] }, (_, session) => users.of(session).update({ seen: true }))
    one.mapPost('/login/:id', { use: [rules.open] }, ({ id }, session) => users.signIn(session, { id }))
    one.mapPost('/logout', { use: [rules.open] }, (_, session) => users.signOut(session))
    one.mapPost('/logout-and-in', (_, session) => {
      users.signOut(session)
      users.signIn(session, { id: 'ann' })
    })
    one.mapGet('/last', (_, session) => {
      users.signOut(session)
      return sse(session, news)
    })
    one.mapGet('/events', { use: [rules.open] }, (_, session) => {
      if (users.of(session).exists) return sse(session, news)
      return session.response.unauthorized()
    })
    one.mapGet('/late', async (_, session) => {
      entered.open()
      await released.promise
      return sse(session, news)
    })
    one.mapGet('/download', (_, { response }) =>
      response.stream(
        (async function* () {
          entered.open()
          yield 'one '
          await released.promise
          yield 'two'
        })(),
      ),
    )
    one.use(websocket('/socket', { use: [rules.open] }, {}))
  })
  const inject = (method: string, url: string, cookie = '') =>
    server.inject({ method, url, headers: cookie === '' ? {} : { Cookie: cookie }, peer: SECURE_PEER })
  const signIn = async (id: string, cookie = ''): Promise<string> => cookieIn(await inject('POST', `/login/${id}`, cookie))
  /** Waits until nothing of the clients that have left is kept. */
  const nothingKept = async (): Promise<void> => {
    while (kept.some(({ size }) => size > 0)) await new Promise((resolve) => setImmediate(resolve))
  }
  return { server, news, logged, entered, released, inject, signIn, nothingKept, kept }
}

for (const [place, storeOf] of Object.entries(PLACES))
  describe(`sessions ${place}`, () => {
    for (const [protocol, connect] of Object.entries(CLIENTS))
      test(`signing out ends the streams and sockets of the session, and no others, over ${protocol}`, async (t) => {
        const { server, news, logged, signIn, nothingKept, kept } = await liveServer(t, storeOf())
        const client = await connect(t, server)
        const ann = await signIn('ann')
        const elsewhere = await signIn('ann')
        const bob = await signIn('bob')
        const live = [await client.events(ann), await client.events(ann), await client.socket(ann)]
        const others = [await client.events(elsewhere), await client.socket(elsewhere), await client.events(bob), await client.socket(bob)]
        assert.equal(kept.length, 7)

        assert.equal(await client.status('POST', '/logout', ann), 204)
        assert.deepEqual(await within(Promise.all(live.map(({ ended }) => ended)), 'the end'), ['end', 'end', '1008 signed out'])
        if (place !== 'sealed') assert.equal(await client.status('GET', '/events', ann), 401)
        assert.equal(await client.status('GET', '/events', ''), 401)
        assert.equal(news.size, 2, 'the streams of the others')
        assert.equal(await Promise.race([...others.map(({ ended }) => ended), client.status('GET', '/', bob)]), 404)

        for (const one of others) one.leave()
        await nothingKept()
        assert.deepEqual(logged, [])
      })

    for (const [protocol, connect] of Object.entries(CLIENTS))
      test(`they go on when the same user signs in again, and end with the new session, over ${protocol}`, async (t) => {
        const { server, news, signIn, nothingKept } = await liveServer(t, storeOf())
        const client = await connect(t, server)
        const first = await signIn('ann')
        const live = [await client.events(first), await client.socket(first)]
        const second = await signIn('ann', first)
        live.push(await client.events(second))
        assert.equal(news.size, 2)
        await client.status('POST', '/logout', second)
        assert.deepEqual(await within(Promise.all(live.map(({ ended }) => ended)), 'the end'), ['end', '1008 signed out', 'end'])
        await nothingKept()
      })

    test('they end when another user signs in, or the same one after signing out in the same request', async (t) => {
      const { server, signIn, inject, nothingKept } = await liveServer(t, storeOf())
      const client = await CLIENTS['HTTP/2']!(t, server)
      for (const path of ['/login/bob', '/logout-and-in']) {
        const ann = await signIn('ann')
        const live = [await client.events(ann), await client.socket(ann)]
        assert.equal((await inject('POST', path, ann)).status, 204)
        assert.deepEqual(await within(Promise.all(live.map(({ ended }) => ended)), 'the end'), ['end', '1008 signed out'])
      }
      await nothingKept()
    })

    test('a stream that a signed-out request opens late ends at once', async (t) => {
      const { signIn, inject, entered, released, news } = await liveServer(t, storeOf())
      const ann = await signIn('ann')
      const late = inject('GET', '/late', ann)
      await entered.promise
      await inject('POST', '/logout', ann)
      released.open()
      assert.equal((await within(late, 'the end')).status, 200)
      assert.equal(news.size, 0)
    })

    test('the response that signs out goes on, even if it is a stream, and ends the others', async (t) => {
      const { server, signIn, inject, news } = await liveServer(t, storeOf())
      const client = await CLIENTS['HTTP/2']!(t, server)
      const ann = await signIn('ann')
      const other = await client.events(ann)
      const last = inject('GET', '/last', ann)
      assert.equal(await within(other.ended, 'the end'), 'end')
      while (news.size === 0) await new Promise((resolve) => setImmediate(resolve))
      news.send('goodbye')
      news.endAll()
      assert.match((await last).text(), /data: goodbye/)
    })

    test('devices whose sessions began in the same millisecond have streams of their own', async (t) => {
      const { server, signIn, inject, news } = await liveServer(t, storeOf())
      const client = await CLIENTS['HTTP/2']!(t, server)
      const mark = `__Host-session-ended=${Date.now() + 5_000}` // no sealed session begins before that
      const [phone, laptop] = [await signIn('ann', mark), await signIn('ann', mark)]
      const live = { phone: await client.events(phone), laptop: await client.events(laptop) }
      await signIn('ann', phone)
      await inject('POST', '/logout', laptop)
      assert.equal(await within(live.laptop.ended, 'the end'), 'end')
      assert.equal(news.size, 1, 'the phone')
    })

    test('a download is completed', async (t) => {
      const { signIn, inject, entered, released } = await liveServer(t, storeOf())
      const ann = await signIn('ann')
      const download = inject('GET', '/download', ann)
      await entered.promise
      await inject('POST', '/logout', ann)
      released.open()
      assert.equal((await download).text(), 'one two')
    })

    test('the streams of a visitor end when somebody signs in', async (t) => {
      const { server, signIn, inject } = await liveServer(t, storeOf())
      const client = await CLIENTS['HTTP/2']!(t, server)
      const visitor = cookieIn(await inject('POST', '/visit'))
      const live = await client.events(visitor)
      await signIn('ann', visitor)
      assert.equal(await within(live.ended, 'the end'), 'end')
    })
  })

test('a sign-out that fails ends nothing', async (t) => {
  const store = new WatchedStore()
  const { server, signIn, inject, news } = await liveServer(t, store)
  const client = await CLIENTS['HTTP/2']!(t, server)
  const ann = await signIn('ann')
  const live = await client.events(ann)
  t.mock.method(store, 'delete', () => Promise.reject(new Error('away')), { times: 1 })
  assert.equal((await inject('POST', '/logout', ann)).status, 503)
  assert.equal(await client.status('GET', '/download-nothing', ann), 404, 'the session goes on')
  assert.equal(news.size, 1)
  assert.equal((await inject('POST', '/logout', ann)).status, 204)
  assert.equal(await within(live.ended, 'the end'), 'end')
})
