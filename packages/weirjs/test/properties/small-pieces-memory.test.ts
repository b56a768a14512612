// A client decides how many pieces its bytes come in. However it cuts them, whatever reads a request keeps about as much memory as there are bytes.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { PassThrough, type Readable } from 'node:stream'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { mountFetch, mountNode } from '../../src/node/index.ts'
import { encodeFields, encodeFrame, HEADERS, RawHttp2 } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { growthOf } from '../support/memory-growth.ts'
import { RawClient } from '../support/raw-client.ts'
import { type Gate, gate, within } from '../support/serving.ts'
import { standsStill } from '../support/standing-still.ts'

/** Less than what a stream takes before it is read. */
const BYTES = 4096
const REQUESTS = 12
new Request('http://localhost/') // loads what it needs
/** More than the bytes: what one reader may hold of the memory that they were received in. */
const MORE_BYTES = 64 * 1024
/** What an open connection, its request and its client in this process take. */
const REQUEST_BYTES = 24 * 1024
/** What the process compiles and loads in the meantime. */
const ONCE_BYTES = 512 * 1024

const CONTENT = Buffer.from(Array.from({ length: BYTES }, (_, i) => 97 + (i % 26)))
const BOUNDARY = 'b'
const FORM = Buffer.concat([
  Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n`),
  CONTENT,
  Buffer.from(`\r\n--${BOUNDARY}--`),
])

/** What it does until it may read, and then reads. */
type Reader = (server: HttpServer, until: Gate) => void

async function all(stream: Readable): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

/** The rest of a stream that is not read for a while. */
const HOLDS: Readonly<Record<string, (stream: Readable, until: Gate) => Promise<string>>> = {
  'has no listener': async (stream, until) => {
    await until.promise
    return all(stream)
  },
  'has paused': async (stream, until) => {
    const pieces: Buffer[] = []
    stream.on('data', (piece: Buffer) => {
      pieces.push(piece)
      if (pieces.length === 1) stream.pause()
    })
    await until.promise
    stream.resume()
    await new Promise((resolve) => stream.once('end', resolve))
    return Buffer.concat(pieces).toString()
  },
  'only looks': async (stream, until) => {
    const look = (): void => {}
    stream.on('readable', look)
    await until.promise
    stream.off('readable', look)
    return all(stream)
  },
  'fills a pipe': async (stream, until) => {
    const pipe = stream.pipe(new PassThrough())
    await until.promise
    return all(pipe)
  },
}

const READERS: Record<
  string,
  { readonly body: Buffer; readonly map: Reader; readonly fields?: [string, string][]; readonly isUpgrade?: true }
> = {}
for (const [how, hold] of Object.entries(HOLDS)) {
  READERS[`bodyStream() that ${how}`] = {
    body: CONTENT,
    map: (server, until) => server.mapPost('/', { body: 'stream' }, (_, { request }) => hold(request.bodyStream(), until)),
  }
  READERS[`a file of a form that ${how}`] = {
    body: FORM,
    fields: [['content-type', `multipart/form-data; boundary=${BOUNDARY}`]],
    map: (server, until) =>
      server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
        let text = ''
        await request.bodyMultipartStream({
          onFile: async (_info, content) => {
            text = await hold(content, until)
          },
        })
        return text
      }),
  }
  READERS[`a mounted request that ${how}`] = {
    body: CONTENT,
    map: (server, until) => mountNode(server, '/', async (req, res) => res.end(await hold(req, until))),
  }
  READERS[`another protocol that ${how}`] = {
    body: CONTENT,
    isUpgrade: true,
    map: (server, until) =>
      server.mapGet('/', (_, { response }) =>
        response.upgrade('echo', (socket) => {
          socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n')
          void hold(socket, until).then((text) => socket.end(text))
        }),
      ),
  }
}
READERS['a Web stream'] = {
  body: CONTENT,
  map: (server, until) =>
    mountFetch(server, '/', async (request) => {
      const reader = request.body!.getReader()
      const pieces: Uint8Array[] = []
      for (let isFirst = true; ; isFirst = false) {
        const { done, value } = await reader.read()
        if (done) return new Response(Buffer.concat(pieces))
        pieces.push(value)
        if (isFirst) await until.promise
      }
    }),
}

/** Pieces of one byte, each in a frame or chunk of its own. */
function ones(body: Buffer, make: (piece: Buffer) => Buffer): Buffer {
  return Buffer.concat(Array.from(body, (byte) => make(Buffer.of(byte))))
}

for (const [title, { body, map, fields = [], isUpgrade = false }] of Object.entries(READERS)) {
  const list = [...fields]
  const check = async (fill: () => Promise<void>, until: Gate, answers: () => Promise<readonly string[]>): Promise<void> => {
    const grown = await growthOf(fill)
    const most = REQUESTS * (BYTES + MORE_BYTES + REQUEST_BYTES) + ONCE_BYTES
    assert.ok(grown <= most, `${Math.round(grown / REQUESTS)} bytes for a request of ${BYTES}`)
    until.open()
    for (const text of await within(answers(), 'the responses')) assert.equal(text, CONTENT.toString())
  }

  // A pipe gets the bytes of each read, and here a read costs the client a packet.
  const isPipeOfReads = isUpgrade && title.endsWith('fills a pipe')
  test(`${title}: pieces of one byte over HTTP/1.1`, { skip: isPipeOfReads }, async (t) => {
    const until = gate()
    const server = new HttpServer({ hosts: 'any', address: '127.0.0.1', port: 0, logger: null })
    map(server, until)
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const clients: RawClient[] = []
    const head = isUpgrade
      ? 'GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n'
      : `POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n${list.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
    await check(
      async () => {
        for (let i = 0; i < REQUESTS; i++) {
          const client = await RawClient.connect(server.port)
          t.after(() => client.destroy())
          clients.push(client.send(head))
        }
        if (isUpgrade) {
          // Each in a read of its own.
          for (const client of clients) await client.until('\r\n\r\n')
          for (const byte of body) {
            for (const client of clients) client.send(Buffer.of(byte))
            await new Promise((resolve) => setImmediate(resolve))
          }
        } else
          for (const client of clients) client.send(ones(body, (piece) => Buffer.from(`1\r\n${piece.toString('latin1')}\r\n`, 'latin1')))
        await standsStill(() => 0)
      },
      until,
      () =>
        Promise.all(
          clients.map(async (client) => {
            if (!isUpgrade) return (await client.send('0\r\n\r\n').message()).text
            return client.end().rest()
          }),
        ),
    )
  })

  test(`${title}: pieces of one byte over HTTP/2, of several streams by turns`, async (t) => {
    const until = gate()
    const { server } = await serveHttp2(t, (one) => map(one, until))
    const client = await RawHttp2.connect(t, server.port)
    const streams = Array.from({ length: REQUESTS }, (_, i) => 2 * i + 1)
    const head: [string, string][] = [
      [':method', isUpgrade ? 'CONNECT' : 'POST'],
      ...(isUpgrade ? ([[':protocol', 'echo']] as [string, string][]) : []),
      [':scheme', 'https'],
      [':authority', 'localhost'],
      [':path', '/'],
      ...list,
    ]
    await check(
      async () => {
        for (const stream of streams) client.send(encodeFrame(HEADERS, 4, stream, encodeFields(head)))
        const frames = Buffer.concat(streams.map((stream) => encodeFrame(0, 0, stream, Buffer.of(0))))
        for (const byte of body) {
          const some = Buffer.from(frames)
          for (let at = 9; at < some.length; at += 10) some[at] = byte
          client.send(some)
        }
        await standsStill(() => 0)
      },
      until,
      async () => {
        for (const stream of streams) client.data(stream, '', true).allow(stream, BYTES)
        const texts: string[] = []
        for (const stream of streams) texts.push(await client.body(stream))
        return texts
      },
    )
  })
}
