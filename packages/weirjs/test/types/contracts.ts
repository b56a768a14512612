// What the types of contracts and their clients promise. Only tsc runs this file.

import { z } from 'zod'

import { type ContractHandlers, HttpServer, type OutputOf, Problem } from '../../src/index.ts'
import {
  type Answer,
  bytes,
  type Client,
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
  multipart,
  type Outline,
  outlineOf,
  post,
  query,
  stream,
  t,
  text,
} from '../../src/modules/client/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only if `A` is exactly `B`. */
function is<A, B>(_equal: Equal<A, B>): void {}

const User = t.object({ id: t.int, name: t.string, since: t.dateTime.optional(), role: t.enum('a', 'b').default('a'), total: t.bigint })
const api = contract({
  user: get('/users/:id', { id: t.int, answers: { 200: User, 404: Problem } }),
  list: get('/users', { page: t.int.default(1), tags: t.array(t.string).optional(), tenant: header('x-tenant', t.uuid) }),
  mine: get('/mine', { session: cookie('session', t.string), since: t.dateTime.optional() }),
  create: post('/users/:org', { body: User, answers: { 201: User } }),
  login: post('/login', { body: form(t.object({ name: t.string, age: t.int.default(1) })) }),
  upload: post('/upload', {
    body: multipart({
      fields: { title: t.string, note: t.string.optional() },
      files: { photo: file(), more: file({ count: 2 }).optional() },
    }),
  }),
  image: post('/image', { body: bytes('image/*'), answers: { 200: bytes('image/png'), 202: text() } }),
  note: post('/note', { body: text(), answers: { 204: null } }),
  raw: post('/raw', { body: 'stream' }),
  find: query('/find', { body: json(t.object({ at: t.date })) }),
  remove: del('/users/:id/*rest'),
  prices: get('/prices', { answers: { 200: events({ price: t.object({ at: t.dateTime }), halt: t.object({ why: t.string }) }) } }),
  plain: get('/plain', { answers: { 200: events() } }),
  video: get('/video', { answers: { 200: stream('video/mp4') } }),
  any: get('/any', { answers: { 200: z.object({ any: z.any(), unknown: z.unknown(), list: z.array(z.tuple([z.date(), z.bigint()])) }) } }),
  zod: get('/zod/:id', {
    id: z.coerce.number(),
    at: z.string().transform(Number),
    answers: { 200: z.object({ at: z.date() }), 500: Problem },
  }),
  onlyErrors: get('/errors', { answers: { 404: Problem } }),
  purge: entry('PURGE', '/cache'),
})
const shop = client(api, 'https://shop.example')

// Arguments, in the form in which they are sent.
type Arg<K extends keyof typeof shop> = NonNullable<Parameters<(typeof shop)[K]>[0]>
is<Arg<'user'>, { readonly id: number }>(true)
is<Arg<'list'>, { readonly tenant: string; readonly page?: number | undefined; readonly tags?: string[] | undefined }>(true)
is<Arg<'mine'>, { readonly session?: string | undefined; readonly since?: string | undefined }>(true)
is<keyof Arg<'create'>, 'org' | 'body'>(true)
is<Arg<'create'>['body'], { id: number; name: string; since?: string; role?: 'a' | 'b'; total: string | number }>(true)
is<Arg<'login'>, { readonly body: { name: string; age?: number } }>(true)
is<Arg<'find'>, { readonly body: { at: string } }>(true)
is<Arg<'note'>, { readonly body: string }>(true)
is<Arg<'remove'>, { readonly id: string; readonly rest: string }>(true)
is<Arg<'purge'>, { readonly [name: string]: 'the contract declares nothing that is sent' }>(true)
void shop.upload({ body: { fields: { title: 'x' }, files: { photo: new File([], 'a'), more: [new Blob([])] } } })
void shop.image({ body: new Uint8Array(1) })
void shop.raw({ body: new ReadableStream() }, { signal: new AbortController().signal, headers: { 'Content-Type': 'a/b' } })
void shop.purge()
void shop.purge({}, { credentials: 'include' })
void shop.purge(undefined, { credentials: 'include' })
// @ts-expect-error nothing would be sent
void shop.purge({ all: true })
void shop.mine({}, { credentials: 'include' })
void shop.zod({ id: 5, at: '5' })

// @ts-expect-error `id` is missing
void shop.user()
// @ts-expect-error `id` is missing
void shop.user({})
// @ts-expect-error a string where a number is declared
void shop.user({ id: '5' })
// @ts-expect-error not a parameter
void shop.user({ id: 5, page: 1 })
// @ts-expect-error a Date is sent as text
void shop.mine({ since: new Date() })
// @ts-expect-error `photo` is a file
void shop.upload({ body: { fields: { title: 'x' }, files: { photo: 'x' } } })
// @ts-expect-error `fields.title` is missing
void shop.upload({ body: { fields: {}, files: { photo: new Blob([]) } } })
// @ts-expect-error no such entry
void shop.users

