// weirjs/log: no client can forge a line, whatever bytes it sends.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pino } from 'pino'

import { HttpServer } from '../../../src/index.ts'
import { type AccessLogOptions, accessLog } from '../../../src/modules/log/index.ts'
import { connect } from '../../../src/testing/index.ts'

/** What has ended lines, moved cursors or closed quotes in the logs of others. */
const BAD = [
  '\r',
  '\n',
  '\r\n',
  '"',
  '\\',
  '\x1b[2J',
  '\x9b',
  '\x85',
  '\0',
  '\t',
  '\x7f',
  '\u2028',
  '\u202e',
  '\xff\xfe',
  '\xc3(',
  '\x80',
  ' ',
  '%0a',
  '%22',
]
const text = fc
  .array(fc.oneof(fc.constantFrom(...BAD), fc.string({ maxLength: 6, unit: 'binary' }), fc.string({ maxLength: 6 })), { maxLength: 6 })
  .map((parts) => parts.join(''))
/** Mostly such that the request is accepted, so that its other fields reach the log. */
const mostly = (usual: string): fc.Arbitrary<string> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: text })
const field = fc
  .array(fc.oneof(fc.constantFrom('"', '\\', '\t', '\x80', '\x9b', '\u2028', '\u202e', 'é', ' ', '%0a'), fc.string({ maxLength: 6 })))
  .map((all) => all.join(''))
const request = fc.record({
  path: mostly('a?b=%0A%22'),
  host: mostly('localhost'),
  agent: fc.oneof({ weight: 4, arbitrary: field }, { weight: 1, arbitrary: text }),
  referer: fc.oneof({ weight: 4, arbitrary: field }, { weight: 1, arbitrary: text }),
  method: mostly('GET'),
})

/** Latin1 as it comes, everything else as UTF-8. */
function bytesOf(value: string): Buffer {
  return /^[\0-\xff]*$/.test(value) ? Buffer.from(value, 'latin1') : Buffer.from(value)
}

type Fields = typeof request extends fc.Arbitrary<infer R> ? R : never

function bytesOfRequest({ method, path, host, agent, referer }: Fields): Buffer {
  const b = bytesOf
  return Buffer.concat([
    b(method),
    b(' /'),
    b(path),
    b(' HTTP/1.1\r\nHost: '),
    b(host),
    b('\r\nUser-Agent: '),
    b(agent),
    b('\r\nReferer: '),
    b(referer),
    b('\r\n\r\n'),
  ])
}

async function send(server: HttpServer, fields: Fields): Promise<void> {
  const client = connect(server)
  await client.send(bytesOfRequest(fields))
  await client.end()
  await client.closed()
  await client[Symbol.asyncDispose]()
  await new Promise(setImmediate)
}

const FORMATS: Record<string, { format: AccessLogOptions['format']; line: RegExp }> = {
  combined: {
    format: 'combined',
    line: /^\S+ - \S+ \[[^\]]+\] "(?:[^"\\]|\\.)*" \d{3} \d+ "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*"$/,
  },
  json: { format: 'json', line: /^\{.*\}$/ },
  function: {
    format: ({ url, host, userAgent, referer, method }) => `"${method}" "${url}" "${host}" "${userAgent}" "${referer}"`,
    line: /^(?:"(?:[^"\\]|\\.)*" ?){5}$/,
  },
}

for (const [name, { format, line }] of Object.entries(FORMATS))
  test(`every exchange is one line of visible ASCII: ${name}`, async () => {
    let written = ''
    const to = { write: (chunk: string) => (written += chunk) !== null }
    const server = new HttpServer({ logger: null }).use(
      accessLog({ to, format: format!, user: ({ request }) => request.header('referer') }),
    )
    server.mapGet('/*all', () => 'ok')
    const kinds = new Map<string, number>()
    server.observe({ end: ({ kind }) => kinds.set(kind, (kinds.get(kind) ?? 0) + 1) })
    await fc.assert(
      fc.asyncProperty(request, async (fields) => {
        written = ''
        await send(server, fields)
        const lines = written.split('\n')
        assert.equal(lines.pop(), '')
        assert.ok(lines.length >= 1)
        for (const one of lines) {
          assert.match(one, /^[\x20-\x7e]*$/)
          assert.match(one, line)
          if (name === 'json') JSON.parse(one)
        }
      }),
      { numRuns: 400 },
    )
    assert.ok(kinds.get('request')! > 40 && kinds.get('head')! > 40, `both kinds: ${[...kinds].join(' ')}`)
  })

test('lines of pino are of visible ASCII too', async () => {
  let written = ''
  const log = pino({ base: null }, { write: (chunk: string) => void (written += chunk) })
  const server = new HttpServer({ logger: null }).use(accessLog({ to: log, fields: ['x-a'] }))
  await fc.assert(
    fc.asyncProperty(request, async (fields) => {
      written = ''
      await send(server, fields)
      for (const one of written.trimEnd().split('\n')) {
        assert.match(one, /^[\x20-\x7e]*$/)
        assert.equal(typeof JSON.parse(one), 'object')
      }
    }),
    { numRuns: 200 },
  )
})
