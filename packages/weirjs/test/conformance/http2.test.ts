// Sends every case of the table for HTTP/2 to a listening server, and checks the outcome of each stream and of the connection, the handled
// requests, and that nothing else happens. Afterwards the server must still work: it answers others, and stops with nothing left over.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import type { Limits } from '../../src/base/limits.ts'
import { type HttpRequest, HttpServer } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import {
  DATA,
  END_STREAM,
  type Frame,
  GOAWAY,
  HEADER_TABLE_SIZE,
  HEADERS,
  RawHttp2,
  RST_STREAM,
  SETTINGS,
  statusOf,
} from '../support/http2-client.ts'
import { within } from '../support/serving.ts'
import { CODES, type Http2Case, loadHttp2Cases, type Step } from './http2-cases.ts'

/** How many rounds of a flood are sent before checking what has arrived. */
const ROUNDS_AT_ONCE = 100
/** Fewer than there are cases, so that connections which never free their places would block later cases. */
const PLACES = 60
/** On a busy machine, a client of these tests is silent for many seconds. It leaves after its case, which frees its place. */
const TIMEOUTS = { keepAliveTimeout: 60_000, writeTimeout: 60_000 }

interface Handled {
  readonly line: string
  readonly request: HttpRequest
}

interface Target {
  readonly server: HttpServer
  readonly handled: Handled[]
  /** Handlers that have not settled. */
  running: number
}

const cases = loadHttp2Cases()
const targets = new Map<string, Promise<Target>>()

for (const one of cases) {
  test(`${one.id}: ${one.title} (${one.section}, ${one.level})`, async (t) => {
    const key = JSON.stringify(one.limits)
    const starting = targets.get(key) ?? start(one.limits)
    targets.set(key, starting)
    const target = await starting
    target.handled.length = 0
    const client = one.isBare
      ? await RawHttp2.connectSilently(t, target.server.port)
      : await RawHttp2.connect(t, target.server.port, { [HEADER_TABLE_SIZE]: 0 })
    if (!one.isBare) await client.until(() => client.frames.some(({ type }) => type === SETTINGS), 'the settings of the server')
    const last = await send(client, one)
    const behind = last + 2
    if (one.ends.includes('open')) client.headers(behind, GET_BEHIND)
    await client.until(() => isOver(client, one, behind), 'everything that is expected')
    check(client, one, behind, target.handled)
    client.end()
  })
}

test('after all cases every server stops, with no connection and no handler left', async () => {
  assert.ok(cases.length > 100, `${cases.length} cases`)
  for (const starting of targets.values()) {
    const target = await starting
    assert.deepEqual(await within(target.server.stop(), 'the stop'), { aborted: 0 })
    assert.equal(target.running, 0)
  }
})

after(async () => {
  for (const starting of targets.values()) await (await starting).server.stop({ graceMs: 0 })
})

const GET_BEHIND: readonly (readonly [string, string])[] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'a'],
  [':path', '/behind'],
]

async function start(limits: Limits): Promise<Target> {
  const server = new HttpServer({
    hosts: 'any',
    tls: { key, cert },
    http2: true,
    logger: null,
    limits: { ...limits, maxConnections: PLACES },
    timeouts: TIMEOUTS,
  })
  const target: Target = { server, handled: [], running: 0 }
  const see = (request: HttpRequest, body = Buffer.from(request.bodyBytes).toString('latin1')): string => {
    const line = `${request.method} ${request.url}${body === '' ? '' : ` "${body}"`}`
    target.handled.push({ line, request })
    return line
  }
  server
    .map(null, '/', (_, { request }) => see(request))
    .map(null, '/*path', (_, { request }) => see(request))
    .map(null, '/unread', { body: 'stream' }, (_, { request }) => see(request, ''))
    .mapGet('/wait', async (_, { request, signal }) => {
      see(request)
      target.running++
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      target.running--
    })
  await server.start()
  return target
}

