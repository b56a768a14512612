// A whole server on a connection in memory, with handlers that read the body in every possible way.

import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'

import { loadForms } from '../../../packages/weirjs/src/http/uploads/late-forms.ts'
import type { HttpRequest } from '../../../packages/weirjs/src/index.ts'
import { FakeConnection } from '../../../packages/weirjs/test/support/fake-connection.ts'
import { type Message, readMessage } from '../../../packages/weirjs/test/support/raw-client.ts'
import { loadWireCases, wireTopics } from '../../../packages/weirjs/test/support/wire-cases.ts'
import { read } from '../../../packages/weirjs/test/support/wire-reading.ts'
import { cutRandomly, type Target } from '../target.ts'
import { WIRE_WORDS } from './wire.ts'

// The first form waits for them, for more turns than an input has.
await loadForms()

const FORM_LIMITS = { maxParts: 4, maxFileSize: 300, maxFieldSize: 100 }
const TIMEOUTS = { headersTimeout: 100, keepAliveTimeout: 200, bodyGracePeriod: 100, writeTimeout: 200, lingerTimeout: 100 }
/** Longer than all of them together: a connection that is not over by then never ends. */
const LONG_MS = 1000
const ROUTES = {
  'POST /text': (_: unknown, { request }: { request: HttpRequest }) => ({ length: request.body.length, again: request.bodyString.length }),
  'POST /bytes': (_: unknown, { request }: { request: HttpRequest }) => request.bodyBytes,
  'POST /span': (_: unknown, { request }: { request: HttpRequest }) => ({ length: request.bodySpan.length, same: request.bodyLength }),
  'POST /form': (_: unknown, { request }: { request: HttpRequest }) => request.bodyForm(),
  'POST /map': (_: unknown, { request }: { request: HttpRequest }) => {
    const model = { a: '', n: 0, list: [0], inner: { b: false } }
    return { mapped: request.bodyMap(model), model }
  },
  'POST /multi': async (_: unknown, { request }: { request: HttpRequest }) => summaryOf(await request.bodyMultipart(FORM_LIMITS)),
  'POST /file': async (_: unknown, { request }: { request: HttpRequest }) => summaryOf(await request.bodyFile()),
  'POST /pass': () => 'unread',
  'POST /fail': () => Promise.reject(new Error('a handler of the fuzzer failed')),
  'GET /head': (_: unknown, { request }: { request: HttpRequest }) => headOf(request),
  'POST ~skip': () => 'unread',
  'POST ~gather': async (_: unknown, { request }: { request: HttpRequest }) => {
    await request.bufferBody()
    return request.bodyBytes
  },
  'POST ~late': async (_: unknown, { request }: { request: HttpRequest }) => {
    await turns(3)
    await request.bufferBody()
    return { length: request.bodyLength }
  },
  'POST ~pieces': async (_: unknown, { request }: { request: HttpRequest }) => ({ length: await lengthOf(request.bodyStream()) }),
  'POST ~some': async (_: unknown, { request }: { request: HttpRequest }) => {
    for await (const piece of request.bodyStream()) if ((piece as Buffer).length > 0) return 'enough'
    return 'nothing'
  },
  'POST ~echo': (_: unknown, { request }: { request: HttpRequest }) => request.bodyStream(),
  'POST ~parts': async (_: unknown, { request }: { request: HttpRequest }) => {
    const seen: unknown[] = []
    const isForm = await request.bodyMultipartStream({
      ...FORM_LIMITS,
      onField: (name, value) => void seen.push([name, value]),
      onFile: async (info, content) => void seen.push([info.fieldName, info.fileName, await lengthOf(content)]),
    })
    return { isForm, seen: isForm ? seen : [] }
  },
  'POST ~slow': async (_: unknown, { request }: { request: HttpRequest }) => {
    const isForm = await request.bodyMultipartStream({
      ...FORM_LIMITS,
      onField: () => turns(2),
      onFile: (_info, content) => void content.destroy(), // not wanted
    })
    return { isForm }
  },
  'POST ~twice': async (_: unknown, { request }: { request: HttpRequest }) => {
    request.bodyStream().resume()
    await request.bufferBody()
  },
}
const PATHS = [...new Set(Object.keys(ROUTES).map((title) => title.split(' ')[1]!.replace('~', '/')))]

