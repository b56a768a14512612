// Responses whose last piece uses up a flow-control window of the client exactly (RFC 9113 §5.2, §8.1): they still end with END_STREAM.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ByteSource } from '../../src/http/response/byte-source.ts'

import type { HttpServer } from '../../src/index.ts'
import { ACK, DATA, END_STREAM, type Frame, HEADERS, INITIAL_WINDOW_SIZE, PING, RawHttp2, RST_STREAM } from '../support/http2-client.ts'
import { Http2OnClock } from '../support/http2-on-clock.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { gate } from '../support/serving.ts'

const PIECE = 16 * 1024
/** Pieces that are all full, a last piece that is not, and many pieces. */
const SIZES = [4 * PIECE, 4 * PIECE - 1, 500_000]

const head = (path: string, method = 'GET'): (readonly [string, string])[] => [
  [':method', method],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', path],
]

/** A body in pieces. The last is followed by `rest`, and only then by the end. */
async function* pieces(size: number, rest: () => unknown): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; at += PIECE) yield Buffer.alloc(Math.min(PIECE, size - at), 'x')
  await rest()
}

const immediately = (): void => {}
const turns = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
}

function sizeOf({ frames }: RawHttp2, stream: number): number {
  return frames.reduce((sum, frame) => sum + (frame.type === DATA && frame.stream === stream ? frame.payload.length : 0), 0)
}

