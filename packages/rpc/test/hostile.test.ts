// Calls of a client that wants to take more than it gives.
import assert from 'node:assert/strict'
import type http2 from 'node:http2'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'

import { create, toBinary } from '@bufbuild/protobuf'
import { createConnectRouter } from '@connectrpc/connect'
import { HttpServer, type HttpSession } from 'weirjs'
import { cache } from 'weirjs/cache'
import { tlsHeader } from '../../weirjs/test/support/proxy-header.ts'
import { RawClient } from '../../weirjs/test/support/raw-client.ts'
import { gate } from '../../weirjs/test/support/serving.ts'
import { compressed, expanded, inTurn, type Sender } from '../src/compression.ts'
import { frame, fromBase64 } from '../src/frames.ts'
import { Health, health, mapService, mountConnect, type RpcCall, RpcError, type RpcImplementation, type RpcOptions } from '../src/index.ts'
import { countLeftOver } from '../src/left-over.ts'
import { HealthCheckRequestSchema } from '../src/proto/grpc/health/v1/health_pb.ts'
import { type EchoRequest, EchoRequestSchema, EchoService } from './proto/echo_pb.ts'
import { serveCleartext } from './support/cleartext.ts'

function serverOf(implementation: RpcImplementation<typeof EchoService>, options: RpcOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null })
  mapService(server, EchoService, implementation, options)
  return server
}

const post = (server: HttpServer, method: string, body: string | Uint8Array, headers: Readonly<Record<string, string>>) =>
  server.inject({ method: 'POST', url: `/test.v1.EchoService/${method}`, body, headers })