function turns(count: number): Promise<void> {
  return new Promise((resolve) => (count === 0 ? resolve() : setImmediate(() => turns(count - 1).then(resolve))))
}

async function lengthOf(stream: Readable): Promise<number> {
  let length = 0
  for await (const piece of stream) length += (piece as Buffer).length
  return length
}

function summaryOf(form: Awaited<ReturnType<HttpRequest['bodyMultipart']>>): unknown {
  if (form === null) return { form: null }
  return { fields: [...form.fields], files: form.files.map(({ fieldName, fileName, content }) => [fieldName, fileName, content.length]) }
}

function headOf(request: HttpRequest): unknown {
  const cookies = Array.from({ length: request.cookies }, (_, i) => request.cookie(i))
  return { path: request.path, query: [...request.query], host: request.header('host'), cookies, protocol: request.protocol }
}

export const serverTarget: Target = {
  name: 'server',
  promise: 'each complete request gets one well-formed response, the same however it is cut; only the handlers fail; the connection ends',
  dictionary: [
    ...WIRE_WORDS,
    ...PATHS.map((path) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc`),
    ...PATHS.map((path) => `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`),
    ...PATHS.map((path) => ` ${path} `),
    ...[
      'Content-Type: application/json\r\n',
      'Content-Type: application/x-www-form-urlencoded\r\n',
      '{"a":"b","n":1}',
      'a=b&n=1&list=1&list=2',
    ],
    ...[
      'Content-Type: multipart/form-data; boundary=b\r\n',
      '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n',
      '\r\n--b\r\n',
      '\r\n--b--',
    ],
    ...['Content-Disposition: form-data; name="x"; filename="y"\r\n\r\n', 'Range: bytes=0-1\r\n', '?a=b', 'Content-Length: 99999999\r\n'],
  ],
  maxBytes: 3000,
  *seeds() {
    for (const path of PATHS) yield Buffer.from(exampleOf(path))
    for (const topic of wireTopics('packages/weirjs/test/wire'))
      for (const { bytes } of loadWireCases(`packages/weirjs/test/wire/${topic}.http`)) yield bytes
  },
  async quickCheck(bytes, choices) {
    const leaves = choices.oneIn(4)
    const whole = await serve([bytes], leaves, bytes)
    const cut = await serve(cutRandomly(bytes, choices, 4), leaves, bytes)
    if (!leaves) compare(bytes, whole, cut)
    return `${whole.statuses.slice(0, 4).join(' ')} ${whole.fate}`
  },
  fullCheckOneIn: 1,
  async fullCheck(bytes, choices) {
    const leaves = choices.oneIn(4)
    checkCount(bytes, await serve([bytes], leaves, bytes), leaves)
  },
}

function exampleOf(path: string): string {
  const form =
    '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data; name="f"; filename="y"\r\n\r\n22\r\n--b--'
  const body = /text|bytes|map/.test(path) ? '{"a":"b","n":1,"list":[1],"inner":{"b":true}}' : path === '/form' ? 'a=b&c' : form
  const type =
    body === form ? 'multipart/form-data; boundary=b' : path === '/form' ? 'application/x-www-form-urlencoded' : 'application/json'
  if (path === '/head') return 'GET /head?a=b&c HTTP/1.1\r\nHost: a\r\nCookie: a=b; c=d\r\n\r\n'
  const head = (framing: string): string => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n`
  const half = Math.floor(body.length / 2)
  const chunks = [body.slice(0, half), body.slice(half)].map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')
  return `${head(`Content-Length: ${body.length}`)}${body}${head('Transfer-Encoding: chunked')}${chunks}0\r\n\r\n`
}

/**
 * Only the last request, if its body is cut short, may have two possible responses, or half of one: a handler may have read enough of the
 * body before that, or may have begun to respond with it.
 */
function compare(bytes: Buffer, whole: Served, cut: Served): void {
  const { messages } = read([bytes])
  const certain = messages.at(-1)?.isWhole === false ? messages.length - 1 : Number.POSITIVE_INFINITY
  assert.deepEqual(cut.statuses.slice(0, certain), whole.statuses.slice(0, certain), 'cut, it gets another response')
  if (cut.fate === 'reset' || whole.fate === 'reset')
    assert.notEqual(certain, Number.POSITIVE_INFINITY, 'aborted, although nothing was wrong')
  else assert.equal(cut.statuses.length, whole.statuses.length, 'cut, there are more or fewer responses')
}

interface Served {
  /** The statuses of the final responses, in order. */
  readonly statuses: readonly number[]
  readonly fate: string
}

const unhandled: unknown[] = []
let isListening = false

/** @param leaves whether the client leaves after the last byte, instead of waiting for its responses */
async function serve(parts: readonly Buffer[], leaves: boolean, bytes: Buffer): Promise<Served> {
  if (!isListening) process.on('unhandledRejection', (reason) => unhandled.push(reason))
  isListening = true
  const connection = new FakeConnection({ timeouts: TIMEOUTS, routes: ROUTES })
  for (const part of parts) await connection.send(part.toString('latin1'))
  if (leaves) await connection.leave()
  else await connection.halfClose()
  for (let turn = 0; turn < 12 && connection.fate === 'open'; turn++) await turns(1)
  if (connection.fate === 'end') connection.destroy() // the client has ended its side as well
  if (connection.fate === 'open') await connection.clock.advance(LONG_MS)
  await turns(4)
  assert.notEqual(connection.fate, 'open', 'the connection never ends')
  assert.deepEqual(unhandled.splice(0), [], 'an unhandled rejection')
  const ours = connection.logged.filter((error) => !(error instanceof Error && error.message === 'a handler of the fuzzer failed'))
  const mistakes = ours.filter((error) => !isExpected(error))
  assert.deepEqual(mistakes, [], 'something other than a handler failed')
  for (const error of connection.reported) assert.ok(isExpected(error) || connection.fate === 'reset', `reported: ${String(error)}`)
  const responses = responsesOf(Buffer.from(connection.take(), 'latin1'), bytes, leaves || connection.fate === 'reset')
  return { statuses: responses.map(({ status }) => status), fate: connection.fate }
}

/** Errors that a client can cause. */
function isExpected(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  if ('fault' in error && error.fault !== 'developer') return true
  // The handler of /twice reads the body twice, and one that needs all of it gets a stream if the client sends a form.
  return error.code === 'WEIR_BODY_ALREADY_READ' || error.code === 'WEIR_BODY_NOT_BUFFERED'
}

/** Everything that was written, as responses. The last one may be cut short if the connection was aborted. */
function responsesOf(written: Buffer, sent: Buffer, isBroken: boolean): Message[] {
  const heads = read([sent]).messages
  const responses: Message[] = []
  for (let rest = written; rest.length > 0; ) {
    const head = heads[responses.length]
    // A head that was refused may have begun with HEAD, and then the refusal has no body.
    const isLastHead = head === undefined && sent.includes('HEAD ')
    const found = readMessage(rest, head?.method === 'HEAD', !isBroken) ?? (isLastHead ? readMessage(rest, true, true) : null)
    if (found === null) {
      assert.ok(isBroken, `half a response: ${rest.toString('latin1', 0, 200)}`)
      return responses
    }
    if (found.message.status >= 200) responses.push(found.message)
    rest = rest.subarray(found.length)
  }
  return responses
}

function checkCount(bytes: Buffer, { statuses, fate }: Served, leaves: boolean): void {
  const { messages, error } = read([bytes])
  const most = messages.length + (error === null ? 0 : 1)
  assert.ok(statuses.length <= most, `${statuses.length} responses to ${most} requests`)
  if (leaves || fate === 'reset') return
  const whole = messages.filter(({ isWhole }) => isWhole).length
  assert.ok(
    statuses.length >= whole || statuses.some((status) => status >= 400),
    `${statuses.length} responses to ${whole} complete requests`,
  )
}
