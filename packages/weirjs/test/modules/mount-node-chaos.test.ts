// Mounted code and clients that do anything at any moment: one record for each exchange, no error that nobody expects, nothing left over.

import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { SeededRandom } from '../../../dev/src/chaos/seeded-random.ts'
import type { NodeNext } from '../../src/node/index.ts'
import { mount } from '../support/mounted.ts'
import { Observed } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually } from '../support/serving.ts'

const CLIENTS = 300
const SEED = 20

type Act = (req: IncomingMessage, res: ServerResponse, next: NodeNext) => unknown

const ACTS: readonly Act[] = [
  (_, res) => res.write('x'.repeat(50_000)),
  (_, res) => res.write('a'),
  (_, res) => res.end(),
  (_, res) => res.end('end'),
  (_, res) => res.end(Buffer.alloc(100_000)),
  (_, res) => res.flushHeaders(),
  (_, res) => !res.headersSent && res.writeHead(201, { 'X-A': '1' }),
  (_, res) => !res.headersSent && res.setHeader('Content-Length', 10),
  (_, res) => !res.headersSent && res.writeContinue(),
  (_, res) => !res.headersSent && res.writeEarlyHints({ link: '</a>; rel=preload' }),
  (req) => req.resume(),
  (req, res) => req.pipe(res),
  (req) => req.pause(),
  (req) => req.read(),
  (req) => req.destroy(),
  (_, res) => res.destroy(),
  (req) => req.socket?.destroy(),
  (_req, _res, next) => next(),
  (_req, _res, next) => next(new Error('passed on')),
  () => {
    throw new Error('thrown')
  },
  () => turn(),
  () => wait(1),
]

const REQUESTS = [
  'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET / HTTP/1.0\r\n\r\n',
  `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n${'b'.repeat(40_000)}`,
  'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nshort',
  'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX',
  'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n',
]

test('whatever code and clients do, each exchange ends once', async (t) => {
  const random = new SeededRandom(SEED)
  const observed = new Observed()
  const unexpected: unknown[] = []
  const onError = (error: unknown): void => void unexpected.push(error)
  process.on('uncaughtException', onError)
  process.on('unhandledRejection', onError)
  t.after(() => process.off('uncaughtException', onError).off('unhandledRejection', onError))
  let begun = 0
  let closed = 0
  const server = await mount(
    t,
    async (req, res, next) => {
      begun++
      res.on('close', () => closed++).on('error', () => {})
      if (random.chance(0.5)) req.on('error', () => {})
      const count = random.between(1, 6)
      for (let i = 0; i < count; i++) await random.pick(ACTS)(req, res, next)
      await wait(5)
      if (!res.writableEnded) res.end('last')
    },
    { server: { limits: { maxRequestBodySize: 20_000 } }, map: (server) => observed.on(server) },
  )
  for (let i = 0; i < CLIENTS; i++) {
    const client = await RawClient.connect(server.port)
    const request = REQUESTS[i % REQUESTS.length]!
    if (random.chance(0.2)) for (const byte of request.slice(0, 200)) client.send(byte)
    else client.send(request)
    const end = random.fraction()
    if (end < 0.3) await wait(end * 20)
    else if (end < 0.6) await turn()
    if (end < 0.7) client.reset()
    else {
      client.end()
      await client.closed()
    }
  }
  await eventually(() => server.connections === 0, 'the end of all connections')
  await eventually(() => closed === begun, `${begun} exchanges`)
  assert.deepEqual(unexpected, [])
  const ended = (): number => observed.ended.filter(({ kind, route }) => kind === 'request' && route !== null).length
  await eventually(() => ended() >= observed.begun.length, 'the end of each exchange') // observers hear of it in a later turn
  assert.equal(ended(), observed.begun.length)
  assert.ok(begun > CLIENTS / 2, `${begun} requests`)
})
