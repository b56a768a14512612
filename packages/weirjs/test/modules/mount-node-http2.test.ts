// Code for `node:http` over HTTP/2: the same, without what belongs to a connection of HTTP/1.1.

import assert from 'node:assert/strict'
import { constants } from 'node:http2'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'

import { mountNode, type NodeHandler } from '../../src/node/index.ts'
import { Http2Client, responseOf } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { Observed } from '../support/observed.ts'
import { eventually, within } from '../support/serving.ts'

test('requests and responses', async (t) => {
  const code: NodeHandler = async (req, res) => {
    res.writeHead(201, {
      'X-Seen': JSON.stringify([req.httpVersion, req.httpVersionMajor, req.method, req.url, req.headers.host, req.headers['x-a']]),
      Connection: 'keep-alive',
      'Keep-Alive': 'timeout=5',
      'Transfer-Encoding': 'chunked',
      'Set-Cookie': ['a=1', 'b=2'],
    })
    res.write('a')
    await wait(1)
    req.pipe(res)
  }
  const { server } = await serveHttp2(t, (server) => mountNode(server, '/', code))
  const client = await Http2Client.connect(t, server.port)
  const { headers, body } = await client.post('/p?q', 'body', { 'x-a': '1' })
  assert.equal(headers[':status'], 201)
  assert.deepEqual(JSON.parse(String(headers['x-seen'])), ['2.0', 2, 'POST', '/p?q', `localhost:${server.port}`, '1'])
  assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2'])
  assert.deepEqual([headers.connection, headers['keep-alive'], headers['transfer-encoding']], [undefined, undefined, undefined])
  assert.equal(String(body), 'abody')
})

test('destroying one exchange leaves the others alone', async (t) => {
  const observed = new Observed()
  const { server } = await serveHttp2(t, (server) => {
    observed.on(server)
    mountNode(server, '/', (req, res) => {
      if (req.url === '/destroyed') req.socket.destroy()
      else setTimeout(() => res.end('ok'), 20)
    })
  })
  const client = await Http2Client.connect(t, server.port)
  const other = client.get('/other')
  const stream = client.open({ ':path': '/destroyed' })
  await within(new Promise<void>((resolve) => stream.once('close', () => resolve())), 'the reset')
  assert.equal(stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR)
  assert.equal(String((await other).body), 'ok')
  await eventually(() => observed.ended.length === 2, 'records')
})

test('a stream that its client resets', async (t) => {
  const log: string[] = []
  const { server } = await serveHttp2(t, (server) =>
    mountNode(server, '/', (req, res) => {
      req.on('aborted', () => log.push('aborted'))
      res.on('close', () => log.push(`close ${res.writableFinished}`))
      res.write('begun')
    }),
  )
  const client = await Http2Client.connect(t, server.port)
  const stream = client.open({ ':path': '/' })
  await within(new Promise((resolve) => stream.once('data', resolve)), 'the first bytes')
  stream.close(constants.NGHTTP2_CANCEL)
  await eventually(() => log.length === 2, 'the end')
  assert.deepEqual(log, ['aborted', 'close false'])
})

test('trailers that nobody has announced: after a stream, after one piece, after a Content-Length, and without a body', async (t) => {
  const { server } = await serveHttp2(t, (server) =>
    mountNode(server, '/', async (req, res) => {
      if (req.url === '/length') res.setHeader('Content-Length', 2)
      if (req.url !== '/empty' && req.url !== '/piece') res.write('a')
      if (req.url === '/stream') await new Promise((resolve) => setImmediate(resolve))
      res.addTrailers({ 'grpc-status': '0', 'content-length': '9' })
      if (req.url === '/empty') res.end()
      else res.end('b')
    }),
  )
  const client = await Http2Client.connect(t, server.port)
  for (const path of ['/stream', '/piece', '/length', '/empty']) {
    const stream = client.open({ ':path': path })
    const trailers = new Promise<Record<string, unknown>>((resolve) => stream.once('trailers', resolve))
    await within(responseOf(stream), path)
    assert.deepEqual(Object.keys(await within(trailers, `trailers of ${path}`)), ['grpc-status'], path)
  }
})

test('a head without a body yet, and trailers', async (t) => {
  let goOn = (): void => {}
  const { server } = await serveHttp2(t, (server) =>
    mountNode(server, '/', (_req, res) => {
      res.setHeader('Trailer', 'X-Sum')
      res.flushHeaders()
      goOn = () => {
        res.addTrailers({ 'X-Sum': '2' })
        res.end('ab')
      }
    }),
  )
  const client = await Http2Client.connect(t, server.port)
  const stream = client.open({ ':path': '/' })
  const trailers = new Promise<Record<string, unknown>>((resolve) => stream.once('trailers', resolve))
  const response = responseOf(stream)
  await within(new Promise((resolve) => stream.once('response', resolve)), 'the head')
  goOn()
  assert.equal(String((await response).body), 'ab')
  assert.equal((await trailers)['x-sum'], '2')
})
