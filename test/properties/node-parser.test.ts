// What both we and Node's own parser accept, both read alike: method, target, version, fields, body, trailers, and where a request ends.
// Two readings of the same bytes are how a request is smuggled, so each difference that remains has a row and a reason below.

import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

import fc from 'fast-check'

import { anyText, wireText } from '../support/wire-arbitraries.ts'
import { type Message, read } from '../support/wire-reading.ts'

/** A difference that is known and meant. */
interface Difference {
  readonly name: string
  /** Why we read as we do, and which Nodes (of 20.20, 22.23, 24.21, 26.10) read otherwise. */
  readonly why: string
  /** Whether this difference is met at this request of ours, in this text. */
  readonly meets: (ours: Message, text: string) => boolean
  /** Where the readings part: `body`, or `end`, so that this request is still read alike. */
  readonly from: 'body' | 'end'
  /** An example, to be followed by one more request. */
  readonly sample: string
  /** How many requests we read then. */
  readonly weRead: 1 | 2
}

const DIFFERENCES: readonly Difference[] = [
  {
    name: 'a tab behind a Connection option',
    why: 'RFC 9110 §5.6.3 counts HTAB as a blank. Node 20 does not: it misses close and goes on.',
    meets: (_, text) => /^connection:.*\t/im.test(text),
    from: 'end',
    sample: 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\t\r\n\r\n',
    weRead: 1,
  },
  {
    name: 'an upgrade that nobody takes',
    why: 'RFC 9110 §7.8 lets a server go on as if nobody had asked, and tells it to for HTTP/1.0. Every Node reads nothing more.',
    meets: (_, text) => /^connection:.*upgrade/im.test(text) && /^upgrade:/im.test(text),
    from: 'end',
    sample: 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    weRead: 2,
  },
  {
    name: 'an upgrade with a tab behind chunked',
    why: 'A tab is a blank. Every Node takes "chunked\\t" for another coding; it refuses that, but not in an upgrade, which has no body then.',
    meets: ({ upgrade }, text) => upgrade && /^transfer-encoding:.*chunked *\t/im.test(text),
    from: 'body',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\nTransfer-Encoding: chunked\t\r\n\r\n1\r\nx\r\n0\r\n\r\n',
    weRead: 2,
  },
  {
    name: 'HTTP/1.0 with both keep-alive and close',
    why: 'RFC 9112 §9.3 asks for close first. Every Node asks for keep-alive first, and goes on.',
    meets: ({ minorVersion, keepAlive }, text) => minorVersion === 0 && !keepAlive && /^connection:.*keep-alive/im.test(text),
    from: 'end',
    sample: 'GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n',
    weRead: 1,
  },
  {
    name: 'Proxy-Connection',
    why: 'RFC 9112 appendix C.2.2 tells of it as a mistake, and no server may act on it. Every Node reads it as Connection.',
    meets: ({ fields }) => fields.some(([name]) => name.toLowerCase() === 'proxy-connection'),
    from: 'end',
    sample: 'GET / HTTP/1.0\r\nProxy-Connection: keep-alive\r\n\r\n',
    weRead: 1,
  },
]

interface NodeRequest {
  readonly method: string | undefined
  readonly target: string | undefined
  readonly version: string
  readonly fields: readonly string[]
  readonly body: string
  readonly trailers: readonly string[]
}

interface NodeReading {
  readonly requests: readonly NodeRequest[]
  /** Whether Node refused something, be it with an error or with an answer of its own. */
  readonly refuses: boolean
}

/** A connection that has no network: Node's server reads what is pushed and its answers are dropped. */
class Wire extends Duplex {
  readonly requests: NodeRequest[] = []
  refuses = false

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    // Node answers 400 to a missing Host and 417 to an unknown expectation by itself.
    if (/^HTTP\/1\.1 4/.test(chunk.toString('latin1', 0, 10))) this.refuses = true
    done()
  }
}

function nodeServer(): Server {
  const server = createServer({ maxHeaderSize: 64 * 1024 }, onRequest)
  server.on('clientError', (_error, wire) => {
    ;(wire as Wire).refuses = true
  })
  return server
}

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  const wire = request.socket as unknown as Wire
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
    response.end()
  })
}

async function readWithNode(server: Server, bytes: Buffer): Promise<NodeReading> {
  const wire = new Wire()
  wire.on('error', () => {})
  server.emit('connection', wire)
  wire.push(bytes)
  for (let turn = 0; turn < 4; turn++) await setImmediate()
  const { requests, refuses } = wire
  wire.destroy()
  return { requests, refuses }
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

/** How many of our requests can be compared before a known difference is met. */
function partingOf(messages: readonly Message[], text: string): number {
  for (const [i, message] of messages.entries()) {
    const met = DIFFERENCES.filter((difference) => difference.meets(message, text))
    if (met.length > 0) return met.some(({ from }) => from === 'body') ? i : i + 1
  }
  return Number.POSITIVE_INFINITY
}

async function compare(server: Server, text: string): Promise<number> {
  const bytes = Buffer.from(text, 'latin1')
  const ours = read([bytes])
  const whole = ours.messages.filter((message) => message.isWhole)
  const node = await readWithNode(server, bytes)
  const parting = partingOf(ours.messages, text)
  const shared = Math.min(whole.length, node.requests.length, parting)
  for (let i = 0; i < shared; i++) assert.deepEqual(asNode(whole[i]!), node.requests[i], `request ${i + 1}`)
  if (parting === Number.POSITIVE_INFINITY) {
    if (whole.length > node.requests.length) assert.ok(node.refuses, 'we read a request that Node neither reads nor refuses')
    if (whole.length < node.requests.length) assert.ok(ours.error !== null, 'Node reads a request that we neither read nor refuse')
  }
  return shared
}

test('what both accept is read alike', async () => {
  const server = nodeServer()
  let shared = 0
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 5, arbitrary: wireText }, anyText), async (text) => {
      shared += await compare(server, text)
    }),
    { numRuns: 3000 },
  )
  assert.ok(shared > 700, `only ${shared} requests were compared: that says nothing`)
})

for (const difference of DIFFERENCES) {
  test(`known difference: ${difference.name}`, async (t) => {
    const text = `${difference.sample}GET /2 HTTP/1.1\r\nHost: a\r\n\r\n`
    const ours = read([Buffer.from(text, 'latin1')])
    assert.equal(ours.messages.length, difference.weRead)
    assert.equal(ours.error, null)
    assert.ok(difference.meets(ours.messages[0]!, text), 'the row covers its own sample')
    const { requests } = await readWithNode(nodeServer(), Buffer.from(text, 'latin1'))
    if (isDeepStrictEqual(requests, ours.messages.map(asNode))) t.diagnostic(`Node ${process.version} reads this as we do`)
  })
}