/** @returns the last stream that was opened */
async function send(client: RawHttp2, { first, repeated, rounds }: Http2Case): Promise<number> {
  let last = -1
  const make = async (steps: readonly Step[]): Promise<void> => {
    for (const step of steps) {
      const done = step(last)
      if ('awaits' in done)
        await client.until(() => client.isClosed || outcomeOf(client, done.awaits) !== null, `an end of stream ${done.awaits}`)
      else {
        client.send(done.bytes)
        last = done.last % 2 === 1 ? done.last : last
      }
    }
  }
  await make(first)
  for (let round = 0; round < rounds && !client.isClosed; round++) {
    await make(repeated)
    if (round % ROUNDS_AT_ONCE === ROUNDS_AT_ONCE - 1) await setImmediate()
  }
  return last
}

/** The outcome of a stream, as written in cases; null while it is open. */
function outcomeOf(client: RawHttp2, stream: number): string | null {
  const own = client.frames.filter((frame) => frame.stream === stream)
  const isEnd = ({ type, flags }: Frame): boolean => (type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0
  const reset = own.find(({ type }) => type === RST_STREAM)
  if (!own.some(isEnd)) return reset === undefined ? null : `reset ${CODES[reset.payload.readUInt32BE(0)]}`
  const statuses = own.filter(({ type }) => type === HEADERS).map(statusOf)
  const data = own.filter(({ type }) => type === DATA).map(({ payload }) => payload)
  const body = Buffer.concat(data).toString('latin1')
  const says = body.startsWith('{') ? String((JSON.parse(body) as { code?: string }).code) : body
  return says === '' ? statuses.join(', ') : `${statuses.join(', ')} ${says}`
}

function endOf({ frames, isClosed }: RawHttp2): string | null {
  const goaway = frames.find(({ type }) => type === GOAWAY)
  return goaway !== undefined ? `goaway ${CODES[goaway.payload.readUInt32BE(4)]}` : isClosed ? 'closed' : null
}

function isOver(client: RawHttp2, { streams }: Http2Case, behind: number): boolean {
  if (endOf(client) !== null) return true
  const awaited = streams.filter(({ either }) => either[0]!.text !== 'nothing').map(({ stream }) => stream)
  return [...awaited, behind].every((stream) => outcomeOf(client, stream) !== null)
}

function check(client: RawHttp2, { streams, any, ends }: Http2Case, behind: number, handled: readonly Handled[]): void {
  const end = endOf(client) ?? 'open'
  const became = new Map(client.frames.filter(({ stream }) => stream > 0).map(({ stream }) => [stream, outcomeOf(client, stream)]))
  const all = `${end}, ${JSON.stringify([...became])}`
  assert.ok(ends.includes(end) || (end !== 'open' && ends.includes('closed')), all)
  if (end === 'open') assert.equal(outcomeOf(client, behind), '200 GET /behind')
  const expected: string[] = end === 'open' ? ['GET /behind'] : []
  for (const { stream, either, sees } of streams) {
    // A HEAD has no body that could show what was handled.
    const text = became.get(stream) ?? 'nothing'
    const outcome = either.find((one) => one.text === text || (one.handled?.startsWith('HEAD ') && one.text === `${text} ${one.handled}`))
    assert.ok(outcome !== undefined, `${stream}: ${text}, and not ${either.map((one) => one.text).join(' or ')}; ${all}`)
    if (outcome.handled === null) continue
    expected.push(outcome.handled)
    const request = handled.find(({ line }) => line === outcome.handled)?.request
    for (const [name, value] of sees) assert.equal(request?.header(name) ?? null, value, `request ${stream}: ${name}`)
  }
  const lines = handled.map(({ line }) => line).filter((line) => !any.includes(line))
  assert.deepEqual(lines.sort(), expected.sort())
  const listed = new Set([behind, ...streams.map(({ stream }) => stream)])
  if (any.length === 0)
    assert.deepEqual(
      [...became.keys()].filter((stream) => !listed.has(stream)),
      [],
      all,
    )
}
