// Bodies in forms that hide the names of their secrets: other encodings, compressed messages, base64, forms whose parts have no known delimiter, and
// columns. Neither the inspector nor a recording keeps a value, of a request or of a response.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'

import { HttpServer } from '../../weirjs/src/index.ts'
import { RawClient } from '../../weirjs/test/support/raw-client.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { inspector, record } from '../src/index.ts'

const token = 'token-of-these-tests-1'
const JSON_BODY = '{"user":"ann","password":"CANARY-1"}'
const FORM_BODY = 'user=ann&password=CANARY-1'
const PART = 'Content-Disposition: form-data; name="password"\r\n\r\nCANARY-1'

function utf16(text: string, isBig = false): Buffer {
  const bytes = Buffer.from(text, 'utf16le')
  return isBig ? bytes.swap16() : bytes
}

function utf32(text: string): Buffer {
  return Buffer.from([...text].flatMap((char) => [char.charCodeAt(0) & 255, char.charCodeAt(0) >> 8, 0, 0]))
}

/** A message of gRPC or Connect in its envelope. */
function message(bytes: Buffer, flags = 0): Buffer {
  const head = Buffer.alloc(5)
  head[0] = flags
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}

const GZIPPED = message(gzipSync(JSON_BODY), 1)
const NESTED = `--B\r\nContent-Disposition: form-data; name="all"\r\nContent-Type: multipart/mixed; boundary=C\r\n\r\n--C\r\n${PART}\r\n--C--\r\n--B--`
const IN_BASE64 = `--B\r\nContent-Disposition: form-data; name="all"\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(JSON_BODY).toString('base64')}\r\n--B--`
const LONG = 'b'.repeat(90)
/** As a GET of Connect has its message. */
const CODED = Buffer.from(JSON_BODY).toString('base64url')
/** With all digits of base64, and longer than a line of mail. */
const LONG_CODED = Buffer.from(`{"user":">>>???${'n'.repeat(60)}","password":"CANARY-1"}`).toString('base64')
const IN_LINES = LONG_CODED.replace(/.{76}/g, '$&\r\n')

const BODIES: Readonly<Record<string, readonly [type: string, body: string | Buffer, fields?: string]>> = {
  'JSON in UTF-16': ['application/json', utf16(JSON_BODY)],
  'JSON in UTF-16 with a mark': ['application/json; charset=utf-16', utf16(`\ufeff${JSON_BODY}`)],
  'JSON in UTF-16 that begins with the high bytes': ['application/json', utf16(`\ufeff${JSON_BODY}`, true)],
  'JSON in UTF-32': ['application/json', utf32(JSON_BODY)],
  'JSON in UTF-16 with letters that contain the byte of a quote': ['application/json', utf16('{"password":"\u0422\u2022CANARY-1"}')],
  'JSON in UTF-32 with such a letter': ['application/json', utf32('{"password":"\u0422CANARY-1"}')],
  'a form in UTF-16': ['application/x-www-form-urlencoded', utf16(FORM_BODY)],
  'a form in parts in UTF-16': ['multipart/form-data; boundary=B', utf16(`--B\r\n${PART}\r\n--B--`)],
  'a compressed message of Connect': ['application/connect+json', GZIPPED, 'Connect-Content-Encoding: gzip'],
  'a compressed message of gRPC': ['application/grpc+json', GZIPPED, 'Grpc-Encoding: gzip'],
  'a compressed body': ['application/json', gzipSync(JSON_BODY), 'Content-Encoding: gzip'],
  'a compressed body that says so first': ['application/json', gzipSync(JSON_BODY), 'Content-Encoding: gzip\r\nContent-Encoding: identity'],
  'a compressed body that says so last': ['application/json', gzipSync(JSON_BODY), 'Content-Encoding: identity\r\nContent-Encoding: gzip'],
  'messages of gRPC-Web in a text': ['application/grpc-web-text+json', message(Buffer.from(JSON_BODY)).toString('base64')],
  'JSON in base64': ['application/json', JSON.stringify({ data: Buffer.from(JSON_BODY).toString('base64url') })],
  'a form in base64': ['text/plain', Buffer.from(FORM_BODY).toString('base64')],
  'a part in base64': ['multipart/form-data; boundary=B', IN_BASE64],
  'base64 in lines': ['text/plain', IN_LINES],
  'a part in lines of base64': ['multipart/form-data; boundary=B', IN_BASE64.replace(CODED, IN_LINES)],
  'base64 behind another line': ['text/plain', `another-line-of-words\n${CODED}`],
  'base64 in an encoded form': ['application/x-www-form-urlencoded', `message=${encodeURIComponent(LONG_CODED)}`],
  'base64 with escapes of JSON': ['application/json', `{"data":"${LONG_CODED.replaceAll('/', '\\/')}"}`],
  'a form in a part': ['multipart/form-data; boundary=B', NESTED],
  'a form of another type, behind another line with hyphens': ['text/plain', `x\r\n--y z\r\n\r\n--B\r\n${PART}\r\n--B--`],
  'a part without a delimiter': ['multipart/form-data; boundary=B', PART],
  'a delimiter that is too long': ['text/plain', `--${LONG}\r\n${PART}\r\n--${LONG}--`],
  'carriage returns alone': ['multipart/form-data; boundary=B', `--B\r\n${PART}\r\n--B--`.replaceAll('\n', '')],
  'a column of CSV': ['text/csv; charset=utf-8', 'user,password,age\r\nann,CANARY-1,7\r\n"b,ob","CANARY-2 ""x""\r\nCANARY-3",8\r\n'],
  'a column of CSV with semicolons': ['text/csv', '"user";"api key"\nann;CANARY-1\n'],
  'a text of GraphQL in JSON': ['application/json', JSON.stringify({ query: 'mutation { login(password: """CANARY-1""") }' })],
  'elements that name others': ['application/xml', '<member><name>password</name><value><string>CANARY-1</string></value></member>'],
  'elements that name others behind them': ['application/xml', '<a><value>CANARY-1</value><name>password</name></a>'],
  'a property list': ['application/xml', '<dict><key>user</key><string>ann</string><key>password</key>\n<string>CANARY-1</string></dict>'],
  'a column of TSV': ['text/tab-separated-values', 'token\tuser\nCANARY-1\tann'],
}