// Answers, by status.
export async function answers(): Promise<void> {
  const user = await shop.user({ id: 5 })
  is<(typeof user)['status'], 200 | 404>(true)
  if (user.status === 200) {
    is<(typeof user)['body'], { id: number; name: string; since?: string; role: 'a' | 'b'; total: string }>(true)
    is<(typeof user)['ok'], true>(true)
  }
  if (!user.ok) is<(typeof user)['body']['title'], string>(true)
  // @ts-expect-error not declared
  if (user.status === 409) return
  // @ts-expect-error it may be a problem
  user.body.name
  is<Awaited<ReturnType<typeof shop.list>>, Answer<200 | 201 | 202 | 203 | 204 | 205 | 206, unknown>>(true)
  const image = await shop.image({ body: new Blob([]) })
  if (image.status === 200) is<(typeof image)['body'], Uint8Array>(true)
  else is<(typeof image)['body'], string>(true)
  is<Awaited<ReturnType<typeof shop.note>>['body'], undefined>(true)
  for await (const event of (await shop.prices()).body) {
    if (event.event === 'price') is<(typeof event)['data'], { at: string }>(true)
    else is<(typeof event)['data'], { why: string }>(true)
  }
  for await (const { data } of (await shop.plain()).body) is<typeof data, string>(true)
  for await (const piece of (await shop.video()).body) is<typeof piece, Uint8Array>(true)
  const errors = await shop.onlyErrors()
  if (errors.status === 404) errors.body.title
  else is<(typeof errors)['body'], unknown>(true)
  // biome-ignore lint/suspicious/noExplicitAny: what is any stays any
  is<Awaited<ReturnType<typeof shop.any>>['body'], { any: any; unknown: unknown; list: [string, string][] }>(true)
  const zod = await shop.zod({ id: 5, at: '' })
  if (zod.ok) is<(typeof zod)['body'], { at: string }>(true)
}

// An outline has the same types.
declare const outline: Outline<typeof api>
is<typeof shop, Client<typeof api>>(true)
export const outlined: Client<typeof api> = client<typeof api>(outline, '')
export const fromJson: Client<typeof api> = client<typeof api>({ ...outlineOf(api) }, '')

// Handlers have the types of `mapGet` and its like, in a group too.
const row = { id: 1, name: '', role: 'a' as const, total: 1n, secret: '' }
const small = contract({
  user: get('/users/:id', { id: t.int, answers: { 200: User, 404: Problem } }),
  save: post('/users', { body: User, note: t.string.optional() }),
})
const server = new HttpServer()
server.mapContract(small, {
  user: ({ id }, { response }) => {
    is<typeof id, number>(true)
    return id === 5 ? row : response.notFound()
  },
  save: (args) => is<typeof args, { body: OutputOf<typeof User>; note?: string }>(true),
})
server
  .group('/:org', { org: t.int, answers: { 201: t.string } })
  .mapContract(
    small,
    { user: async ({ id, org }) => (id === org ? row : 'text'), save: ({ org, note }) => `${org.toFixed()}${note?.length}` },
    { user: { use: [{ gate: () => {} }], requestTimeout: 5 } },
  )

class Shop implements ContractHandlers<typeof small> {
  user({ id }: { id: number }) {
    return { ...row, id: this.#next(id) }
  }

  save() {}

  #next(id: number): number {
    return id + 1
  }
}
server.mapContract(small, new Shop())

const user = () => row
const save = () => {}
// @ts-expect-error `save` is missing
server.mapContract(small, { user })
// @ts-expect-error there is no entry `sav`
server.mapContract(small, { user, save, sav: save })
// @ts-expect-error it returns what is not declared
server.mapContract(small, { user: () => 5, save })
// @ts-expect-error it declares another argument
server.mapContract(small, { user: ({ id }: { id: string }) => ({ ...row, name: id }), save })
// @ts-expect-error there is no entry `sav`
server.mapContract(small, { user, save }, { sav: {} })
// @ts-expect-error the body belongs into the contract
server.mapContract(small, { user, save }, { save: { body: User } })

// What is up to the server does not belong into a contract.
// @ts-expect-error an option of the server
get('/', { use: [] })
// @ts-expect-error an option of the server
get('/', { requestTimeout: 5 })
// @ts-expect-error neither a schema nor an option
get('/', { page: 5 })
// @ts-expect-error not an answer
get('/', { answers: { 200: 'text' } })
// @ts-expect-error text needs no schema
events(t.string)
// @ts-expect-error nor is one name among several that has text
events({ price: t.object({ at: t.dateTime }), hello: t.string })
