// What a client of a contract sends, and what it makes of the responses: over `server.fetch`, without a network.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpError, HttpServer, Problem } from '../../../src/index.ts'
import {
  bytes,
  ClientError,
  client,
  contract,
  cookie,
  del,
  entry,
  events,
  file,
  form,
  get,
  header,
  json,
  mergePatch,
  multipart,
  outlineOf,
  pages,
  patch,
  post,
  put,
  query,
  stream,
  t,
  text,
} from '../../../src/modules/client/index.ts'
import { type SseEvent, sse } from '../../../src/modules/sse/index.ts'

const User = t.object({ id: t.int, name: t.string, since: t.dateTime.optional() })
const NewOrder = t.object({ name: t.string.min(1), count: t.int.default(1), day: t.date.optional() })

const api = contract({
  user: get('/users/:id', { id: t.int, answers: { 200: User, 404: Problem } }),
  createOrder: post('/orders', { body: NewOrder, answers: { 201: t.object({ name: t.string, count: t.int }), 409: Problem } }),
  replace: put('/orders/:id', { id: t.uuid, body: json(NewOrder), answers: { 204: null } }),
  touch: patch('/orders/:id', { answers: { 200: t.string } }),
  remove: del('/orders/:id', { answers: { 204: null } }),
  find: query('/find', { body: t.object({ words: t.array(t.string) }), answers: { 200: t.array(t.string) } }),
  login: post('/login', { body: form(t.object({ name: t.string, roles: t.array(t.string).optional(), age: t.int.optional() })) }),
  note: post('/notes', { body: text('text/csv'), answers: { 200: text() } }),
  image: post('/images', { body: bytes('image/*'), answers: { 200: bytes('image/png') } }),
  upload: post('/uploads', {
    body: multipart({
      fields: { title: t.string, tags: t.array(t.string).optional() },
      files: { photo: file(), more: file({ count: 3 }).optional() },
    }),
  }),
  raw: post('/raw', { body: 'stream' }),
  prices: get('/prices', { from: t.int.default(0), answers: { 200: events(t.object({ n: t.int })) } }),
  lines: get('/lines', { answers: { 200: events() } }),
  named: get('/named', { answers: { 200: events({ price: t.object({ n: t.int }), halt: t.object({ why: t.string }) }) } }),
  video: get('/video', { answers: { 200: stream('video/mp4') } }),
  search: get('/search', {
    q: t.string.optional(),
    tags: t.array(t.string).optional(),
    page: t.int.default(1),
    tenant: header('x-tenant', t.string),
    theme: cookie('theme', t.string.optional()),
  }),
  broken: get('/broken', { answers: { 200: User } }),
  purge: entry('PURGE', '/cache/*path'),
  purgeAny: entry('PURGE', '/caches/**path'),
})

function serve() {
  const server = new HttpServer({ logger: null })
  const seen: unknown[] = []
  server.mapContract(api, {
    user: ({ id }, { response }) =>
      id === 5 ? { id, name: 'Ada', since: new Date(0), hash: 'secret' } : response.notFound(`no user ${id}`),
    createOrder: ({ body }) => body,
    replace: ({ id, body }) => void seen.push(id, body),
    touch: ({ id }) => id,
    remove: ({ id }) => void seen.push(id),
    find: ({ body }) => body.words,
    login: ({ body }) => body,
    note: ({ body }, { request }) => `${request.header('content-type')} ${body}`,
    image: ({ body }) => body,
    upload: ({ body: { fields, files } }) => ({
      ...fields,
      photo: [files.photo.fileName, files.photo.contentType, files.photo.content.length],
      more: files.more?.map(({ fileName }) => fileName),
    }),
    raw: async (_, { request }) => {
      let size = 0
      for await (const chunk of request.bodyStream()) size += (chunk as Uint8Array).length
      return { size, type: request.header('content-type') }
    },
    prices: ({ from }, session) =>
      sse(session, async function* () {
        for (let n = from; n < from + 3; n++) yield { data: { n }, id: `${n}` } satisfies SseEvent
      }),
    lines: (_, session) =>
      sse(session, async function* () {
        yield 'one\ntwo'
        yield { event: 'end', data: 'three' }
      }),
    named: (_, session) =>
      sse(session, async function* () {
        yield { event: 'price', data: { n: 1 } }
        yield { event: 'halt', data: { why: 'noon' } }
      }),
    video: async function* () {
      yield new Uint8Array(3)
      yield new Uint8Array(4)
    },
    search: (args) => args,
    broken: () => {
      throw new HttpError(503, 'later', { headers: { 'Retry-After': '5' } })
    },
    purge: ({ path }) => ({ path }),
    purgeAny: ({ path }) => ({ path }),
  })
  return { server, seen, shop: client(api, 'https://shop.example', { fetch: server.fetch }) }
}

