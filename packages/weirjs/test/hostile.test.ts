// Hostile clients on real sockets, and a good client next to them: it is served all the time, and each of the others is cut off by the
// limit that applies to it.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'

import type { HttpServer, HttpSession, Limits, Timeouts } from '../src/index.ts'
import type { Message, RawClient } from './support/raw-client.ts'
import { eventually, gate, inBothReadModes, type Serving, within } from './support/serving.ts'
import { standsStill } from './support/standing-still.ts'

const MIB = 1024 * 1024
const LIMITS: Partial<Limits> = { maxRequestHeaderSize: 32 * 1024, maxRequestBodySize: MIB, maxDrainSize: 64 * 1024 }

/** A client that sends a request, waits for its response and repeats this until the others are done. */
async function besideGoodClient({ connect }: Serving, attack: () => Promise<void>): Promise<void> {
  const good = await connect()
  let isOver = false
  let served = 0
  const serving = (async () => {
    do {
      const response = await good.get(`/good/${served}`).message()
      assert.deepEqual([response.status, response.text], [200, `good ${served}`])
      served++
      await new Promise((resolve) => setTimeout(resolve, 1))
    } while (!isOver)
  })()
  serving.catch(() => {})
  try {
    await attack()
  } finally {
    isOver = true
  }
  await serving
  assert.equal((await good.get('/good/last').message()).text, 'good last')
}

const mapGood = (server: HttpServer): HttpServer => server.mapGet('/good/:n', ({ n }) => `good ${n}`)

