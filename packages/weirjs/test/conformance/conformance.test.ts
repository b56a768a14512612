// Sends every case of the table to a listening server, and checks the responses, the handled requests, and that nothing else happens.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { ERRORS } from '../../src/base/error-codes.ts'
import type { Limits } from '../../src/base/limits.ts'
import type { HttpRequest, HttpServer } from '../../src/index.ts'
import { type Message, type RawClient, readMessage } from '../support/raw-client.ts'
import { inBothReadModes, type Serve } from '../support/serving.ts'
import { loadWireCases, wireTopics } from '../support/wire-cases.ts'
import { type ConformanceCase, type Expected, loadConformanceCases } from './cases.ts'

/** Follows every case. It is answered if the connection is still open, and closes it. */
const BEHIND = 'GET /behind HTTP/1.1\r\nHost: behind\r\nConnection: close\r\n\r\n'

/** What a handler saw. */
interface Handled {
  readonly line: string
  readonly fields: ReadonlyMap<string, string>
}

/** A server with certain limits, and what its handlers saw. */
interface Target {
  readonly handled: Handled[]
  connect(): Promise<RawClient>
}

const cases = loadConformanceCases()

inBothReadModes('conformance', (serve) => {
  test('table', { concurrency: 1 }, async (t) => {
    const targets = new Map<string, Target>()
    for (const one of cases) {
      const key = JSON.stringify(one.limits)
      const target = targets.get(key) ?? (await startTarget(t, serve, one.limits))
      targets.set(key, target)
      await t.test(`${one.id}: ${one.title} (${one.section}, ${one.level})`, { todo: one.todo ?? false }, () => check(one, target))
    }
  })
})

inBothReadModes('refusals of packages/weirjs/test/wire', (serve) => {
  test('each refusal is one response over a socket too, with the code of the parser', { concurrency: 1 }, async (t) => {
    const targets = new Map<string, Target>()
    const fixtures = wireTopics('packages/weirjs/test/wire').flatMap((topic) => loadWireCases(`packages/weirjs/test/wire/${topic}.http`))
    for (const { where, bytes, limits, halfClose, log } of fixtures) {
      const code = /^error (\w+)$/m.exec(log)?.[1] as keyof typeof ERRORS | undefined
      if (code === undefined || !ERRORS[code].closes) continue
      const key = JSON.stringify(limits)
      const target = targets.get(key) ?? (await startTarget(t, serve, limits))
      targets.set(key, target)
      target.handled.length = 0
      const client = await target.connect()
      client.send(bytes)
      if (halfClose) client.end()
      else client.send(BEHIND)
      const received = await client.rest()
      const whole = log.split('\n').filter((line) => line === 'end').length
      const responses = readResponses(Buffer.from(received, 'latin1'), []).filter(({ status }) => status >= 200)
      assert.equal(responses.length, whole + 1, `${where}: ${received}`)
      checkRefusal(responses.at(-1)!, code)
      assert.ok(target.handled.length <= whole, `${where}: ${linesOf(target.handled).join()}`)
    }
  })
})

test('the table is large, and most cases are MUST', () => {
  const levels = cases.map(({ level }) => level)
  assert.ok(cases.length >= 200, `${cases.length} cases`)
  assert.ok(levels.filter((level) => level === 'MUST').length > cases.length / 2)
})

async function startTarget(t: TestContext, serve: Serve, limits: Limits): Promise<Target> {
  const handled: Handled[] = []
  const { connect } = await serve(t, (server) => mapRoutes(server, handled), { limits })
  return { handled, connect }
}

function mapRoutes(server: HttpServer, handled: Handled[]): void {
  const see = (request: HttpRequest, body = Buffer.from(request.bodyBytes).toString('latin1')): void => {
    const fields = new Map([...request.headers.entries()].map(([name]) => [name.toLowerCase(), request.header(name)!]))
    fields.set(':path', request.path)
    handled.push({ line: `${request.method} ${visible(request.url)}${body === '' ? '' : ` "${visible(body)}"`}`, fields })
  }
  server
    .map(null, '/', (_, { request }) => {
      see(request)
      return 'root'
    })
    .map(null, '/*path', (_, { request }) => {
      see(request)
      return 'found'
    })
    .mapGet('/known', (_, { request }) => {
      see(request)
      return 'known'
    })
    .map(null, '/stream', (_, { request, response }) => {
      see(request)
      return response.stream(pieces(), 'text/plain')
    })
    .map(null, '/none', (_, { request, response }) => {
      see(request)
      return response.noContent()
    })
    .map(null, '/same', (_, { request, response }) => {
      see(request)
      return response.status(304)
    })
    .map(null, '/unread', { body: 'stream' }, (_, { request }) => {
      see(request, '')
      return 'the body does not matter'
    })
}

