// Other implementations of clients: undici, Chromium, and ws over TLS next to HTTP/2.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { ConnectionOptions, TLSSocket } from 'node:tls'

import type { Browser } from 'playwright-core'
import { WebSocket as UndiciSocket } from 'undici'
import { WebSocket as WsClient } from 'ws'

import { HttpServer } from '../../../src/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { launchChromium, noChromium } from '../../support/chromium.ts'
import { Http2Client } from '../../support/http2-client.ts'
import { serveHttp2 } from '../../support/http2-serving.ts'
import { eventually, inBothReadModes } from '../../support/serving.ts'
import { echo, mapEcho } from '../../support/websocket-client.ts'

/** Each text comes again after 12,000 other bytes, which is further back than the window that compressed messages may refer to. */
const DISTANT = Array.from({ length: 10 }, (_, one) =>
  Array.from({ length: 3000 }, (_, i) => String.fromCharCode(33 + ((i * i * (7 + (one % 5)) + i * 7919) % 90))).join(''),
)

inBothReadModes('WebSockets and other clients', (serve) => {
  for (const [name, open] of [
    ['undici', (url: string) => new UndiciSocket(url)],
    ['ws', (url: string) => new WsClient(url)],
  ] as const)
    test(`compressed messages of ${name} keep to the window that it was given`, async (t) => {
      const { server } = await serve(t, (one) => mapEcho(one, { perMessageDeflate: true }))
      const client = open(`ws://127.0.0.1:${server.port}/`)
      const heard: unknown[] = []
      client.onmessage = ({ data }: { readonly data: unknown }) => void heard.push(data)
      client.onopen = () => {
        for (const text of DISTANT) client.send(text)
      }
      await eventually(() => heard.length === DISTANT.length, 'the echo')
      assert.match(client.extensions, /^permessage-deflate/)
      assert.deepEqual(heard, DISTANT)
      client.close()
    })

  test('undici’s WebSocket sends and receives the same', async (t) => {
    const { server } = await serve(t, mapEcho)
    const client = new UndiciSocket(`ws://127.0.0.1:${server.port}/`)
    client.binaryType = 'arraybuffer'
    const heard: unknown[] = []
    client.addEventListener('message', ({ data }) =>
      heard.push(typeof data === 'string' ? data : Buffer.from(data as ArrayBuffer).toString()),
    )
    await new Promise((resolve) => client.addEventListener('open', resolve))
    client.send('text ü')
    client.send(Buffer.from('bytes'))
    client.send('x'.repeat(300_000))
    await eventually(() => heard.length === 3, 'the echo')
    assert.deepEqual(heard, ['text ü', 'bytes', 'x'.repeat(300_000)])
    const closed = new Promise<unknown[]>((resolve) => client.addEventListener('close', ({ code, reason }) => resolve([code, reason])))
    client.close(4000, 'bye')
    assert.deepEqual(await closed, [4000, 'bye'])
  })
})

describe('in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  test('a page exchanges messages with its own server, sees it stop, and is refused by another', async (t) => {
    const server = new HttpServer()
    const other = new HttpServer()
    for (const one of [server, other]) {
      one.mapGet('/', (_, { response }) => response.html('<!doctype html><title>socket</title>'))
      one.use(websocket('/echo', { ...echo, protocols: ['v1'] }))
      one.use(websocket('/packed', { ...echo, perMessageDeflate: true }))
      await one.start()
      t.after(() => one.stop({ graceMs: 0 }))
    }
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(`http://127.0.0.1:${server.port}/`)
    const seen: unknown[] = []
    await page.exposeFunction('saw', (...what: unknown[]) => void seen.push(what))
    await page.evaluate(`
      const socket = new WebSocket('ws://' + location.host + '/echo', ['v1'])
      socket.onopen = () => { saw('open', socket.protocol); socket.send('grüße'); socket.send(new Uint8Array([1, 2]).buffer) }
      socket.onmessage = async ({ data }) => saw('message', typeof data === 'string' ? data : (await data.arrayBuffer()).byteLength)
      socket.onclose = ({ code, wasClean }) => saw('close', code, wasClean)
    `)
    await eventually(() => seen.length === 3, 'the echo')
    const packed = await page.evaluate(`new Promise((resolve) => {
      const socket = new WebSocket('ws://' + location.host + '/packed')
      const texts = [...[0, 5, 1e5, 9e5].map((size) => 'x'.repeat(size)), ...${JSON.stringify(DISTANT)}]
      let heard = 0
      socket.onopen = () => { for (const text of texts) socket.send(text) }
      socket.onclose = ({ code }) => resolve([socket.extensions, heard, code])
      socket.onmessage = ({ data }) => { if (data === texts[heard]) heard++; if (heard === texts.length) socket.close(1000) }
    })`)
    assert.deepEqual(packed, ['permessage-deflate; client_max_window_bits=12', 14, 1000])
    await page.evaluate(
      `new Promise((resolve) => { new WebSocket('ws://127.0.0.1:${other.port}/echo').onclose = ({ code }) => resolve(saw('refused', code)) })`,
    )
    assert.deepEqual(await server.stop(), { aborted: 0 })
    await eventually(() => seen.length === 5, 'the end')
    assert.deepEqual(seen, [
      ['open', 'v1'],
      ['message', 'grüße'],
      ['message', 2],
      ['refused', 1006],
      ['close', 1001, true],
    ])
  })
})

test('a server with HTTP/2 accepts WebSockets over HTTP/1.1 too, and responds to GET over HTTP/2 with 505', async (t) => {
  const { server, logged } = await serveHttp2(t, (one) => void mapEcho(one))
  const offer: ConnectionOptions = { rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }
  const client = new WsClient(`wss://localhost:${server.port}/`, [], offer)
  t.after(() => client.terminate())
  const [[response]] = (await Promise.all([once(client, 'upgrade'), once(client, 'open')])) as [[IncomingMessage], unknown]
  assert.equal((response.socket as TLSSocket).alpnProtocol, 'http/1.1')
  client.send('over TLS')
  assert.equal(String((await once(client, 'message'))[0]), 'over TLS')

  const other = await Http2Client.connect(t, server.port)
  assert.equal((await other.get('/')).status, 505)
  assert.deepEqual(logged, [])
})
