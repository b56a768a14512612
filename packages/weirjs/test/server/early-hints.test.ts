// `103 Early Hints`, over HTTP/1.1 and HTTP/2 (RFC 8297).

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as requestHttp1 } from 'node:http'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import { HttpResponse, HttpServer } from '../../src/index.ts'
import { toNodeListener } from '../../src/node/index.ts'
import { connect } from '../../src/testing/index.ts'
import { curl, noCurl } from '../support/curl.ts'
import { nghttp, noNghttp } from '../support/nghttp.ts'
import { Observed } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate, within } from '../support/serving.ts'

const LINKS = ['</a.css>; rel=preload; as=style', '</a.js>; rel=preload; as=script']
const ANYWHERE = { overHttp1: true }

async function serve(t: TestContext, map: (server: HttpServer) => void): Promise<{ server: HttpServer; ports: number[] }> {
  const server = new HttpServer({ hosts: 'any', logger: null, listen: [{ port: 0 }, { port: 0, http2: 'cleartext' }] })
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, ports: server.endpoints.map(({ port }) => port) }
}

function codeOf(act: () => unknown): string | null {
  try {
    act()
    return null
  } catch (error) {
    return (error as { code: string }).code
  }
}

function mapPage(server: HttpServer): void {
  server.mapGet('/', async (_, { response }) => {
    const sent = [response.earlyHints({ Link: LINKS }, ANYWHERE)]
    await turn()
    sent.push(response.earlyHints({ link: '</b.css>; rel=preload; as=style', 'x-more': '1' }, ANYWHERE))
    return response.header('X-Sent', sent.join(' ')).text('page')
  })
}

test('are sent before the response, as often as they are set, and are not part of it', async (t) => {
  const { ports } = await serve(t, mapPage)
  const [http1, http2] = ports as [number, number]

  const client = await RawClient.connect(http1)
  t.after(() => client.destroy())
  client.get('/').get('/')
  for (let i = 0; i < 2; i++) {
    const [first, second, last] = await client.messages(3)
    assert.equal(first!.head, `HTTP/1.1 103 Early Hints\r\nLink: ${LINKS[0]}\r\nLink: ${LINKS[1]}`)
    assert.equal(second!.head, 'HTTP/1.1 103 Early Hints\r\nlink: </b.css>; rel=preload; as=style\r\nx-more: 1')
    assert.deepEqual([last!.status, last!.text, last!.header('link'), last!.header('x-sent')], [200, 'page', null, 'true true'])
  }

  const informed: unknown[] = []
  const answered = new Promise<number>((resolve, reject) => {
    const request = requestHttp1({ port: http1, agent: false }, (response) =>
      response.resume().on('end', () => resolve(response.statusCode!)),
    )
    request.on('information', ({ statusCode, headers }) => informed.push([statusCode, headers['link']]))
    request.on('error', reject).end()
  })
  assert.equal(await within(answered, 'the response'), 200)
  assert.deepEqual(informed, [
    [103, LINKS.join(', ')],
    [103, '</b.css>; rel=preload; as=style'],
  ])

  const session = connectHttp2(`http://127.0.0.1:${http2}`)
  t.after(() => session.destroy())
  const stream = session.request({ ':path': '/' })
  const hints: unknown[] = []
  let head: IncomingHttpHeaders = {}
  stream.on('headers', (fields) => hints.push([fields[':status'], fields['link']]))
  stream.on('response', (fields) => (head = fields)).resume()
  await within(new Promise((resolve) => stream.on('close', resolve)), 'the end')
  assert.deepEqual(hints, informed)
  assert.deepEqual([head[':status'], head['link'], head['x-sent']], [200, undefined, 'true true'])
})

