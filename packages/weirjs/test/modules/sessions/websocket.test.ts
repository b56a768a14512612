// The session of a WebSocket: its cookie is sent with the handshake, over HTTP/1.1 as over HTTP/2.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http2'
import { type TestContext, test } from 'node:test'

import { Agent, WebSocket } from 'undici'

import type { HttpServer } from '../../../src/index.ts'
import { auth } from '../../../src/modules/auth/index.ts'
import { sessions } from '../../../src/modules/sessions/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { Http2Client } from '../../support/http2-client.ts'
import { serveHttp2 } from '../../support/http2-serving.ts'
import { within } from '../../support/serving.ts'
import { cookieOf, PLACES } from '../../support/user-sessions.ts'

const CONNECT: OutgoingHttpHeaders = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/socket', 'sec-websocket-version': '13' }
const PEER = { address: '203.0.113.7', isSecure: true }

/** A server whose WebSocket greets the user of the session, and keeps strangers out. */
async function greeting(t: TestContext, place: keyof typeof PLACES): Promise<{ server: HttpServer; cookie: string; logged: unknown[] }> {
  const { server, logged } = await serveHttp2(t, (one) => {
    const users = sessions({ store: PLACES[place]() })
    const rules = auth({ schemes: [users.scheme()] })
    one.use(users)
    one.use(rules)
    one.mapPost('/login', { use: [rules.open] }, (_, session) => users.signIn(session, { id: 'ann', roles: [] }))
    one.use(websocket('/socket', { open: (connection) => void connection.send(`hello ${users.of(connection.session).principal?.id}`) }))
  })
  const cookie = cookieOf(await server.inject({ method: 'POST', url: '/login', peer: PEER }))
  return { server, cookie, logged }
}

for (const place of Object.keys(PLACES) as (keyof typeof PLACES)[]) {
  test(`${place}, over HTTP/2`, async (t) => {
    const { server, cookie, logged } = await greeting(t, place)
    const { session } = await Http2Client.connect(t, server.port)
    for (const [fields, status] of [
      [{}, 401],
      [{ cookie: `${cookie}x` }, 401],
      [{ cookie: ['theme=dark', cookie] }, 200], // HTTP/2 clients may send one field for each cookie (RFC 9113, 8.2.3)
      [{ cookie }, 200],
    ] as const) {
      const stream = session.request({ ...CONNECT, ...fields } as OutgoingHttpHeaders, { endStream: false }).on('error', () => {})
      const [head] = (await within(once(stream, 'response'), 'the response')) as [{ ':status': number }]
      assert.equal(head[':status'], status)
      if (status === 200) assert.match(String((await within(once(stream, 'data'), 'a message'))[0]), /hello ann$/)
      stream.close()
    }
    assert.deepEqual(logged, [])
  })

  test(`${place}, over HTTP/1.1`, async (t) => {
    const { server, cookie, logged } = await greeting(t, place)
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] } })
    t.after(() => dispatcher.destroy())
    const open = (headers: Record<string, string>): WebSocket =>
      new WebSocket(`wss://localhost:${server.port}/socket`, { headers, dispatcher })
    const [event] = (await once(open({ Cookie: cookie }), 'message')) as [{ data: unknown }]
    assert.equal(event.data, 'hello ann')
    await once(open({}), 'error')
    assert.deepEqual(logged, [])
  })
}
