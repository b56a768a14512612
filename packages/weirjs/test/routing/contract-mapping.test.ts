// Contracts on the server: what is mapped, with which handlers and options, and what is refused when a contract is mapped.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openapi } from '../../../openapi/src/index.ts'
import { type ContractHandlers, HttpServer, type Policy, t, WeirError } from '../../src/index.ts'
import { client, contract, entry, get, post } from '../../src/modules/client/index.ts'

const api = contract({
  user: get('/users/:id', { id: t.int, summary: 'A user' }),
  save: post('/users', { body: t.object({ name: t.string }), operationId: 'saveUser' }),
})
const handlers = { user: ({ id }: { id: number }) => ({ id }), save: ({ body }: { body: { name: string } }) => body }

/** What plain JavaScript may pass. */
function mapLoosely(...args: readonly unknown[]): HttpServer {
  const server = new HttpServer({ logger: null })
  return (server.mapContract as (...args: readonly unknown[]) => HttpServer).call(server, ...args)
}

function refuses(args: readonly unknown[], detail: string): void {
  const server = new HttpServer({ logger: null })
  assert.throws(
    () => (server.mapContract as (...args: readonly unknown[]) => unknown).call(server, ...args),
    (error) => {
      assert.ok(error instanceof WeirError)
      assert.equal(error.code, 'WEIR_ROUTE_DECLARATION')
      assert.ok(error.message.endsWith(detail), error.message)
      return true
    },
  )
  assert.deepEqual(server.routes, [], 'nothing is mapped')
}

test('the routes of a contract are listed, explained and documented like any others', async () => {
  const server = new HttpServer({ logger: null })
  server.use(openapi({ info: { title: 'Users', version: '1' } }))
  server.mapContract(api, handlers)
  assert.deepEqual(
    server.routes.slice(-2).map(({ method, path, operationId, source, summary }) => [method, path, operationId, source, summary]),
    [
      ['GET', '/users/:id', 'user', '"user" of a contract', 'A user'],
      ['POST', '/users', 'saveUser', '"save" of a contract', null],
    ],
  )
  const { route, arguments: args } = await server.explain('/users/x')
  assert.equal(route?.path, '/users/:id')
  assert.equal(args[0]?.failures[0]?.expected, 'a whole number')
  const document = (await server.inject('/openapi.json')).json() as { paths: Record<string, Record<string, { operationId: string }>> }
  assert.equal(document.paths['/users/{id}']?.['get']?.operationId, 'user')
})

test('a group adds its prefix, parameters and policies, and a client has the prefix in its base', async () => {
  const server = new HttpServer({ logger: null })
  const seen: string[] = []
  const policy = (name: string): Policy => ({ name, gate: () => void seen.push(name) })
  server
    .group('/v1/:org', { org: t.int, use: [policy('group')] })
    .mapContract(
      api,
      { user: ({ org, id }) => ({ org, id }), save: ({ body }) => body },
      { user: { use: [policy('route')], metadata: { role: 'admin' } } },
    )
  const shop = client(api, 'https://shop.example/v1/7', { fetch: server.fetch })
  assert.deepEqual((await shop.user({ id: 5 })).body, { org: 7, id: 5 })
  assert.deepEqual((await shop.save({ body: { name: 'Ada' } })).body, { name: 'Ada' })
  assert.deepEqual(seen, ['group', 'route', 'group'])
  assert.deepEqual(server.routes[0]?.metadata, { role: 'admin' })
})

test('an instance of a class has the handlers, with `this`', async () => {
  class Users implements ContractHandlers<typeof api> {
    readonly #names = new Map([[5, 'Ada']])
    readonly table = 'users'

    user({ id }: { id: number }) {
      return `${this.#names.get(id)} of ${this.table}`
    }

    save({ body }: { body: { name: string } }) {
      this.#names.set(6, body.name)
    }
  }
  const server = mapLoosely(api, new Users())
  const shop = client(api, 'https://shop.example', { fetch: server.fetch })
  await shop.save({ body: { name: 'Grace' } })
  assert.equal((await shop.user({ id: 6 })).body, 'Grace of users')
})

test('a contract can be mapped twice: the second time, its names are no operation ids', () => {
  const server = new HttpServer({ logger: null })
  const plain = contract({ user: get('/users/:id') })
  for (const version of ['/v1', '/v2']) server.group(version).mapContract(plain, { user: ({ id }) => id })
  assert.deepEqual(
    server.routes.map(({ operationId }) => operationId),
    ['user', null],
  )
})

test('every entry needs a handler, and every handler an entry', () => {
  refuses([api, { user: handlers.user }], '"save" of a contract (POST /users) has no handler: give it one under this name')
  refuses([api, { ...handlers, save: null }], '"save" of a contract (POST /users) has no handler: give it one under this name')
  refuses(
    [api, { ...handlers, usr: () => 1 }],
    'there is a handler for "usr", but the contract has no such entry, perhaps "user"; its entries are user, save',
  )
  refuses(
    [api, handlers, { usr: {} }],
    'there is an option for "usr", but the contract has no such entry, perhaps "user"; its entries are user, save',
  )
  refuses([api, undefined], 'the handlers of a contract must be an object, not undefined')
  refuses([null, handlers], 'a contract must be an object, not null')
  refuses(
    [{ user: '/users' }, { user: handlers.user }],
    '"user" of a contract is the string "/users", not what get(), post() or entry() returns',
  )
})

test('a path begins with a slash, in a group too, because the client writes it after its base', () => {
  const users = contract({ user: get('users') })
  const refusal = /the path "users" of "user" does not begin with a slash$/
  assert.throws(() => new HttpServer().mapContract(users, { user: () => 1 }), refusal)
  assert.throws(() => new HttpServer().group('/v1').mapContract(users, { user: () => 1 }), refusal)
})

test('an option is either in the contract or passed to mapContract', () => {
  const server = 'use, host, endpoint, maxRequestBodySize, requestTimeout, writeTimeout, minBodyRate, etag, requireIfMatch, metadata'
  refuses([api, handlers, { user: { body: t.string } }], `"body" of "user" is not an option of mapContract; the options are ${server}`)
  refuses([api, handlers, { user: 5 }], 'the options of "user" must be an object, not a number')
  const misplaced = { user: { method: 'GET', path: '/', declaration: { requestTimeout: 5 } } }
  refuses([misplaced, { user: () => 1 }], '"requestTimeout" of "user" does not belong into a contract: pass it to mapContract')
  const host = contract({ user: entry('GET', '/', { host: t.string }) })
  refuses([host, { user: () => 1 }, { user: { host: 'a.example' } }], '"host" of "user" is a parameter, and cannot be an option')
})

test('a parameter may have the name of an option of the server', async () => {
  const search = contract({ find: get('/find', { host: t.string, operationId: t.int }) })
  const server = new HttpServer({ logger: null })
  server.mapContract(search, { find: (args) => args })
  const shop = client(search, 'https://shop.example', { fetch: server.fetch })
  assert.deepEqual((await shop.find({ host: 'a', operationId: 5 })).body, { host: 'a', operationId: 5 })
})