test('arrive while the handler still works', async (t) => {
  const finish = gate()
  const { ports } = await serve(t, (server) => {
    server.mapGet('/', async (_, { response }) => {
      response.earlyHints({ link: LINKS }, ANYWHERE)
      await finish.promise
      return 'page'
    })
  })
  const client = await RawClient.connect(ports[0]!)
  t.after(() => client.destroy())
  assert.match(await client.get('/').until('\r\n\r\n'), /^HTTP\/1\.1 103 /)
  const session = connectHttp2(`http://127.0.0.1:${ports[1]!}`)
  t.after(() => session.destroy())
  const stream = session.request({ ':path': '/' })
  await within(new Promise((resolve) => stream.once('headers', resolve)), 'the hints')
  finish.open()
  await within(new Promise((resolve) => stream.resume().on('close', resolve)), 'the end')
})

test('are not sent over HTTP/1.0, in fetch, or to a client that has left', async (t) => {
  const sent: boolean[] = []
  const left = gate()
  const { server, ports } = await serve(t, (server) => {
    server.mapGet('/', (_, { response }) => {
      sent.push(response.earlyHints({ link: LINKS }, ANYWHERE))
      return 'page'
    })
    server.mapGet('/left', async (_, { request, response }) => {
      left.open()
      await new Promise((resolve) => request.signal.addEventListener('abort', resolve))
      sent.push(response.earlyHints({ link: LINKS }, ANYWHERE))
    })
  })
  const old = await RawClient.connect(ports[0]!)
  t.after(() => old.destroy())
  old.send('GET / HTTP/1.0\r\n\r\n')
  assert.match(await old.rest(), /^HTTP\/1\.1 200 /)
  assert.equal((await server.fetch(new Request('http://localhost/'))).status, 200)
  const session = connectHttp2(`http://127.0.0.1:${ports[1]!}`)
  t.after(() => session.destroy())
  const stream = session.request({ ':path': '/left' }).on('error', () => {})
  await within(left.promise, 'the handler')
  stream.close(8)
  await eventually(() => sent.length === 3, 'the handler to see it')
  assert.deepEqual(sent, [false, false, false])
})

test('over HTTP/1.1 they are sent only if the program insists', async () => {
  const server = new HttpServer({ hosts: 'any', logger: null })
  server.mapGet('/', (_, { response }) => String(response.earlyHints({ link: LINKS })))
  const reply = await server.inject('/')
  assert.deepEqual([reply.text(), reply.earlyHints], ['false', []])
  server.mapGet('/wrong', (_, { response }) => codeOf(() => response.earlyHints({}, { overHttp1: 1 } as never)))
  server.mapGet('/unknown', (_, { response }) => codeOf(() => response.earlyHints({}, { http1: true } as never)))
  for (const url of ['/wrong', '/unknown']) assert.equal((await server.inject(url)).text(), 'WEIR_OPTION_INVALID')
})

test('after the response, and for a response of the program, they are refused', async () => {
  const codes: (string | null)[] = []
  const server = new HttpServer({ hosts: 'any', logger: null })
  server.use(async (session, next) => {
    const { response } = session
    session.signal.addEventListener('abort', () => {})
    setImmediate(() => codes.push(codeOf(() => response.earlyHints({ link: LINKS }, ANYWHERE))))
    return next()
  })
  server.mapGet('/', () => 'page')
  server.mapGet('/stream', (_, { response }) =>
    response.stream(
      (async function* () {
        codes.push(codeOf(() => response.earlyHints({ link: LINKS }, ANYWHERE))) // the head has not been sent, but cannot be held any more
        yield 'page'
      })(),
    ),
  )
  await server.inject('/')
  await server.inject('/stream')
  await eventually(() => codes.length === 3, 'all calls')
  assert.deepEqual([...new Set(codes)], ['WEIR_RESPONSE_SENT'])
  assert.equal(
    codeOf(() => new HttpResponse().earlyHints({ link: LINKS })),
    'WEIR_SERVER_STATE',
  )
})