test('a response is typed by its status', async () => {
  const { shop } = serve()
  const found = await shop.user({ id: 5 })
  assert.equal(found.status, 200)
  assert.ok(found.ok && found.body.name === 'Ada')
  assert.deepEqual(found.body, { id: 5, name: 'Ada', since: '1970-01-01T00:00:00.000Z' })
  assert.equal(found.headers.get('content-type'), 'application/json')
  assert.equal(found.response.status, 200)

  const missing = await shop.user({ id: 6 })
  assert.ok(missing.status === 404 && !missing.ok)
  assert.equal(missing.body.detail, 'no user 6')
})

test('bodies of each kind arrive', async () => {
  const { shop, seen } = serve()
  const created = await shop.createOrder({ body: { name: 'tea', day: '2026-01-31' } })
  assert.ok(created.status === 201)
  assert.deepEqual(created.body, { name: 'tea', count: 1 })
  const id = '0b1d7b8e-7b7e-4a52-8ac4-0242ac120002'
  const replaced = await shop.replace({ id, body: { name: 'tea' } })
  assert.equal(replaced.body, undefined)
  assert.deepEqual(seen, [id, { name: 'tea', count: 1 }])
  assert.equal((await shop.touch({ id: 'a/b c%2F?#é' })).body, 'a/b c%2F?#é')
  assert.equal((await shop.remove({ id: 'x' })).status, 204)
  assert.deepEqual((await shop.find({ body: { words: ['a', 'b'] } })).body, ['a', 'b'])
  assert.deepEqual((await shop.login({ body: { name: 'Ada & Co', roles: ['x'], age: 5 } })).body, {
    name: 'Ada & Co',
    roles: ['x'],
    age: 5,
  })
  assert.equal((await shop.note({ body: 'a;b\né' })).body, 'text/csv a;b\né')
  const image = await shop.image({ body: new Blob(['png'], { type: 'image/png' }) })
  assert.deepEqual(image.body, new TextEncoder().encode('png'))
  assert.equal(image.headers.get('content-type'), 'image/png')
})

test('a contract may have merge patches and pages', async () => {
  const Note = t.object({ text: t.string, tag: t.string.optional() })
  const Notes = pages(Note, { limit: 1 })
  const notes = contract({
    list: get('/notes', { ...Notes.query, answers: { 200: Notes.result } }),
    change: patch('/notes/:id', { id: t.int, body: mergePatch(Note), answers: { 200: Note } }),
  })
  const rows = [
    { text: 'milk', tag: 'shop' },
    { text: 'tea', tag: 'shop' },
  ]
  const server = new HttpServer({ logger: null })
  server.mapContract(notes, {
    list: ({ limit, cursor = '0' }, session) => {
      const end = Number(cursor) + limit
      return Notes.send(session, { items: rows.slice(Number(cursor), end), next: end < rows.length ? `${end}` : null })
    },
    change: ({ id, body }) => body.applyTo(rows[id]!),
  })
  for (const outline of [notes, JSON.parse(JSON.stringify(outlineOf(notes))) as typeof notes]) {
    const caller = client<typeof notes>(outline, 'https://shop.example', { fetch: server.fetch })
    const first = await caller.list()
    assert.ok(first.status === 200)
    assert.deepEqual(first.body, { items: [rows[0]], next: '1' })
    assert.deepEqual((await caller.list({ cursor: first.body.next })).body, { items: [rows[1]] })
    assert.deepEqual((await caller.change({ id: 1, body: { tag: null } })).body, { text: 'tea' })
    await assert.rejects(
      // @ts-expect-error a required property cannot be removed
      caller.change({ id: 1, body: { text: null } }),
      { status: 400 },
    )
  }
})