/** What was resolved has gone on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const echo = (text: string, padding = new Uint8Array()): Uint8Array =>
  toBinary(EchoRequestSchema, create(EchoRequestSchema, { text, padding }))

test('base64 in parts of one byte is read as one piece, and a part that is not whole is refused', () => {
  const many = 200_000
  assert.deepEqual(fromBase64('QQ=='.repeat(many)), Buffer.alloc(many, 'A'))
  assert.deepEqual(fromBase64('QUI='.repeat(many)).subarray(-4), Buffer.from('ABAB'))
  assert.deepEqual(fromBase64('QQ==QUJDQUI=QUJD'), Buffer.from('AABCABABC'))
  assert.deepEqual(fromBase64('QQ==QQ'), Buffer.from('AA'))
  for (const text of ['Q===', 'A=A=', '====', '=QQ=', 'QQ=Q', 'QQ==Q*==', 'QQ==é', 'QQ==\u0141Q=='])
    assert.throws(() => fromBase64(text), { code: 'invalid_argument' }, text)
})

test('messages in a row let other connections have their turn, in both directions', async () => {
  const count = 1_000
  let seen = 0
  const server = serverOf({
    async gather(requests) {
      for await (const _ of requests) seen++
      return {}
    },
    async *repeat() {
      for (; seen < 2 * count; seen++) yield {}
    },
  })
  const turnsFor = async (method: string, body: Uint8Array): Promise<number> => {
    let isOver = false
    let turns = 0
    const turn = (): void => {
      turns++
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    assert.equal((await post(server, method, body, { 'Content-Type': 'application/connect+proto' })).status, 200)
    isOver = true
    return turns
  }
  const read = await turnsFor('Gather', Buffer.alloc(5 * count))
  assert.equal(seen, count)
  const made = await turnsFor('Repeat', frame(0, Buffer.alloc(0)))
  assert.equal(seen, 2 * count)
  for (const turns of [read, made]) assert.ok(turns >= 10, `${turns} turns`)
})

test('a message that is not valid fails its call only, wherever it is in a row', async () => {
  let failed = 0
  const server = serverOf({
    async gather(requests) {
      try {
        for await (const _ of requests);
      } catch (error) {
        failed++
        throw error
      }
      return {}
    },
  })
  const counts = [0, 62, 63, 64, 127] // a row has 64
  for (const count of counts) {
    const body = Buffer.concat([...Array.from({ length: count }, () => frame(0, echo('a'))), frame(7, echo('a'))])
    const response = await post(server, 'Gather', body, { 'Content-Type': 'application/grpc-web+proto' })
    assert.equal(response.headers.get('grpc-status') ?? /grpc-status: ?(\d+)/.exec(response.text())?.[1], '3', `after ${count}`)
  }
  assert.equal(failed, counts.length)
})

test('fields that a message does not declare are left out', async () => {
  let got: EchoRequest | null = null
  const server = serverOf({
    say(request) {
      got = request
      return { text: request.text }
    },
  })
  const unknown = Buffer.alloc(10_000, Buffer.from([0x78, 1]))
  const body = Buffer.concat([echo('hi'), unknown])
  assert.equal((await post(server, 'Say', body, { 'Content-Type': 'application/proto' })).status, 200)
  assert.deepEqual([got!.text, got!.$unknown], ['hi', undefined])
})

test('a message becomes at most maxRatio times as large when it is decompressed', async () => {
  const sizeOf = ({ padding }: EchoRequest) => ({ index: padding.length })
  const send = async (size: number, options: RpcOptions = {}): Promise<string> => {
    const one = serverOf({ say: sizeOf, peek: sizeOf }, options)
    const bytes = gzipSync(echo('', new Uint8Array(size)))
    const whole = await post(one, 'Say', bytes, { 'Content-Type': 'application/proto', 'Content-Encoding': 'gzip' })
    const framed = await post(one, 'Say', frame(1, bytes), { 'Content-Type': 'application/grpc-web', 'grpc-encoding': 'gzip' })
    const query = `message=${bytes.toString('base64url')}&base64=1&compression=gzip&encoding=proto`
    const get = await one.inject({ url: `/test.v1.EchoService/Peek?${query}` })
    return `${whole.status} ${/grpc-status: (\d+)/.exec(framed.text())?.[1]} ${get.status}`
  }
  assert.equal(await send(500_000), '200 0 200')
  assert.equal(await send(1_000_000), '429 8 429')
  assert.equal(await send(1_000_000, { maxRatio: Number.POSITIVE_INFINITY }), '200 0 200')
  assert.equal(await send(1_000_000, { maxRatio: 2_000, maxMessageSize: '900KiB' }), '429 8 429')
})

async function sessionAt(address: string): Promise<HttpSession> {
  let session: HttpSession
  const server = new HttpServer().get('/', (_, own) => {
    session = own
    return ''
  })
  await server.inject({ url: '/', peer: { address } })
  return session!
}

const ADDRESSES = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '2001:db8::1', '2001:db8::2']
const SESSIONS = new Map(await Promise.all(ADDRESSES.map(async (one) => [one, await sessionAt(one)] as const)))
const senderAt = (address: string, signal = new AbortController().signal): Sender => ({ session: SESSIONS.get(address)!, signal })
const ONE = senderAt('10.0.0.1')
const LIMITS = { maxMessageSize: 4 * 1024 * 1024, maxRatio: 100 }
const isNow = (one: unknown): boolean => !(one instanceof Promise)

test('a turn decompresses and compresses few small messages itself, and leaves the others to the thread pool', async () => {
  const bomb = gzipSync(new Uint8Array(60_000))
  await settle()
  const all = Array.from({ length: 1_000 }, () => expanded(bomb, ONE, LIMITS))
  const now = all.filter(isNow).length
  assert.ok(now > 10 && now < 100, `${now} at once`)
  assert.ok(!isNow(compressed(Buffer.alloc(30_000))), 'what is compressed counts, too')
  for (const one of await Promise.all(all)) assert.equal(one.length, 60_000)
  await settle()
  const texts = Array.from({ length: 300 }, () => compressed(Buffer.alloc(30_000, 'a')))
  assert.ok(texts.filter(isNow).length < 100, `${texts.filter(isNow).length} at once`)
  for (const one of await Promise.all(texts)) assert.deepEqual(gunzipSync(one), Buffer.alloc(30_000, 'a'))
})

test('a message that becomes nothing counts by what it has compressed', async () => {
  await settle()
  const parts = Buffer.concat(Array.from({ length: 190 }, () => gzipSync('')))
  const all = Array.from({ length: 1_000 }, () => expanded(parts, ONE, LIMITS))
  const now = all.filter(isNow).length
  assert.ok(now > 10 && now < 100, `${now} at once`)
  for (const one of await Promise.all(all)) assert.equal(one.length, 0)
})

test('a message that states a wrong size, in parts or beyond a limit, is decompressed as any other', async () => {
  const stating = (bytes: Buffer, size: number): Buffer => {
    const changed = Buffer.from(bytes)
    changed.writeUInt32LE(size, bytes.length - 4)
    return changed
  }
  const parts = Buffer.concat([gzipSync(Buffer.alloc(5_000, 'a')), gzipSync('b')])
  await settle()
  const whole = expanded(parts, ONE, LIMITS)
  assert.ok(!isNow(whole))
  assert.deepEqual(await whole, Buffer.concat([Buffer.alloc(5_000, 'a'), Buffer.from('b')]))
  const refused = async (bytes: Uint8Array, code: string, limits = LIMITS): Promise<void> => {
    await settle()
    await assert.rejects(async () => expanded(bytes, ONE, limits), { code })
  }
  const zeros = gzipSync(new Uint8Array(60_000))
  for (const size of [0, 1, 59_999, 60_001, 2 ** 32 - 1]) await refused(stating(zeros, size), 'invalid_argument')
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.alloc(3),
    Buffer.alloc(100),
    zeros.subarray(0, -1),
    Buffer.concat([zeros, Buffer.from('x')]),
  ])
    await refused(bytes, 'invalid_argument')
  await refused(zeros, 'resource_exhausted', { ...LIMITS, maxMessageSize: 59_999 })
  await refused(stating(zeros, 10), 'resource_exhausted', { ...LIMITS, maxMessageSize: 20_000 })
  await refused(gzipSync(new Uint8Array(3_000_000)), 'resource_exhausted')
  assert.equal((await expanded(zeros, ONE, { ...LIMITS, maxMessageSize: 60_000 })).length, 60_000)
  assert.equal((await expanded(gzipSync(''), ONE, LIMITS)).length, 0)
})

test('two messages at a time are decompressed, and the clients that have sent them take turns', async () => {
  const one = ONE
  const [two, three, four] = ['10.0.0.2', '2001:db8::1', '2001:db8::2'].map((address) => senderAt(address)) as [Sender, Sender, Sender]
  const begun: string[] = []
  const ends: (() => void)[] = []
  const work = (sender: Sender, name: string): Promise<unknown> =>
    inTurn(sender, () => {
      begun.push(name)
      if (name.endsWith('!')) throw new Error('no')
      return new Promise<void>((resolve) => ends.push(resolve))
    }).catch(() => {})
  const all = [1, 2, 3, 4, 5].map((n) => work(one, `a${n}`))
  all.push(work(two, 'b1'), work(two, 'b2!'), work(three, 'c1'), work(four, 'c2'))
  const passed = new RpcError('deadline_exceeded', 'the deadline has passed')
  const leaver = new AbortController()
  const leavers = ['10.0.0.2', '10.0.0.3'].map((address) => inTurn(senderAt(address, leaver.signal), assert.fail))
  await settle()
  assert.deepEqual(begun, ['a1', 'a2'])
  leaver.abort(passed)
  // At once, so that nothing is kept for them until their turn.
  for (const late of [...leavers, inTurn(senderAt('10.0.0.2', leaver.signal), assert.fail)]) await assert.rejects(late, passed)
  while (ends.length > 0) {
    ends.shift()!()
    await settle()
  }
  await Promise.all(all)
  assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2!', 'c2', 'a5'])
  await inTurn(one, async () => {})
})

test('whoever sends one compressed message does not wait for all that another client has sent, in any form', async () => {
  const done: string[] = []
  const reply = ({ text }: EchoRequest) => {
    done.push(text)
    return { text }
  }
  const server = serverOf({
    say: reply,
    peek: reply,
    async gather(requests) {
      for await (const request of requests) reply(request)
      return {}
    },
  })
  const zipped = (text: string): Buffer => gzipSync(echo(text, new Uint8Array(400_000)))
  const send = (form: number, text: string, address: string): Promise<unknown> => {
    const peer = { address }
    if (form === 0) {
      const url = `/test.v1.EchoService/Peek?message=${zipped(text).toString('base64url')}&base64=1&compression=gzip&encoding=proto`
      return server.inject({ url, peer })
    }
    const isStream = form === 1
    const headers = isStream
      ? { 'Content-Type': 'application/connect+proto', 'Connect-Content-Encoding': 'gzip' }
      : { 'Content-Type': 'application/proto', 'Content-Encoding': 'gzip' }
    const body = isStream ? frame(1, zipped(text)) : zipped(text)
    return server.inject({ method: 'POST', url: `/test.v1.EchoService/${isStream ? 'Gather' : 'Say'}`, body, headers, peer })
  }
  const flood = Array.from({ length: 90 }, (_, i) => send(i % 3, 'many', '10.0.0.1'))
  const others = [0, 1, 2].map((form) => send(form, 'one', `10.0.1.${form}`))
  await Promise.all([...flood, ...others])
  assert.equal(done.length, 93)
  assert.ok(done.lastIndexOf('one') < 30, `the last of the others came after ${done.lastIndexOf('one')} messages`)
})

test('a page of another site gets nothing compressed with what tells whose request it is', async () => {
  const server = serverOf({ say: ({ text }) => ({ text }) })
  const codingFor = async (fields: Readonly<Record<string, string>>): Promise<string | null> => {
    const all = { 'Content-Type': 'application/proto', 'Accept-Encoding': 'gzip', ...fields }
    return (await post(server, 'Say', echo('a'.repeat(10_000)), all)).headers.get('content-encoding')
  }
  const site = { 'Sec-Fetch-Site': 'cross-site' }
  for (const fields of [
    { ...site, Cookie: 'id=1' },
    { ...site, Authorization: 'Basic YTpi' },
  ])
    assert.equal(await codingFor(fields), null)
  for (const fields of [site, { Authorization: 'Basic YTpi' }, { 'Sec-Fetch-Site': 'same-origin', Cookie: 'id=1' }])
    assert.equal(await codingFor(fields), 'gzip')
})

test('nor where a proxy has verified a certificate', async (t) => {
  const server = new HttpServer({ hosts: 'any', listen: [{ proxyProtocol: 'required' }], proxies: { trust: ['127.0.0.1'] }, logger: null })
  mapService(server, EchoService, { say: ({ text }) => ({ text }) })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const isCompressed = async (isVerified: boolean, site: string): Promise<boolean> => {
    const client = await RawClient.connect(server.port)
    const body = Buffer.from(echo('a'.repeat(10_000))).toString('latin1')
    const fields = ['Host: localhost', 'Content-Type: application/proto', 'Accept-Encoding: gzip', `Sec-Fetch-Site: ${site}`]
    const head = `POST /test.v1.EchoService/Say HTTP/1.1\r\n${fields.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n`
    client.send(tlsHeader('Ann', isVerified)).send(Buffer.from(head + body, 'latin1'))
    const { status, fields: got } = await client.message()
    client.destroy()
    assert.equal(status, 200)
    return got.some(([name]) => name.toLowerCase() === 'content-encoding')
  }
  assert.deepEqual([await isCompressed(true, 'cross-site'), await isCompressed(true, 'same-origin')], [false, true])
  assert.equal(await isCompressed(false, 'cross-site'), true)
})

test('a response to GET is kept for all clients, and none gets it in a compression that it does not take', async () => {
  let made = 0
  const server = serverOf({ peek: ({ text }) => ({ text: text.repeat(2_000), index: ++made }) }, { use: [cache({ maxAge: '1m' })] })
  const get = async (fields: Readonly<Record<string, string>>): Promise<string> => {
    const url = '/test.v1.EchoService/Peek?encoding=json&message={"text":"a"}'
    const { headers } = await server.inject({ url: url.replaceAll('"', '%22'), headers: fields })
    return `${headers.get('vary')} ${headers.get('content-encoding')}`
  }
  // Then the calls of each client are counted.
  const left = gate()
  server.mapGet('/left-over', (_, session) => countLeftOver(session, left.promise))
  await server.inject('/left-over')
  const kept: Readonly<Record<string, string>>[] = [{}, { 'Accept-Encoding': 'gzip' }, { 'Sec-Fetch-Site': 'cross-site', Cookie: 'id=1' }]
  for (let round = 0; round < 2; round++)
    for (const fields of kept) {
      const shown = `accept-encoding ${'Accept-Encoding' in fields ? 'gzip' : null}`
      assert.equal((await get(fields)).toLowerCase(), shown, JSON.stringify(fields))
    }
  assert.equal(made, 2)
  await get({ 'Accept-Encoding': 'gzip, br', 'Sec-Fetch-Site': 'cross-site', Cookie: 'id=1' })
  await get({ 'Accept-Encoding': 'gzip, br' })
  assert.equal(made, 3, 'cookies that are only counted')
  left.open()
})

test('calls whose deadline has passed, or that nobody implements, write nothing in the log', async (t) => {
  const alive = setInterval(() => {}, 1_000) // deadlines keep no process alive
  t.after(() => clearInterval(alive))
  const lines: string[] = []
  const server = new HttpServer({ logger: { error: (message) => void lines.push(message.replace(/ \(request .*/, '')) } })
  const never = new Promise<never>(() => {})
  mapService(server, EchoService, {
    say: () => never,
    async *repeat() {
      yield await never
    },
  })
  const call = (method: string, type: string) => post(server, method, frameFor(type), { 'Content-Type': type, 'Connect-Timeout-Ms': '1' })
  const frameFor = (type: string): Uint8Array =>
    type.includes('connect') ? Buffer.concat([Buffer.from([0, 0, 0, 0, 4]), echo('hi')]) : echo('hi')
  for (let i = 0; i < 20; i++) {
    assert.equal((await call('Say', 'application/proto')).status, 504)
    assert.match((await call('Repeat', 'application/connect+proto')).text(), /deadline_exceeded/)
    assert.match((await call('Gather', 'application/connect+proto')).text(), /unimplemented/)
    assert.match((await call('Say', 'application/grpc')).headers.get('grpc-status') ?? '', /12/)
  }
  assert.deepEqual(lines, [])
})