test('fields that cannot be sent, or describe a connection or a body, are refused, and nothing is sent', async () => {
  const server = new HttpServer({ hosts: 'any', logger: null })
  const bad: Record<string, string>[] = [{ link: 'a\r\nb: c' }, { 'a b': 'c' }, { link: null as never }, { link: 1 as never }]
  for (const name of ['Content-Length', 'Transfer-Encoding', 'Connection', 'Upgrade', 'Trailer', 'content-type', 'Content-Encoding'])
    bad.push({ link: LINKS[0]!, [name]: '1' })
  server.mapGet('/', (_, { response }) => bad.map((fields) => codeOf(() => response.earlyHints(fields))))
  const reply = await server.inject('/')
  assert.deepEqual(new Set(reply.json() as string[]), new Set(['WEIR_RESPONSE_HEADER_SYNTAX']))
  assert.deepEqual(reply.earlyHints, [])
})

test('inject, the test client and observers agree with a socket', async () => {
  const server = new HttpServer({ hosts: 'any', logger: null })
  mapPage(server)
  const observed = new Observed().on(server)
  const injected = await server.inject('/')
  assert.deepEqual(
    injected.earlyHints.map((fields) => fields.get('link')),
    [LINKS.join(', '), '</b.css>; rel=preload; as=style'],
  )
  assert.deepEqual([(await observed.record()).status, (await observed.record()).bytesOut], [200, 4])
  const client = connect(server)
  const response = await client.stream('/')
  assert.deepEqual([response.interim, response.earlyHints.length], [[103, 103], 2])
  assert.equal((await response.whole()).earlyHints.length, 2)
  client.abort()
})

test('a gate may send them, and 100 Continue may follow', async (t) => {
  const { ports } = await serve(t, (server) => {
    server.gate((session) => {
      session.response.earlyHints({ link: LINKS[0]! }, ANYWHERE)
    })
    server.mapPost('/', (_, { request }) => request.body)
  })
  const client = await RawClient.connect(ports[0]!)
  t.after(() => client.destroy())
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n')
  assert.deepEqual(
    (await client.messages(2)).map(({ status }) => status),
    [103, 100],
  )
  assert.equal((await client.send('text').message()).text, 'text')
})

test('observers are told how many interim responses there were, whatever carries the request', async (t) => {
  const { server, ports } = await serve(t, (server) => {
    mapPage(server)
    server.mapPost('/', (_, { request }) => request.body)
  })
  const observed = new Observed().on(server)
  const hosted = createServer(toNodeListener(server)).listen(0, '127.0.0.1')
  t.after(() => hosted.close())
  await once(hosted, 'listening')
  const session = connectHttp2(`http://127.0.0.1:${ports[1]!}`)
  t.after(() => session.destroy())
  const asked = [ports[0]!, (hosted.address() as AddressInfo).port].map(async (port) => {
    const client = await RawClient.connect(port)
    t.after(() => client.destroy())
    await client.get('/').messages(3)
  })
  await Promise.all([...asked, once(session.request({ ':path': '/' }).resume(), 'end'), server.fetch(new Request('http://a/'))])
  await eventually(() => observed.ended.length === 4, 'the records')
  const counts = observed.ended.map(({ interimResponses }) => interimResponses)
  assert.deepEqual(counts.sort(), [0, 2, 2, 2], 'Fetch has none')
  const client = await RawClient.connect(ports[0]!)
  t.after(() => client.destroy())
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n')
  assert.equal((await client.message()).status, 100)
  await client.send('text').message()
  assert.equal((await observed.record(5)).interimResponses, 1)
})

test('curl and nghttp', { skip: noCurl || noNghttp }, async (t) => {
  const { ports } = await serve(t, mapPage)
  for (const args of [
    ['--http1.1', `http://127.0.0.1:${ports[0]!}/`],
    ['--http2-prior-knowledge', `http://127.0.0.1:${ports[1]!}/`],
  ]) {
    const { responses, exitCode } = await curl(args)
    assert.equal(exitCode, 0)
    assert.deepEqual(
      responses.map(({ status }) => status),
      [103, 103, 200],
      args[0],
    )
  }
  const run = await nghttp(['-v', `http://127.0.0.1:${ports[1]!}/`])
  assert.match(run.output, /:status: 103[\s\S]*link: <\/a\.css>[\s\S]*:status: 200/)
})
