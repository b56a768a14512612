// A schema in `answers` stands for JSON that weir makes. What it does not make, it cannot pick from.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { bytes, HttpResponse, HttpServer, type HttpSession, t } from '../../src/index.ts'
import type { Answers } from '../../src/modules/contract/index.ts'

const HASH = '$argon2id$hash'
const User = t.object({ id: t.int })
const LEAKY = JSON.stringify({ id: 1, passwordHash: HASH })

type Handler = (args: object, session: HttpSession) => unknown

/** As in production: without the checks of `inject` and `debug`. */
async function responseOf(handler: Handler, answers: Answers = { 200: User }): Promise<[number, string, string | null]> {
  const server = new HttpServer({ logger: null })
  server.mapGet('/', { answers }, handler as () => never)
  const response = await server.fetch(new Request('http://localhost/'))
  return [response.status, await response.text(), response.headers.get('content-encoding')]
}

const OTHERS: Readonly<Record<string, Handler>> = {
  'a Response': () => Response.json({ id: 1, passwordHash: HASH }),
  'a Response that was fetched': async () => new Response(new Blob([LEAKY]).stream()),
  'a stream': () => Readable.from([LEAKY]),
  'an async iterable': async function* () {
    yield LEAKY
  },
  bytes: () => Buffer.from(LEAKY),
  'bytes of session.response': (_, { response }) => response.body(Buffer.from(LEAKY), 'application/json'),
  'a stream of a response of its own': () => new HttpResponse().stream(Readable.from([LEAKY]), 'application/json'),
  'a file': (_, { response }) => response.file('package.json'),
  'JSON that the program has compressed': (_, { response }) => response.json({ id: 1 }).encodeAs('x', Buffer.from(LEAKY)),
}

for (const [name, handler] of Object.entries(OTHERS)) {
  test(`${name} does not leave where JSON is declared, in production neither`, async () => {
    const [status, body] = await responseOf(handler)
    assert.equal(status, 500)
    assert.equal((JSON.parse(body) as { code: string }).code, 'WEIR_ANSWER_UNDECLARED')
    assert.ok(!body.includes(HASH))
    if (name.includes('compressed')) return
    assert.equal((await responseOf(handler, { 200: bytes() }))[0], 200) // bytes() says so
  })
}

test('nor with a status that is not declared, or is declared without a body', async () => {
  assert.equal((await responseOf(() => new Response(LEAKY, { status: 201 })))[0], 500)
  assert.equal((await responseOf(() => Buffer.from(LEAKY), { 200: null }))[0], 500)
  assert.equal((await responseOf(() => Buffer.from(LEAKY), { 404: User }))[0], 200) // only an error is declared
  assert.equal((await responseOf(() => new Response(null, { status: 204 })))[0], 204)
})

test('a stream that does not leave is closed', async () => {
  const stream = Readable.from([LEAKY])
  assert.equal((await responseOf(() => stream))[0], 500)
  assert.equal(stream.destroyed, true)
})

test('content that replaces JSON with a coding is sent, and not the JSON under the name of the coding', async () => {
  const compressed = (make: (session: HttpSession) => HttpResponse) =>
    responseOf((_, session) => make(session).encodeAs('x', Buffer.from('xyz')), { 200: bytes() })
  assert.deepEqual(await compressed(({ response }) => response.json({ id: 1 })), [200, 'xyz', 'x'])
  assert.deepEqual(await compressed(() => new HttpResponse().json({ id: 1 })), [200, 'xyz', 'x'])
})

test('text still leaves, as the guide says: a string under a schema is text', async () => {
  assert.deepEqual(await responseOf(() => 'text'), [200, 'text', null])
})