async function* pieces(): AsyncGenerator<string> {
  yield 'one '
  yield 'two'
}

async function check(one: ConformanceCase, target: Target): Promise<void> {
  target.handled.length = 0
  const client = await target.connect()
  client.send(one.bytes)
  if (one.halfClose) client.end()
  else client.send(BEHIND)
  compare(one, await client.rest(), target.handled)
  if (one.refusal === null || one.isOpen || one.halfClose) return
  // The same again, but this time the next request is sent after the refusal has been read.
  target.handled.length = 0
  const late = await target.connect()
  late.send(one.bytes)
  const finals = one.expected.length
  const heads: string[] = []
  for (const { handled, lacks } of one.expected) heads.push((await late.message(isBodiless(handled, lacks))).head)
  late.send(BEHIND)
  assert.equal(await late.rest(), '', 'bytes after the refusal')
  assert.equal(heads.join('\n').split('HTTP/1.1 ').length - 1, finals)
  assert.deepEqual(linesOf(target.handled), handledIn(one.expected), 'handled, with a request sent after the refusal')
}

function compare(one: ConformanceCase, received: string, handled: readonly Handled[]): void {
  const expected = one.isOpen ? [...one.expected, BEHIND_RESPONSE] : one.expected
  assert.deepEqual(linesOf(handled), handledIn(expected), `handled; answers: ${JSON.stringify(received)}`)
  const responses = readResponses(Buffer.from(received, 'latin1'), expected)
  assert.deepEqual(
    responses.map(({ status }) => status),
    expected.map(({ status }) => status),
  )
  const seen = handled.values()
  for (const [i, response] of responses.entries()) {
    const { code, handled: line, sees, has, lacks } = expected[i]!
    const where = `response ${i + 1}`
    if (code !== null) checkRefusal(response, code)
    if (response.status >= 200)
      assert.match(response.header('date') ?? 'none', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/, `${where}: Date`)
    for (const [name, value] of has) {
      assert.notEqual(response.header(name), null, `${where} has no ${name}`)
      if (value !== null) assert.equal(response.headers(name).join(', '), value, `${where}: ${name}`)
    }
    for (const name of lacks) assert.equal(response.header(name), null, `${where} has ${name}`)
    const request = line === null ? undefined : seen.next().value
    for (const [name, value] of sees) {
      assert.equal(visible(request?.fields.get(name) ?? 'nothing'), value ?? 'nothing', `request ${i + 1}: ${name}`)
    }
  }
  if (!one.isOpen && !one.halfClose)
    assert.equal(responses.at(-1)?.header('connection'), 'close', 'the last response has Connection: close')
}

function checkRefusal(response: Message, code: keyof typeof ERRORS): void {
  assert.equal(response.header('content-type'), 'application/problem+json')
  if (response.body.length > 0) assert.equal((response.json() as { code: string }).code, code)
  assert.equal(response.status, ERRORS[code].status)
  if (ERRORS[code].closes) assert.equal(response.header('connection'), 'close')
}

const BEHIND_RESPONSE: Expected = { status: 200, code: null, handled: 'GET /behind', sees: [], has: [], lacks: [] }

function isBodiless(handled: string | null, lacks: readonly string[]): boolean {
  return handled?.startsWith('HEAD ') === true || lacks.includes(':body')
}

/** Everything that arrived, as responses. Leftover bytes are an error. */
function readResponses(bytes: Buffer, expected: readonly Expected[]): Message[] {
  const responses: Message[] = []
  for (let at = 0; at < bytes.length; ) {
    const { handled, lacks } = expected[responses.length] ?? BEHIND_RESPONSE
    const read = readMessage(bytes.subarray(at), isBodiless(handled, lacks), true)
    assert.ok(read !== null, `this is not a complete response: ${JSON.stringify(bytes.toString('latin1', at))}`)
    responses.push(read.message)
    at += read.length
  }
  return responses
}

function linesOf(handled: readonly Handled[]): string[] {
  return handled.map(({ line }) => line)
}

function handledIn(expected: readonly Expected[]): string[] {
  return expected.flatMap(({ handled }) => (handled === null ? [] : [handled]))
}

/** In the notation of cases: controls, characters above 0x7E and backslashes are escaped. */
function visible(text: string): string {
  return text.replace(/\\|[^ -~]/g, (char) => {
    if (char === '\\') return '\\\\'
    return { '\r': '\\r', '\n': '\\n', '\t': '\\t' }[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
}
