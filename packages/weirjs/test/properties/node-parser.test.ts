// What both weir and Node's own parser accept, both read alike: method, target, version, fields, body, trailers, and the end of a request.
// And what one accepts, the other accepts too. Two readings of the same bytes are how a request is smuggled, so each remaining difference
// has a row and a reason in node-differences.ts.

import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

import fc from 'fast-check'

import { loadConformanceCases } from '../conformance/cases.ts'
import { isThinned, thinned } from '../support/thinned.ts'
import { anyText, places, wireText } from '../support/wire-arbitraries.ts'
import { cutAt, loadWireCases, wireTopics } from '../support/wire-cases.ts'
import { type Message, type Reading, read } from '../support/wire-reading.ts'
import { LOOSER, MEANINGS, STRICTER } from './node-differences.ts'

interface NodeRequest {
  readonly method: string | undefined
  readonly target: string | undefined
  readonly version: string
  readonly fields: readonly string[]
  readonly body: string
  readonly trailers: readonly string[]
}

interface NodeReading {
  /** Requests that were read to their end. */
  readonly requests: readonly NodeRequest[]
  /** How many heads were accepted. */
  readonly heads: number
  /** The code with which Node refused, or HTTP_ and the status with which it responded itself; null if it refused nothing. */
  readonly refusal: string | null
}

/** A connection without a network: Node's server reads what is pushed, and its responses are discarded. */
class Wire extends Duplex {
  readonly requests: NodeRequest[] = []
  heads = 0
  refusal: string | null = null

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    // Node itself responds with 400 to a missing Host and with 417 to an unknown expectation.
    const status = /(?:^|\r\n)HTTP\/1\.1 (4\d\d)/.exec(chunk.toString('latin1'))?.[1]
    if (status !== undefined) this.refusal ??= `HTTP_${status}`
    done()
  }
}

function nodeServer(): Server {
  const server = createServer({ maxHeaderSize: 64 * 1024 }, onRequest)
  server.on('clientError', (error: NodeJS.ErrnoException, wire) => {
    ;(wire as Wire).refusal ??= error.code ?? error.message
  })
  return server
}

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  const wire = request.socket as unknown as Wire
  wire.heads++
  const body: Buffer[] = []
  request.on('data', (chunk: Buffer) => body.push(chunk))
  request.on('error', () => {})
  request.on('end', () => {
    wire.requests.push({
      method: request.method,
      target: request.url,
      version: request.httpVersion,
      fields: request.rawHeaders,
      body: Buffer.concat(body).toString('latin1'),
      trailers: request.rawTrailers,
    })
    // Without a length, Node ends the connection of an HTTP/1.0 client, and does not answer what that client sends next.
    response.writeHead(200, { 'Content-Length': 0 }).end()
  })
}

async function readWithNode(server: Server, parts: readonly Buffer[]): Promise<NodeReading> {
  const wire = new Wire()
  wire.on('error', () => {})
  server.emit('connection', wire)
  for (const part of parts) {
    wire.push(part)
    if (parts.length > 1) await setImmediate()
  }
  for (let turn = 0; turn < 4; turn++) await setImmediate()
  const { requests, heads, refusal } = wire
  wire.destroy()
  return { requests, heads, refusal }
}

function asNode(message: Message): NodeRequest {
  return {
    method: message.method,
    target: message.target,
    version: `1.${message.minorVersion}`,
    fields: message.fields.flat(),
    body: message.body.toString('latin1'),
    trailers: message.trailers.flat(),
  }
}

/** How many of weir's requests can be compared before the first known difference in meaning. */
function partingOf(messages: readonly Message[], text: string): number {
  for (const [i, message] of messages.entries()) {
    const met = MEANINGS.filter((difference) => difference.meets(message, text))
    if (met.length > 0) return met.some(({ from }) => from === 'body') ? i : i + 1
  }
  return Number.POSITIVE_INFINITY
}

/**
 * Fails if one refuses and the other accepts, at the first request that not both have read, unless a row states the reason. If one of them
 * is still waiting for bytes, there is nothing to compare.
 */
function checkAcceptance(ours: Reading, node: NodeReading, text: string): void {
  const whole = ours.messages.filter(({ isWhole }) => isWhole).length
  const at = Math.min(whole, node.requests.length)
  const weReadHead = ours.messages.length > at
  const nodeReadHead = node.heads > at
  if (ours.error !== null && node.refusal === null && (node.requests.length > at || (nodeReadHead && !weReadHead))) {
    const isListed = STRICTER.some(({ code, only }) => code === ours.error && (only?.test(text) ?? true))
    assert.ok(isListed, `weir refuses with ${ours.error} what Node reads, request ${at + 1}`)
  }
  if (ours.error === null && node.refusal !== null && (whole > at || (weReadHead && !nodeReadHead))) {
    // What Node accepted first and refused later, such as a trailer that closes, belongs to the request before.
    const candidates = ours.messages.slice(Math.max(0, at - 1), at + 1)
    const isListed = LOOSER.some(({ nodeCodes, meets }) => nodeCodes.includes(node.refusal!) && candidates.some((one) => meets(one, text)))
    assert.ok(isListed, `Node refuses with ${node.refusal} what weir reads, request ${at + 1}`)
  }
}