test('files are sent with their names', async () => {
  const { shop } = serve()
  const photo = new File(['…'], 'sea.png', { type: 'image/png' })
  const more = [new Blob(['x']), new File(['y'], 'y.txt')]
  const { body } = await shop.upload({ body: { fields: { title: 'Sea', tags: ['a'] }, files: { photo, more } } })
  assert.deepEqual(body, { title: 'Sea', tags: ['a'], photo: ['sea.png', 'image/png', 3], more: ['blob', 'y.txt'] })
})

test('a stream is sent as it is made', async () => {
  const { shop } = serve()
  const body = new Blob([new Uint8Array(100_000)]).stream()
  const response = await shop.raw({ body }, { headers: { 'Content-Type': 'application/x-tar' } })
  assert.deepEqual(response.body, { size: 100_000, type: 'application/x-tar' })
})

test('events are an async iterable, with their data, names and ids', async () => {
  const { shop } = serve()
  const seen: unknown[] = []
  for await (const { data, id } of (await shop.prices({ from: 7 })).body) seen.push([data.n, id])
  assert.deepEqual(seen, [
    [7, '7'],
    [8, '8'],
    [9, '9'],
  ])
  const lines: unknown[] = []
  for await (const line of (await shop.lines()).body) lines.push(line)
  assert.deepEqual(lines, [
    { event: 'message', data: 'one\ntwo', id: '' },
    { event: 'end', data: 'three', id: '' },
  ])
  const named: unknown[] = []
  for await (const one of (await shop.named()).body) named.push(one.event === 'price' ? one.data.n : one.data.why)
  assert.deepEqual(named, [1, 'noon'])
})

test('a stream arrives in pieces', async () => {
  const { shop } = serve()
  const { body } = await shop.video()
  const sizes: number[] = []
  for await (const piece of body) sizes.push(piece.length)
  assert.equal(
    sizes.reduce((sum, size) => sum + size),
    7,
  )
})

test('parameters are sent in the query, a header field and a cookie', async () => {
  const { shop } = serve()
  const { body } = await shop.search({ q: 'a b&c=d', tags: ['x', 'y,z'], tenant: 'acme', theme: 'dark; x' })
  assert.deepEqual(body, { q: 'a b&c=d', tags: ['x', 'y,z'], page: 1, tenant: 'acme', theme: 'dark; x' })
  assert.deepEqual((await shop.search({ tenant: 'acme', q: undefined })).body, { page: 1, tenant: 'acme' })
  assert.deepEqual((await shop.purge({ path: 'a/b/c d' })).body, { path: 'a/b/c d' })
  assert.deepEqual((await shop.purgeAny({ path: 'a/b/c d' })).body, { path: 'a/b/c d' })
})

test('what the contract does not declare is an error', async () => {
  const { shop } = serve()
  await assert.rejects(shop.broken(), (error) => {
    assert.ok(error instanceof ClientError && error instanceof Error)
    assert.equal(error.name, 'ClientError')
    assert.match(error.message, /^GET \/broken: the contract has no answer 503\. /)
    assert.equal(error.status, 503)
    assert.equal((error.body as Problem).code, 'HTTP_503')
    assert.equal(error.headers.get('retry-after'), '5')
    return true
  })
  await assert.rejects(shop.createOrder({ body: { name: '' } }), (error) => {
    assert.ok(error instanceof ClientError)
    assert.equal((error.body as { errors: { pointer: string }[] }).errors[0]?.pointer, '/name')
    assert.match(error.message, /: the contract has no answer 400\. .*"name"/)
    return error.status === 400
  })
})

test('without schemas, an outline does the same', async () => {
  const { server } = serve()
  const outline = JSON.parse(JSON.stringify(outlineOf(api)))
  const shop = client<typeof api>(outline, 'https://shop.example/', { fetch: server.fetch })
  assert.equal((await shop.user({ id: 6 })).status, 404)
  assert.deepEqual((await shop.search({ tags: ['x'], tenant: 'acme' })).body, { tags: ['x'], page: 1, tenant: 'acme' })
  const photo = new File(['…'], 'sea.png')
  assert.equal((await shop.upload({ body: { fields: { title: 'Sea' }, files: { photo } } })).status, 200)
  assert.deepEqual((await shop.login({ body: { name: 'Ada', age: 5 } })).body, { name: 'Ada', age: 5 })
  for await (const { data } of (await shop.prices()).body) assert.equal(typeof data.n, 'number')
  await assert.rejects(shop.broken(), ClientError)
})