/** How a stream has ended so far, in the order of the frames. */
function endsOf({ frames }: RawHttp2, stream: number): string[] {
  const endOf = ({ type, flags, payload }: Frame): string | null => {
    if (type === RST_STREAM) return `reset ${payload.readUInt32BE(0)}`
    return (type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0 ? 'end' : null
  }
  return frames.flatMap((frame) => (frame.stream === stream ? (endOf(frame) ?? []) : []))
}

/** Waits until the server has sent everything that it sends without further frames. */
async function settle(client: RawHttp2): Promise<void> {
  const pongs = (): number => client.frames.filter(({ type, flags }) => type === PING && (flags & ACK) !== 0).length
  for (let round = 0; round < 3; round++) {
    const before = pongs()
    client.frame(PING, 0, 0, Buffer.alloc(8))
    await client.until(() => pongs() > before, 'the acknowledgement of PING')
  }
}

/** A client whose window for each stream, or for the whole connection, holds `size` bytes. */
async function clientWithRoom(t: TestContext, port: number, size: number, isWholeConnection = false): Promise<RawHttp2> {
  const settings = { [INITIAL_WINDOW_SIZE]: isWholeConnection ? 2 ** 30 : size }
  const client = await RawHttp2.connect(t, port, settings)
  if (!isWholeConnection) client.allow(0, 2 ** 30)
  else if (size > 65_535) client.allow(0, size - 65_535)
  return client
}

const serve = (t: TestContext, map: (server: HttpServer) => void): Promise<number> =>
  serveHttp2(t, map, { limits: { maxDrainSize: 1_000 } }).then(({ server }) => server.port)

for (const size of SIZES) {
  const known: readonly (readonly [what: string, map: (server: HttpServer) => void])[] = [
    ['bytes', (server) => server.mapGet('/', () => Buffer.alloc(size, 'x'))],
    [
      'a stream with Content-Length',
      (server) =>
        server.mapGet('/', (_, { response }) => response.header('Content-Length', String(size)).stream(pieces(size, immediately))),
    ],
    [
      'a stream with Content-Length that ends late',
      (server) => server.mapGet('/', (_, { response }) => response.header('Content-Length', String(size)).stream(pieces(size, turns))),
    ],
  ]
  for (const [what, map] of known) {
    for (const isWholeConnection of [false, true]) {
      const window = isWholeConnection ? 'the window of the connection' : 'the window of its stream'
      test(`${size} bytes that use up ${window} end in the last frame of data: ${what}`, async (t) => {
        const client = await clientWithRoom(t, await serve(t, map), size, isWholeConnection)
        client.headers(1, head('/'))
        await client.until(() => sizeOf(client, 1) === size, 'all bytes')
        await settle(client)
        assert.deepEqual(endsOf(client, 1), ['end'])
        const data = client.frames.filter(({ type }) => type === DATA)
        assert.ok(
          data.every(({ payload }) => payload.length > 0),
          'no frame of data is empty',
        )
      })
    }
  }

  // The end of the body is not known when its last piece is sent. END_STREAM alone needs no window (RFC 9113 §6.9.1).
  for (const what of ['immediately', 'late']) {
    for (const method of ['GET', 'POST']) {
      test(`${size} bytes of unknown length that use up a window end without another one: ${method}, a source that ends ${what}`, async (t) => {
        const late = gate()
        const rest = what === 'late' ? () => late.promise : immediately
        const port = await serve(t, (server) => server.map(method, '/', (_, { response }) => response.stream(pieces(size, rest))))
        const client = await clientWithRoom(t, port, size)
        client.headers(1, head('/', method), method === 'GET')
        if (method === 'POST') client.data(1, 'hello', true)
        await client.until(() => sizeOf(client, 1) === size, 'all bytes')
        if (what === 'late') {
          await settle(client)
          assert.deepEqual(endsOf(client, 1), [])
        }
        late.open()
        await client.until(() => endsOf(client, 1).length > 0, 'the end of the stream')
        await settle(client)
        assert.deepEqual(endsOf(client, 1), ['end'])
      })
    }
  }

  const unread: readonly (readonly [what: string, body: (late: Promise<void>) => Uint8Array | ByteSource])[] = [
    ['bytes', () => Buffer.alloc(size, 'x')],
    ['a stream of unknown length', (late) => pieces(size, () => late)],
  ]
  for (const [what, body] of unread) {
    test(`a client that is still uploading is told to stop only after END_STREAM: ${size} bytes, ${what}`, async (t) => {
      const late = gate()
      const port = await serve(t, (server) => server.mapPost('/', { body: 'stream' }, () => body(late.promise)))
      const client = await clientWithRoom(t, port, size)
      client.headers(1, [...head('/', 'POST'), ['content-length', '1000000']], false).data(1, 'the beginning')
      await client.until(() => sizeOf(client, 1) === size, 'all bytes')
      late.open()
      await client.until(() => endsOf(client, 1).length === 2, 'END_STREAM and the reset')
      assert.deepEqual(endsOf(client, 1), ['end', 'reset 0'])
    })
  }
}

for (const [what, rest] of [
  ['fails after its last byte', () => Promise.reject(new Error('too late'))],
  ['yields more than was promised', () => '!'],
] as const) {
  test(`a source that ${what} ends with a reset, not with END_STREAM`, async (t) => {
    const source = async function* (): AsyncGenerator<string> {
      yield* ['hel', 'lo']
      yield await rest()
    }
    const { server, logged } = await serveHttp2(t, (one) =>
      one.mapGet('/', (_, { response }) => response.header('Content-Length', '5').stream(source())),
    )
    const client = (await RawHttp2.connect(t, server.port)).headers(1, head('/'))
    await client.until(() => endsOf(client, 1).length > 0, 'the end of the stream')
    await settle(client)
    assert.deepEqual([endsOf(client, 1), logged.length], [['reset 2'], 1])
  })
}

test('five large responses at once, on windows of the default size, all end with END_STREAM', async (t) => {
  const size = 300_000
  const port = await serve(t, (server) => server.mapGet('/', () => Buffer.alloc(size, 'x')))
  const client = await RawHttp2.connect(t, port)
  const streams = [1, 3, 5, 7, 9]
  for (const stream of streams) client.headers(stream, head('/'))
  let taken = 0
  const areOver = (): boolean => {
    const total = streams.reduce((sum, stream) => sum + sizeOf(client, stream), 0)
    if (total > taken) client.allow(0, total - taken)
    for (const stream of streams) if (total > taken && sizeOf(client, stream) < size) client.allow(stream, total - taken)
    taken = total
    return streams.every((stream) => endsOf(client, stream).length > 0)
  }
  await client.until(areOver, 'the end of all streams')
  await settle(client)
  assert.deepEqual(
    streams.map((stream) => [sizeOf(client, stream), ...endsOf(client, stream)]),
    streams.map(() => [size, 'end']),
  )
})

test('writeTimeout: a client that does not open the window for the last byte is sent away', async (t) => {
  const size = 4 * PIECE
  const server = await Http2OnClock.start(t, (one) => one.mapGet('/', (_, { response }) => response.stream(pieces(size, immediately))), {
    timeouts: { writeTimeout: 30_000 },
  })
  const client = await clientWithRoom(t, server.port, size - 1)
  client.headers(1, head('/'))
  await client.until(() => sizeOf(client, 1) === size - 1, 'all but one byte')
  await settle(client)
  for (let second = 0; second < 29; second++) await server.elapse(1_000, client)
  assert.deepEqual([server.reported, endsOf(client, 1)], [[], []])
  for (let second = 0; second < 3; second++) await server.elapse(1_000, client)
  assert.deepEqual(server.reported, ['WEIR_WRITE_TIMEOUT'])
  await client.until(() => endsOf(client, 1).length > 0, 'the reset')
  assert.deepEqual(endsOf(client, 1), ['reset 2'])
})