async function compare(server: Server, text: string, cuts: readonly number[] = []): Promise<number> {
  const parts = cutAt(Buffer.from(text, 'latin1'), cuts)
  const ours = read(parts)
  const whole = ours.messages.filter((message) => message.isWhole)
  const node = await readWithNode(server, parts)
  const parting = partingOf(ours.messages, text)
  const shared = Math.min(whole.length, node.requests.length, parting)
  for (let i = 0; i < shared; i++) assert.deepEqual(asNode(whole[i]!), node.requests[i], `request ${i + 1}`)
  if (parting === Number.POSITIVE_INFINITY) {
    if (whole.length > node.requests.length) assert.notEqual(node.refusal, null, 'weir reads a request that Node neither reads nor refuses')
    if (whole.length < node.requests.length) assert.notEqual(ours.error, null, 'Node reads a request that weir neither reads nor refuses')
    checkAcceptance(ours, node, text)
  }
  return shared
}

const anything = fc.oneof({ weight: 5, arbitrary: wireText }, anyText)

test('what both accept is read alike, and what one refuses the other refuses, except for the listed differences', async () => {
  const server = nodeServer()
  let shared = 0
  const property = fc.asyncProperty(anything, async (text) => {
    shared += await compare(server, text)
  })
  await fc.assert(property, { numRuns: thinned(3000) })
  assert.ok(shared > thinned(700), `only ${shared} requests were compared, which proves nothing`)
})

test('the same holds for requests that arrive in pieces', async () => {
  const server = nodeServer()
  let shared = 0
  const property = fc.asyncProperty(anything, places, async (text, cuts) => {
    shared += await compare(server, text, cuts)
  })
  await fc.assert(property, { numRuns: thinned(1000) })
  assert.ok(shared > (isThinned ? 10 : 200), `only ${shared} requests were compared, which proves nothing`)
})

test('the same holds for the conformance table and the fixtures of packages/weirjs/test/wire', async (t) => {
  const server = nodeServer()
  const fixtures = wireTopics('packages/weirjs/test/wire').flatMap((topic) => loadWireCases(`packages/weirjs/test/wire/${topic}.http`))
  const texts = [...loadConformanceCases(), ...fixtures].map(({ bytes }) => bytes.toString('latin1'))
  for (const text of new Set(texts)) {
    if (text.length > 60_000) continue
    try {
      await compare(server, text)
    } catch (error) {
      t.diagnostic(JSON.stringify(text.slice(0, 300)))
      throw error
    }
  }
})

/** Whether Node reads the sample differently depends on its version. */
function report(t: TestContext, isMet: boolean): void {
  if (!isMet) t.diagnostic(`Node ${process.version} reads this like weir`)
}

for (const difference of MEANINGS) {
  test(`known difference in meaning: ${difference.name}`, async (t) => {
    const text = `${difference.sample}GET /2 HTTP/1.1\r\nHost: a\r\n\r\n`
    const ours = read([Buffer.from(text, 'latin1')])
    assert.equal(ours.messages.length, difference.weRead)
    assert.equal(ours.error, null)
    assert.ok(difference.meets(ours.messages[0]!, text), 'the row covers its own sample')
    const { requests } = await readWithNode(nodeServer(), [Buffer.from(text, 'latin1')])
    report(t, !isDeepStrictEqual(requests, ours.messages.map(asNode)))
  })
}

for (const { name, sample, code, only } of STRICTER) {
  test(`known to be refused only by weir: ${name}`, async (t) => {
    const bytes = Buffer.from(sample, 'latin1')
    assert.equal(read([bytes]).error, code)
    assert.ok(only?.test(sample) ?? true, 'the row covers its own sample')
    const { heads, refusal } = await readWithNode(nodeServer(), [bytes])
    report(t, refusal === null && heads > 0)
  })
}

for (const { name, sample, nodeCodes, meets } of LOOSER) {
  test(`known to be refused only by Node: ${name}`, async (t) => {
    const bytes = Buffer.from(sample, 'latin1')
    const ours = read([bytes])
    assert.equal(ours.error, null)
    assert.ok(ours.messages[0]!.isWhole && meets(ours.messages[0]!, sample), 'the row covers its own sample')
    const { refusal } = await readWithNode(nodeServer(), [bytes])
    report(t, refusal !== null)
    if (refusal !== null) assert.ok(nodeCodes.includes(refusal), refusal)
  })
}