test('no deadline goes on after its call has failed, whatever failed', async (t) => {
  const running = new Set<unknown>()
  const { setTimeout: set, clearTimeout: clear } = globalThis
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms?: number) => {
    const timer = set(work, ms)
    if (ms === 3_599_000) running.add(timer)
    return timer
  })
  t.mock.method(globalThis, 'clearTimeout', (timer: NodeJS.Timeout) => {
    running.delete(timer)
    clear(timer)
  })
  const server = serverOf({
    say({ text }) {
      if (text === 'fail') throw new Error('no')
      return { text }
    },
    repeat({ text }) {
      if (text === 'fail') throw new Error('no')
      return (text === 'nothing' ? {} : failing()) as AsyncIterable<object>
    },
    async *converse() {
      yield {}
    },
  })
  async function* failing() {
    yield {}
    throw new Error('no')
  }
  const broken = Buffer.from([0x0a, 0xff])
  for (const method of ['Say', 'Peek', 'Repeat', 'Gather', 'Converse'])
    for (const message of [broken, echo('fail'), echo('nothing'), echo('')])
      await post(server, method, frame(0, message), { 'Content-Type': 'application/grpc-web', 'grpc-timeout': '3599S' })
  assert.equal(running.size, 0)
  t.mock.restoreAll()
})

