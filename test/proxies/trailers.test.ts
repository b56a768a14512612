// Trailers and early hints past nginx and HAProxy, in both protocols.

import assert from 'node:assert/strict'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { type TestContext, test } from 'node:test'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { RawClient } from '../../packages/weirjs/test/support/raw-client.ts'
import { within } from '../../packages/weirjs/test/support/serving.ts'
import { haproxyHttp, nginx } from './hops.ts'
import { noHaproxy, noNginx } from './proxy.ts'

async function serve(t: TestContext): Promise<number[]> {
  const server = new HttpServer({ hosts: 'any', logger: null, listen: [{ port: 0 }, { port: 0, http2: 'cleartext' }] })
  server.mapPost('/', { body: 'stream' }, (_, { request, response }) => {
    response.trailer('X-Sum', () => request.trailers.get('x-sum')).trailer('X-Status', 'fine')
    return response.stream(request.bodyStream(), 'text/plain')
  })
  server.mapGet('/hints', (_, { response }) => {
    response.earlyHints({ link: '</a.css>; rel=preload; as=style' }, { overHttp1: true })
    return 'page'
  })
  server.mapGet('/careful', (_, { response }) => {
    response.earlyHints({ link: '</a.css>; rel=preload; as=style' })
    return 'page'
  })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server.endpoints.map(({ port }) => port)
}

/** The response to a POST, by default with a trailer, with Node's client: its body and its trailers. */
function echo2(t: TestContext, port: number, hasTrailers = true): Promise<{ text: string; trailers: IncomingHttpHeaders }> {
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  t.after(() => session.destroy())
  const stream = session.request({ ':path': '/', ':method': 'POST', te: 'trailers' }, { waitForTrailers: hasTrailers })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '17' }))
  stream.end('text')
  let text = ''
  let trailers: IncomingHttpHeaders = {}
  stream.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  stream.on('trailers', (fields) => (trailers = Object.fromEntries(Object.entries(fields))))
  const ended = new Promise<{ text: string; trailers: IncomingHttpHeaders }>((resolve, reject) => {
    stream.on('error', reject).on('close', () => resolve({ text, trailers }))
  })
  return within(ended, 'the response')
}

const ECHO = [
  'POST / HTTP/1.1',
  'Host: a',
  'TE: trailers',
  'Connection: TE',
  'Transfer-Encoding: chunked',
  'Trailer: X-Sum',
  '',
  '4',
  'text',
  '0',
  'X-Sum: 17',
  '',
  '',
].join('\r\n')

test('nginx passes trailers on over HTTP/2', { skip: noNginx }, async (t) => {
  const [, cleartext] = await serve(t)
  const { text, trailers } = await echo2(t, await nginx(t, cleartext!, { http2: 'both' }), false) // it refuses trailers of requests
  assert.deepEqual([text, trailers], ['text', { 'x-status': 'fine' }])
})

test('nginx over HTTP/1.1 does not ask for trailers, so it gets the response without them', { skip: noNginx }, async (t) => {
  const [http1] = await serve(t)
  const client = await RawClient.connect(await nginx(t, http1!))
  t.after(() => client.destroy())
  const { status, text, head } = await client.send(ECHO).message()
  assert.deepEqual([status, text], [200, 'text'])
  assert.doesNotMatch(head, /trailer/i)
})

for (const [name, server, endpoint] of [
  ['HTTP/1.1', '', 0],
  ['HTTP/2', 'proto h2', 1],
] as const) {
  test(`HAProxy passes trailers on to ${name} and back`, { skip: noHaproxy }, async (t) => {
    const ports = await serve(t)
    const front = await haproxyHttp(t, ports[endpoint]!, server, 'proto h2')
    const { text, trailers } = await echo2(t, front)
    assert.deepEqual([text, trailers], ['text', { 'x-sum': '17', 'x-status': 'fine' }])
  })

  test(`HAProxy passes early hints on from ${name}`, { skip: noHaproxy }, async (t) => {
    const ports = await serve(t)
    const client = await RawClient.connect(await haproxyHttp(t, ports[endpoint]!, server))
    t.after(() => client.destroy())
    const [hints, response] = await client.get('/hints').messages(2)
    assert.deepEqual(
      [hints!.status, hints!.header('link'), response!.status, response!.text],
      [103, '</a.css>; rel=preload; as=style', 200, 'page'],
    )
  })
}

test('nginx gets no early hints over HTTP/1.1, unless the program insists', { skip: noNginx }, async (t) => {
  const [http1] = await serve(t)
  const client = await RawClient.connect(await nginx(t, http1!))
  t.after(() => client.destroy())
  // nginx 1.22 takes a 103 for the response, and its client never gets the real one.
  const { status, text } = await client.get('/careful').message()
  assert.deepEqual([status, text], [200, 'page'])
})