/** All that someone can read in a text. */
function readable(text: string): string {
  const plain = text.replaceAll('\\u0000', '').replaceAll('\0', '')
  const found = [plain]
  for (const [coded] of plain.matchAll(/[\w+/-]{16,}={0,2}/g)) {
    const bytes = Buffer.from(coded, 'base64')
    found.push(bytes.toString('latin1').replaceAll('\0', ''))
    const start = bytes.indexOf('1f8b08', 'hex')
    if (start !== -1) found.push(String(gunzipSync(bytes.subarray(start))))
  }
  return found.join('\n')
}

test('no value of a secret is kept, whatever hides its name', async (t) => {
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  server.use(inspector({ token, exchanges: 1_000 }))
  server.mapPost('/read', { body: 'stream' }, async (_, { request }) => {
    for await (const _piece of request.bodyStream());
    return 'read'
  })
  let name = ''
  server.mapGet('/answer/:message', (_, { response }) => {
    const [type, body, field = ''] = BODIES[name]!
    if (field !== '') response.header(field.split(':', 1)[0]!, 'gzip')
    response.contentType(type)
    return Buffer.from(body as Buffer)
  })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const to = join(temporaryDirectory(t), 'exchanges.jsonl')
  const recording = record(server, { to })
  const shown = async (): Promise<string> => {
    const looks = { peer: { address: '127.0.0.1' }, headers: { authorization: `Bearer ${token}` } }
    return (await server.inject({ url: '/_weir/har', ...looks })).text()
  }
  for (const [each, [type, body, field = '']] of Object.entries(BODIES)) {
    name = each
    const bytes = Buffer.from(body as Buffer)
    for (const path of ['/read', '/none']) {
      const client = await RawClient.connect(server.port)
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\n${field === '' ? '' : `${field}\r\n`}`
      await client.send(`${head}Content-Length: ${bytes.length}\r\nConnection: close\r\n\r\n`).send(bytes).rest()
    }
    const client = await RawClient.connect(server.port)
    await client
      .send(
        `GET /answer/${CODED}?message=${CODED}&base64=1&encoding=json&more=${encodeURIComponent(LONG_CODED)} HTTP/1.1\r\nHost: localhost\r\nReferer: /?message=${CODED}\r\nX-Message: ${CODED}\r\nConnection: close\r\n\r\n`,
      )
      .rest()
    assert.equal(/.{0,40}CANARY/.exec(readable(await shown()))?.[0], undefined, `the inspector: ${each}`)
  }
  await recording.stop()
  const lines = readFileSync(to, 'utf8').trim().split('\n')
  assert.ok(lines.length > 2 * Object.keys(BODIES).length, `${lines.length}`)
  for (const line of lines) {
    const { pieces, response } = JSON.parse(line) as { pieces: { bytes: unknown }[]; response: { body: unknown } }
    for (const text of [line, pieces.map(({ bytes }) => textOf(bytes)).join(''), textOf(response.body)])
      assert.equal(/.{0,40}CANARY/.exec(readable(text))?.[0], undefined, line)
  }
})

/** The texts in a part of a recording, without the cuts between them. */
function textOf(part: unknown): string {
  if (typeof part === 'string') return part
  return typeof part === 'object' && part !== null ? Object.values(part).map(textOf).join('') : ''
}

test('what has no secret is kept as it is', async (t) => {
  const server = new HttpServer({ logger: null })
  server.mapPost('/read', { body: 'stream' }, () => 'read')
  const to = join(temporaryDirectory(t), 'exchanges.jsonl')
  const recording = record(server, { to })
  const csv = 'user,age\r\nann,7\r\n'
  const plain = `${Buffer.from('{"user":"ann","age":7}').toString('base64')} ${'word'.repeat(10)} \0 text`
  for (const [type, body] of [
    ['text/csv', csv],
    ['text/plain', plain],
  ] as const)
    await server.inject({ method: 'POST', url: '/read', headers: { 'Content-Type': type, 'Content-Encoding': 'identity' }, body })
  await recording.stop()
  const [first = '', second = ''] = readFileSync(to, 'utf8').trim().split('\n')
  assert.ok(JSON.stringify(JSON.parse(first)).includes('ann,7'))
  assert.ok(second.includes(plain.split(' ')[0]!))
})