function request(client: http2.ClientHttp2Session, path: string, fields: Readonly<Record<string, string>> = {}): http2.ClientHttp2Stream {
  return client.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...fields })
}

test('what a client sends comes back in grpc-message only in part', async (t) => {
  const client = await serveCleartext(t, (server) => mapService(server, Health, health(server)))
  const service = 'ä'.repeat(1_000_000)
  const stream = request(client, '/grpc.health.v1.Health/Check')
  const head = new Promise<http2.IncomingHttpHeaders>((resolve, reject) => stream.once('response', resolve).once('error', reject))
  stream.end(frame(0, toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service }))))
  const { 'grpc-status': status, 'grpc-message': message } = await head
  assert.equal(status, '5')
  assert.match(decodeURIComponent(String(message)), /^there is no service ä+…$/)
  assert.ok(String(message).length < 8_192)
  stream.close()
})

test('a deadline ends a call whose client neither sends nor ends', async (t) => {
  const ended: string[] = []
  const calls: RpcCall[] = []
  const client = await serveCleartext(t, (server) =>
    mapService(server, EchoService, {
      async gather(requests, call) {
        calls.push(call)
        try {
          for await (const _ of requests);
          return {}
        } finally {
          ended.push('gather')
        }
      },
      async *converse(requests, call) {
        calls.push(call)
        try {
          for await (const { text } of requests) yield { text }
        } finally {
          ended.push('converse')
        }
      },
    }),
  )
  for (const method of ['Gather', 'Converse']) {
    const stream = request(client, `/test.v1.EchoService/${method}`, { 'grpc-timeout': '200m' })
    const outcome = new Promise<string>((resolve) => {
      const read = (fields: http2.IncomingHttpHeaders): void => {
        if (fields['grpc-status'] !== undefined) resolve(String(fields['grpc-status']))
      }
      stream
        .on('response', read)
        .on('trailers', read)
        .on('error', () => resolve('error'))
    })
    stream.resume().write(frame(0, echo('x')))
    assert.equal(await outcome, '4', method)
    await new Promise((resolve) => (stream.closed ? resolve(null) : stream.once('close', resolve)))
  }
  while (ended.length < 2) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(ended, ['gather', 'converse'])
  assert.ok(calls.every(({ signal }) => signal.aborted))
})

test('unary methods of a router of Connect have the limits of the server', async () => {
  const server = new HttpServer({ logger: null, limits: { maxRequestBodySize: 1_000 } })
  const called: number[] = []
  mountConnect(
    server,
    createConnectRouter().service(EchoService, {
      say: ({ text }) => {
        called.push(text.length)
        return { text: '' }
      },
    }),
  )
  const say = (length: number) =>
    post(server, 'Say', JSON.stringify({ text: 'x'.repeat(length) }), {
      'Content-Type': 'application/json',
      'Connect-Protocol-Version': '1',
    })
  assert.equal((await say(500)).status, 200)
  assert.ok((await say(2_000)).status >= 400)
  assert.deepEqual(called, [500])
})
