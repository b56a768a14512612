// Bodies that are merge patches: which requests are accepted, and what handlers get.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpError, HttpServer, type InjectResponse, type MergePatch, mergePatch, type ServerOptions, t } from '../../src/index.ts'
import { client, patch } from '../../src/modules/client/index.ts'

const PATCH = 'application/merge-patch+json'
const User = t.object({
  name: t.string,
  note: t.string.optional(),
  address: t.object({ city: t.string, street: t.string }).optional(),
})

function serverOf(options: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  const user = { id: 7, name: 'Ada', note: 'x' }
  return server.mapPatch('/user', { body: mergePatch(User) }, ({ body }) => [body.applyTo(user), body.changes])
}

const send = (server: HttpServer, body: string | undefined, type: string | null = PATCH): Promise<InjectResponse> =>
  server.inject({
    method: 'PATCH',
    url: '/user',
    ...(body !== undefined && { body }),
    headers: type === null ? {} : { 'Content-Type': type },
  })

test('the handler applies the changes to the current object', async () => {
  const response = await send(serverOf(), '{"name":"Bea","note":null,"admin":true}')
  assert.deepEqual(response.json(), [
    { id: 7, name: 'Bea' },
    { name: 'Bea', note: null },
  ])
  assert.equal((await send(serverOf(), '{}', `${PATCH}; charset=utf-8`)).status, 200)
})

test('other content types are refused, and Accept-Patch says which is accepted', async () => {
  for (const type of ['application/json', 'application/json-patch+json', 'text/plain', null]) {
    const response = await send(serverOf(), '{"name":"Bea"}', type)
    assert.equal(response.status, 415, String(type))
    assert.equal(response.headers.get('accept-patch'), PATCH)
  }
  assert.equal((await send(serverOf(), '{}', `${PATCH}; charset=latin1`)).status, 415)
  const options = await serverOf().inject({ method: 'OPTIONS', url: '/user' })
  assert.equal(options.headers.get('accept-patch'), PATCH)
})

test('a patch that does not fit is refused before the handler runs, and one whose result does not fit when it is applied', async () => {
  const expected: readonly (readonly [body: string, pointers: readonly string[]])[] = [
    ['{"name":null,"note":5}', ['/name', '/note']],
    ['[]', ['']],
    ['{"address":{"city":"Graz"}}', ['/address/street']],
  ]
  for (const [body, pointers] of expected) {
    for (const [server, status] of [[serverOf(), 400] as const, [serverOf({ invalidBodyStatus: 422 }), 422] as const]) {
      const response = await send(server, body)
      const { code, errors } = response.json() as { code: string; errors: { pointer: string }[] }
      assert.deepEqual([response.status, code, errors.map(({ pointer }) => pointer)], [status, 'WEIR_BODY_INVALID', pointers])
    }
  }
  const codes = await Promise.all(
    ['', '{', '{"a":{"b":'.repeat(70)].map(async (body) => (await send(serverOf(), body)).json() as { code: string }),
  )
  assert.deepEqual(
    codes.map(({ code }) => code),
    ['WEIR_BODY_MISSING', 'WEIR_BODY_MALFORMED', 'WEIR_BODY_INVALID'],
  )
})

test('only objects of t are patched', () => {
  for (const schema of [t.string, t.record(t.int), undefined, { '~standard': {} }])
    assert.throws(() => mergePatch(schema as never), { code: 'WEIR_OPTION_INVALID', message: /not an object schema/ })
})

test('a client of a contract sends it with its type', async () => {
  const api = { update: patch('/user', { body: mergePatch(User), answers: { 200: User } }) }
  const server = new HttpServer({ logger: null })
  let got: MergePatch<unknown> | null = null
  server.mapContract(api, {
    update: ({ body }) => {
      got = body
      return body.applyTo({ name: 'Ada', note: 'x' })
    },
  })
  const { update } = client(api, 'http://localhost', { fetch: (request: Request) => server.fetch(request) })
  const { status, body } = await update({ body: { note: null } })
  assert.deepEqual([status, body], [200, { name: 'Ada' }])
  assert.deepEqual((got as MergePatch<unknown> | null)?.changes, { note: null })
})

test('a handler that neither applies the patch nor reads its changes is an error in tests', async () => {
  const user = { name: 'Ada' }
  const handlers: readonly (readonly [status: number, handler: (body: MergePatch<{ name: string }>) => unknown])[] = [
    [500, (body) => ({ ...user, ...body })],
    [500, (body) => Object.assign({ ...user }, body)],
    [200, (body) => body.applyTo(user)],
    [200, (body) => ({ ...user, ...(body.changes as object) })],
    [404, () => Promise.reject(new HttpError(404, 'no user'))],
  ]
  for (const [status, handler] of handlers) {
    const server = new HttpServer({ logger: null })
    server.mapPatch('/user', { body: mergePatch(t.object({ name: t.string })) }, ({ body }) => handler(body))
    assert.equal((await send(server, '{"name":"Bea"}')).status, status, String(handler))
  }
})
