// Calls that end before their functions do: at a deadline, which the client chooses, or because it has left.
import assert from 'node:assert/strict'
import http2 from 'node:http2'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'

import { create, toBinary } from '@bufbuild/protobuf'
import { HttpServer } from 'weirjs'

import { Turns } from '../../weirjs/test/support/turns.ts'
import { frame } from '../src/frames.ts'
import { mapService, type RpcCall } from '../src/index.ts'
import { EchoRequestSchema, EchoService } from './proto/echo_pb.ts'

/** 200 ms: a function has begun by then, even on a busy machine. */
const DEADLINE = '200m'

/** What was resolved has gone on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const echo = (text: string, padding = new Uint8Array()): Uint8Array =>
  toBinary(EchoRequestSchema, create(EchoRequestSchema, { text, padding }))

test('calls that end before their functions take a connection at most about 100 of these, whatever ends them', async (t) => {
  let running = 0
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const work = async (): Promise<object> => {
    running++
    await gate
    return {}
  }
  const server = new HttpServer({ port: 0, http2: 'cleartext', logger: null })
  mapService(server, EchoService, {
    say: work,
    peek: () => ({}),
    gather: work,
    async *repeat({ text }) {
      if (text === 'late') yield {}
      yield await work()
    },
    async *converse() {
      yield await work()
    },
  })
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  const connect = (): http2.ClientHttp2Session => {
    const client = http2.connect(`http://127.0.0.1:${server.port}`)
    t.after(() => client.destroy())
    return client
  }
  /** @param timeout null: the client leaves once the head has come */
  const call = (client: http2.ClientHttp2Session, method: string, text = '', timeout: string | null = '20S'): Promise<string> =>
    new Promise((resolve, reject) => {
      const path = `/test.v1.EchoService/${method}`
      const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc' }
      const stream = client.request({ ...headers, ...(timeout !== null && { 'grpc-timeout': timeout }) })
      let status = 'left'
      const read = (fields: http2.IncomingHttpHeaders): void => {
        if (fields['grpc-status'] !== undefined) status = String(fields['grpc-status'])
        else if (timeout === null) stream.close(http2.constants.NGHTTP2_CANCEL)
      }
      stream
        .on('response', read)
        .on('trailers', read)
        .on('error', reject)
        .on('close', () => resolve(status))
      stream.resume().end(frame(0, echo(text)))
    })
  const clients: http2.ClientHttp2Session[] = []
  for (const [method, text, timeout, end] of [
    ['Say', '', DEADLINE, '4'],
    ['Gather', '', DEADLINE, '4'],
    ['Converse', '', DEADLINE, '4'],
    ['Repeat', '', DEADLINE, '4'],
    ['Repeat', 'late', DEADLINE, '4'],
    ['Repeat', 'late', null, 'left'],
  ] as const) {
    const client = connect()
    const before = running
    for (let sent = 0; sent < 200; sent += 40) {
      const statuses = await Promise.all(Array.from({ length: 40 }, () => call(client, method, text, timeout)))
      assert.deepEqual(new Set(statuses), new Set([sent < 120 ? end : '14']), `${method} after ${sent} calls`)
    }
    assert.equal(running - before, 120, method)
    clients.push(client)
  }
  assert.equal(await call(clients[0]!, 'Peek'), '14')
  assert.equal(await call(connect(), 'Peek'), '0', 'of another connection')
  open()
  await settle()
  for (const client of clients) assert.equal(await call(client, 'Peek'), '0', 'after they have ended')
})

test('the functions of one client, behind a proxy, do not count for the other clients on its connection', async (t) => {
  let running = 0
  const server = new HttpServer({ port: 0, http2: 'cleartext', logger: null, proxies: { trust: ['loopback'] } })
  mapService(server, EchoService, {
    say: () => {
      running++
      return new Promise(() => {})
    },
    peek: () => ({}),
  })
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  const proxy = http2.connect(`http://127.0.0.1:${server.port}`)
  t.after(() => proxy.destroy())
  const call = (from: string, method: string, timeout = '20S'): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/grpc', 'grpc-timeout': timeout, 'x-forwarded-for': from }
      let status: unknown
      const read = (fields: http2.IncomingHttpHeaders): void => void (status = fields['grpc-status'] ?? status)
      proxy
        .request({ ':method': 'POST', ':path': `/test.v1.EchoService/${method}`, ...headers })
        .on('response', read)
        .on('trailers', read)
        .on('error', reject)
        .on('close', () => resolve(status))
        .resume()
        .end(frame(0, echo('')))
    })
  for (let i = 0; i < 4; i++) await Promise.all(Array.from({ length: 30 }, () => call('2001:db8::1', 'Say', DEADLINE)))
  assert.equal(running, 120)
  assert.equal(await call('2001:db8::2', 'Peek'), '14', 'of the same network')
  assert.equal(await call('2001:db8:0:1::1', 'Peek'), '0')
})

test('no function is called for a message that is decompressed after the end of its call, and such messages are not kept', async (t) => {
  const alive = setInterval(() => {}, 1_000) // deadlines keep no process alive
  t.after(() => clearInterval(alive))
  let called = 0
  const count = () => ({ index: ++called })
  const server = new HttpServer({ logger: null })
  mapService(server, EchoService, {
    say: count,
    async *repeat() {
      yield count()
    },
  })
  const post = (method: string, body: Uint8Array, headers: Readonly<Record<string, string>>) =>
    server.inject({ method: 'POST', url: `/test.v1.EchoService/${method}`, body, headers })
  const zipped = gzipSync(echo('', Buffer.alloc(400_000)))
  const deadline = { 'Connect-Timeout-Ms': '0' }
  const all = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      i % 2 === 0
        ? post('Say', zipped, { ...deadline, 'Content-Type': 'application/proto', 'Content-Encoding': 'gzip' })
        : post('Repeat', frame(1, zipped), {
            ...deadline,
            'Content-Type': 'application/connect+proto',
            'Connect-Content-Encoding': 'gzip',
          }),
    ),
  )
  assert.ok(all.filter((response) => response.text().includes('deadline_exceeded')).length > 30)
  assert.ok(called < 10, `${called} were called`)
})

test('few calls end in one turn of the event loop, even if all have the same deadline', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const turns = new Turns(t)
  const server = new HttpServer({ logger: null })
  let begun = 0
  const wait = (_: unknown, { signal }: RpcCall): Promise<object> => {
    begun++
    signal.addEventListener('abort', () => turns.count())
    return new Promise(() => {})
  }
  mapService(server, EchoService, { say: wait })
  const headers = { 'Content-Type': 'application/proto', 'Connect-Timeout-Ms': '300' }
  const all = Array.from({ length: 1_000 }, () =>
    server.inject({ method: 'POST', url: '/test.v1.EchoService/Say', body: echo(''), headers }),
  )
  while (begun < all.length) await settle()
  t.mock.timers.tick(300)
  for (const { status } of await Promise.all(all)) assert.equal(status, 504)
  assert.equal(turns.all, all.length)
  assert.ok(turns.most <= 2 * 128, `${turns.most} in one turn`) // the check phase may have two parts
})