/** Sends the same piece until the server refuses it, or should have refused it. */
async function flood(client: RawClient, piece: Buffer, mostBytes: number): Promise<void> {
  for (let sent = 0; sent < mostBytes && !client.isClosed && client.waitingBytes === 0; sent += piece.length) {
    client.send(piece)
    if (client.unsentBytes > MIB) await new Promise((resolve) => setTimeout(resolve, 2))
    else if (sent % (16 * piece.length) === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

const codeOf = (response: Message): unknown => (response.json() as { code: string }).code

inBothReadModes('hostile clients', (serve) => {
  // Floods of one request.

  const floods: [what: string, start: string, piece: string, status: number, code: string][] = [
    ['a method without an end', '', 'A'.repeat(1_000), 501, 'WEIR_METHOD_TOO_LONG'],
    ['a target without an end', 'GET /', 'a'.repeat(1_000), 414, 'WEIR_TARGET_TOO_LONG'],
    ['a field without an end', 'GET / HTTP/1.1\r\nHost: h\r\nX: ', 'a'.repeat(1_000), 431, 'WEIR_HEAD_TOO_LARGE'],
    ['fields without an end', 'GET / HTTP/1.1\r\nHost: h\r\n', 'X: y\r\n'.repeat(50), 431, 'WEIR_TOO_MANY_FIELDS'],
    [
      'a chunked body without an end',
      'POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n',
      `4000\r\n${'x'.repeat(16_384)}\r\n`,
      413,
      'WEIR_BODY_TOO_LARGE',
    ],
    [
      'a streamed chunked body without an end',
      'POST /count HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n',
      `4000\r\n${'x'.repeat(16_384)}\r\n`,
      413,
      'WEIR_BODY_TOO_LARGE',
    ],
    [
      'tiny chunks without an end',
      'POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1\r\nx\r\n'.repeat(1_000),
      413,
      'WEIR_BODY_TOO_LARGE',
    ],
    [
      'chunk extensions without an end',
      'POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n',
      `1;${'a'.repeat(500)}\r\nx\r\n`,
      400,
      'WEIR_CHUNK_EXTENSIONS_TOO_LARGE',
    ],
    [
      'one chunk extension without an end',
      'POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;a=',
      'a'.repeat(1_000),
      400,
      'WEIR_CHUNK_EXTENSIONS_TOO_LARGE',
    ],
    [
      'trailers without an end',
      'POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n',
      'X: y\r\n'.repeat(50),
      431,
      'WEIR_TOO_MANY_FIELDS',
    ],
  ]
  for (const [what, start, piece, status, code] of floods) {
    test(`${what} is refused with ${status}, and others are served`, async (t) => {
      const serving = await serve(
        t,
        (server) =>
          mapGood(server)
            .mapPost('/echo', (_, { request }) => request.body)
            .mapPost('/count', { body: 'stream' }, async (_, { request }) => {
              let bytes = 0
              for await (const piece of request.bodyStream()) bytes += (piece as Buffer).length
              return bytes
            }),
        { limits: LIMITS },
      )
      await besideGoodClient(serving, async () => {
        const attackers = await Promise.all(Array.from({ length: 5 }, () => serving.connect()))
        await Promise.all(
          attackers.map(async (attacker) => {
            attacker.send(start)
            await flood(attacker, Buffer.from(piece), 32 * MIB)
            const response = await attacker.message()
            assert.deepEqual([response.status, codeOf(response), response.header('connection')], [status, code, 'close'])
            assert.equal((await attacker.rest()).length, 0)
          }),
        )
      })
    })
  }

  test('100,000 chunks of one byte are a body like any other', async (t) => {
    const serving = await serve(t, (server) => mapGood(server).mapPost('/echo', (_, { request }) => request.bodyLength), { limits: LIMITS })
    await besideGoodClient(serving, async () => {
      const client = await serving.connect()
      client.send('POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n')
      client.send(`${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`)
      assert.equal((await client.message()).text, '100000')
    })
  })

  // Floods of requests and connections.

  test('endless requests whose responses are not read wait in the sockets, and the server cuts them off', async (t) => {
    let made = 0
    const serving = await serve(
      t,
      (server) =>
        mapGood(server).mapGet('/', () => {
          made++
          return 'x'.repeat(10_000)
        }),
      { timeouts: { writeTimeout: 4_000 } },
    )
    await besideGoodClient(serving, async () => {
      const attackers = await Promise.all(Array.from({ length: 10 }, () => serving.connect()))
      const requests = Buffer.from('GET / HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(300_000))
      const before = process.memoryUsage().arrayBuffers
      for (const attacker of attackers) attacker.pause().send(requests)
      await standsStill(() => made)
      const grown = process.memoryUsage().arrayBuffers - before
      assert.ok(made < attackers.length * 5_000, `${made} responses were produced`)
      assert.ok(
        attackers.every(({ unsentBytes }) => unsentBytes > 0),
        'the server has read everything',
      )
      assert.ok(grown < 64 * MIB, `${grown} bytes are held for clients that do not read`)
      // A client that reads again notices that the connection has ended.
      await Promise.all(attackers.map((attacker) => within(goneWithoutReading(attacker), 'the end of an attacker')))
    })
    assert.deepEqual(await within(serving.server.stop(), 'the stop'), { aborted: 0 })
  })

  test('connections above maxConnections are closed immediately, and there is room again when others leave', async (t) => {
    const serving = await serve(t, mapGood, { limits: { maxConnections: 20 } })
    await besideGoodClient(serving, async () => {
      const attackers = await Promise.all(Array.from({ length: 200 }, () => serving.connect()))
      await eventually(() => attackers.filter(({ isClosed }) => isClosed).length === 181, 'the end of 181 of 200 connections')
      const held = attackers.filter(({ isClosed }) => !isClosed)
      for (const one of held) assert.equal((await one.get('/good/x').message()).status, 200)
      for (const one of held) one.reset()
      await within(servedAgain(serving), 'room for another connection')
    })
  })

  // Clients that are slow, or silent.

  const slow: [what: string, timeouts: Partial<Timeouts>, bytes: string, drip: string, status: number, code: string][] = [
    ['a head that never ends', { headersTimeout: 200 }, 'GET / HTTP/1.1\r\nHost: h\r\n', 'X: y\r\n', 408, 'WEIR_HEAD_TIMEOUT'],
    [
      'a body that trickles',
      { bodyGracePeriod: 100, minBodyRate: 1_000 },
      'POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n',
      'x',
      408,
      'WEIR_BODY_TOO_SLOW',
    ],
  ]
  for (const [what, timeouts, bytes, drip, status, code] of slow) {
    test(`${what} is refused with ${status}, and others are served`, async (t) => {
      const serving = await serve(t, (server) => mapGood(server).mapPost('/echo', (_, { request }) => request.body), { timeouts })
      await besideGoodClient(serving, async () => {
        const attackers = await Promise.all(Array.from({ length: 20 }, () => serving.connect()))
        for (const attacker of attackers) attacker.send(bytes)
        const dripping = setInterval(() => {
          for (const attacker of attackers) if (!attacker.isClosed && attacker.waitingBytes === 0) attacker.send(drip)
        }, 20)
        try {
          for (const attacker of attackers) {
            const response = await attacker.message()
            assert.deepEqual([response.status, codeOf(response), response.header('connection')], [status, code, 'close'])
          }
        } finally {
          clearInterval(dripping)
        }
      })
    })
  }

  test('silent connections are closed without a response', async (t) => {
    const serving = await serve(t, mapGood, { timeouts: { keepAliveTimeout: 200 } })
    await besideGoodClient(serving, async () => {
      const attackers = await Promise.all(Array.from({ length: 50 }, () => serving.connect()))
      for (const attacker of attackers) assert.equal(await attacker.rest(), '')
    })
  })

  test('a stream that is not read is aborted, and its handler learns why', async (t) => {
    const reasons: unknown[] = []
    let closed = 0
    const serving = await serve(
      t,
      (server) =>
        mapGood(server).mapGet('/endless', async function* (_, { signal }) {
          signal.addEventListener('abort', () => reasons.push((signal.reason as { code?: string }).code))
          try {
            for (;;) yield Buffer.alloc(64 * 1024)
          } finally {
            closed++
          }
        }),
      { timeouts: { writeTimeout: 300 } },
    )
    await besideGoodClient(serving, async () => {
      const attackers = await Promise.all(Array.from({ length: 10 }, () => serving.connect()))
      for (const attacker of attackers) attacker.pause().get('/endless')
      await eventually(() => closed === attackers.length, 'the end of all streams')
      assert.deepEqual(
        reasons,
        attackers.map(() => 'WEIR_WRITE_TIMEOUT'),
      )
    })
  })

  test('a source that never waits ends when its client leaves, and others are served', async (t) => {
    // A client in a separate process, which reads as fast as the server writes, up to 2 MB, and leaves.
    const MOST_PIECES = 50_000
    const piece = Buffer.alloc(16 * 1024)
    let pieces = 0
    let isClosed = false
    const serving = await serve(t, (server) =>
      mapGood(server).mapGet('/endless', async function* () {
        try {
          while (pieces++ < MOST_PIECES) yield piece
        } finally {
          isClosed = true
        }
      }),
    )
    const script = `exec 3<>/dev/tcp/127.0.0.1/${serving.server.port}; printf 'GET /endless HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n' >&3; head -c 2000000 <&3`
    await besideGoodClient(serving, async () => {
      const client = spawn('bash', ['-c', script], { stdio: 'ignore' })
      t.after(() => client.kill())
      await eventually(() => isClosed, 'the end of the stream')
    })
    assert.ok(pieces < MOST_PIECES, 'the stream was read to its end for a client that had left')
  })

  test('a source that yields empty pieces again and again makes no other request wait', async (t) => {
    let isClosed = false
    const serving = await serve(t, (server) =>
      mapGood(server).mapGet('/nothing', async function* () {
        try {
          for (;;) yield ''
        } finally {
          isClosed = true
        }
      }),
    )
    await besideGoodClient(serving, async () => {
      const client = (await serving.connect()).get('/nothing')
      await new Promise((resolve) => setTimeout(resolve, 50))
      client.reset()
      await eventually(() => isClosed, 'the end of the stream')
    })
  })

  // Clients that leave, in every phase and in every way.

  const BODY = 'POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf'
  const phases: [phase: string, bytes: string, reaches: string | null][] = [
    ['before a head', '', null],
    ['in a head', 'GET / HTTP/1.1\r\nHo', null],
    ['in a body', BODY, null],
    ['in a body that a handler reads', BODY.replace('/body', '/read'), 'read'],
    ['in a body that is not read', BODY.replace('/body', '/unread'), 'unread'],
    ['while a handler runs', 'GET /wait HTTP/1.1\r\nHost: h\r\n\r\n', 'wait'],
    ['while a response streams', 'GET /stream HTTP/1.1\r\nHost: h\r\n\r\n', 'stream'],
    ['between two requests', 'GET /good/1 HTTP/1.1\r\nHost: h\r\n\r\n', null],
    ['with requests still waiting', 'GET /wait HTTP/1.1\r\nHost: h\r\n\r\nGET /good/1 HTTP/1.1\r\nHost: h\r\n\r\n', 'wait'],
  ]
  const ways: [way: string, leave: (client: RawClient) => unknown][] = [
    ['ends its side', (client) => client.end()],
    ['closes', (client) => client.destroy()],
    ['resets', (client) => client.reset()],
  ]
  for (const [phase, bytes, reaches] of phases) {
    for (const [way, leave] of ways) {
      test(`a client that ${way} ${phase} leaves nothing behind, and others are served`, async (t) => {
        const COUNT = 10
        const reached: string[] = []
        const go = gate()
        let running = 0
        const watch = async (name: string, handle: () => Promise<unknown>): Promise<unknown> => {
          running++
          reached.push(name)
          try {
            return await handle()
          } finally {
            running--
          }
        }
        const map = (server: HttpServer): unknown =>
          mapGood(server)
            .mapPost('/body', (_, { request }) => request.body)
            .mapPost('/read', { body: 'stream' }, (_, { request }) => watch('read', () => request.bufferBody()))
            .mapPost('/unread', { body: 'stream' }, (_, session) => watch('unread', () => Promise.race([aborted(session), go.promise])))
            .mapGet('/wait', (_, session) => watch('wait', () => aborted(session)))
            .mapGet('/stream', async function* (_, session) {
              running++
              reached.push('stream')
              try {
                for (;;) {
                  yield 'piece'
                  await new Promise((resolve) => setTimeout(resolve, 5))
                  if (session.signal.aborted) return
                }
              } finally {
                running--
              }
            })
        const serving = await serve(t, map, { timeouts: { lingerTimeout: 100 } })
        await besideGoodClient(serving, async () => {
          const attackers = await Promise.all(Array.from({ length: COUNT }, () => serving.connect()))
          for (const attacker of attackers) if (bytes !== '') attacker.send(bytes)
          if (reaches !== null) await eventually(() => reached.filter((name) => name === reaches).length === COUNT, 'the handlers')
          else if (phase === 'between two requests') for (const attacker of attackers) await attacker.message()
          for (const attacker of attackers) leave(attacker)
          // A socket is not read while its body is not read. Then it shows a reset, but not an end, which waits for the handler.
          if (reaches === 'unread' && way !== 'resets') go.open()
          await eventually(() => attackers.every(({ isClosed }) => isClosed), 'the end of all of them')
        })
        // Nothing that these clients began may keep the server from stopping: neither a connection nor a handler.
        assert.deepEqual(await within(serving.server.stop({ graceMs: 60_000 }), 'the stop'), { aborted: 0 })
        assert.equal(running, 0)
        assert.deepEqual(serving.logged, [])
      })
    }
  }
})

/** Resolves when the signal of a request fires. */
function aborted({ signal }: HttpSession): Promise<void> {
  const { promise, open } = gate()
  if (signal.aborted) open()
  else signal.addEventListener('abort', () => open())
  return promise
}

/** A client that has been cut off notices it once it reads, or writes, again. */
async function goneWithoutReading(client: RawClient): Promise<void> {
  await eventually(() => {
    client.send('GET / HTTP/1.1\r\n')
    return client.isClosed
  }, 'the end of the connection')
}

async function servedAgain({ connect }: Serving): Promise<void> {
  for (;;) {
    const client = await connect()
    const response = await client
      .get('/good/again')
      .message()
      .catch(() => null)
    if (response?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
