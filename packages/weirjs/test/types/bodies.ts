// What the types of bodies and of parameters from fields and cookies promise. Only tsc runs this file.

import { type } from 'arktype'
import { Schema } from 'effect'
import * as v from 'valibot'
import { z } from 'zod'

import {
  bytes,
  Controller,
  cookie,
  file,
  form,
  HttpServer,
  header,
  type InputOf,
  json,
  type MergePatch,
  mergePatch,
  multipart,
  type OutputOf,
  Route,
  routes,
  t,
  text,
  type UploadedFile,
} from '../../src/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only if `A` is exactly `B`. */
function is<A, B>(_equal: Equal<A, B>): void {}

interface Order {
  name: string
  count: number
  note?: string
}
const Person = t.object({
  name: t.string,
  born: t.date,
  note: t.string.optional(),
  tags: t.array(t.string).default([]),
  home: t.object({ zip: t.int }),
})
const patching = mergePatch(Person)
declare const stored: { id: number } & OutputOf<typeof Person>
export const _patched = (patch: OutputOf<typeof patching>): void => {
  is<typeof patch, MergePatch<OutputOf<typeof Person>, InputOf<typeof Person>>>(true)
  is<(typeof patch.changes)['born'], string | undefined>(true)
  is<(typeof patch.changes)['note'], string | null | undefined>(true)
  is<(typeof patch.changes)['tags'], string[] | null | undefined>(true)
  is<(typeof patch.changes)['home'], { readonly zip?: number } | undefined>(true)
  const changed = patch.applyTo(stored)
  is<typeof changed.id, number>(true)
  is<typeof changed.born, Date>(true)
  // @ts-expect-error the current object lacks properties
  patch.applyTo({ name: 'Ada' })
}
// @ts-expect-error only an object is patched
mergePatch(t.string)

const NewOrder = t.object({ name: t.string, count: t.int.default(1), note: t.string.optional() })
const server = new HttpServer()

// Types for the methods of controllers, from what is declared.
const upload = multipart({ fields: { title: t.string.optional() }, files: { photo: file(), more: file({ count: 2 }).optional() } })
const order = json(NewOrder.optional())
const tenant = header('x-tenant', t.int)
const theme = cookie('theme', t.enum('dark', 'light').optional())
interface Upload {
  fields: { title?: string }
  files: { photo: UploadedFile; more?: UploadedFile[] }
}
declare const given: { upload: OutputOf<typeof upload>; order: OutputOf<typeof order> }
is<typeof given.order, Order | undefined>(true)
is<OutputOf<typeof NewOrder>, Order>(true)
is<OutputOf<typeof tenant>, number>(true)
is<OutputOf<typeof theme>, 'dark' | 'light' | undefined>(true)
export const uploaded: Upload = given.upload
// @ts-expect-error neither a schema nor a body
export type None = OutputOf<string>

// Inline.
server.mapPost('/', { body: NewOrder }, ({ body }) => is<typeof body, Order>(true))
server.mapPost('/', { body: json(NewOrder) }, ({ body }) => is<typeof body, Order>(true))
server.mapPost('/', { body: form(NewOrder) }, ({ body }) => is<typeof body, Order>(true))
server.mapPost('/', { body: t.array(NewOrder) }, ({ body }) => is<typeof body, Order[]>(true))
server.mapPost('/', { body: text() }, ({ body }) => is<typeof body, string>(true))
server.mapPost('/', { body: bytes('image/png') }, ({ body }) => is<typeof body, Uint8Array>(true))
server.mapQuery('/', { body: NewOrder.strict() }, ({ body }) => is<typeof body, Order>(true))
server.map('PURGE', '/', { body: NewOrder }, ({ body }) => is<typeof body, Order>(true))
server.mapPost('/:id', { id: t.int, page: t.int.optional(), body: NewOrder, summary: 'An order' }, (args) =>
  is<typeof args, { id: number; body: Order; page?: number }>(true),
)
// A body that may be missing may be absent from the arguments.
server.mapPost('/', { body: NewOrder.optional() }, (args) => is<typeof args, { body?: Order }>(true))
server.mapPost('/', { body: json(NewOrder.optional()) }, (args) => is<typeof args, { body?: Order }>(true))
// Without a type, it is not an argument.
server.mapPost('/', { body: 'stream' }, (args) => is<keyof typeof args, never>(true))
server.mapPost('/', { body: 'buffer' }, (args) => is<keyof typeof args, never>(true))
// Schemas of other libraries.
server.mapPost('/', { body: z.object({ n: z.number() }) }, ({ body }) => is<typeof body, { n: number }>(true))
server.mapPost('/', { body: json(v.object({ n: v.number() })) }, ({ body }) => is<typeof body, { n: number }>(true))
server.mapPost('/', { body: type({ n: 'number' }) }, ({ body }) => is<typeof body, { n: number }>(true))
server.mapPost('/', { body: form(Schema.toStandardSchemaV1(Schema.Struct({ n: Schema.FiniteFromString }))) }, ({ body }) =>
  is<typeof body, { readonly n: number }>(true),
)
// Forms with files.
const Upload = multipart({
  fields: { title: t.string, tags: t.array(t.string).optional(), size: z.coerce.number() },
  files: { photo: file({ maxSize: 10, types: ['image/*'] }), more: file({ count: 3 }).optional(), each: file({ count: 2 }) },
})
server.mapPost('/', { body: Upload }, ({ body }) => {
  is<typeof body.fields, { title: string; size: number; tags?: string[] }>(true)
  is<typeof body.files.photo, UploadedFile>(true)
  is<typeof body.files.each, UploadedFile[]>(true)
  is<typeof body.files.more, UploadedFile[] | undefined>(true)
  // @ts-expect-error there is no such file
  return body.files.movie
})
server.mapPost('/', { body: multipart({ files: { one: file() } }).strict() }, ({ body }) => {
  is<typeof body.files.one, UploadedFile>(true)
  // @ts-expect-error there are no fields
  return body.fields.title
})

// Fields and cookies.
server.mapGet(
  '/:id',
  { tenant: header('x-tenant', t.uuid), theme: cookie('theme', t.enum('dark', 'light').optional()), n: header('n', z.coerce.number()) },
  (args) => is<typeof args, { id: string; tenant: string; n: number; theme?: 'dark' | 'light' }>(true),
)
// An option's name binds a parameter too, except that of the body.
server.mapGet('/', { host: header('x-host', t.string), summary: t.string }, (args) =>
  is<typeof args, { host: string; summary: string }>(true),
)

// Groups.
const api = server.group('/api/:org', { org: t.int, tenant: header('x-tenant', t.uuid) })
api.mapPost('/orders', { body: NewOrder }, (args) => is<typeof args, { org: number; tenant: string; body: Order }>(true))
api
  .group('/deep', { page: t.int })
  .mapPost('/', { body: t.array(t.int) }, ({ body, page, org }) => is<typeof body, number[]>(true) ?? page + org)
// @ts-expect-error a group has no body
server.group('/b', { body: NewOrder })
// @ts-expect-error a group has no body
server.group('/b', { body: text() })

// What cannot be a body.
// @ts-expect-error not a schema
server.mapPost('/', { body: { name: t.string } }, () => 1)
// @ts-expect-error not the name of a kind of body
server.mapPost('/', { body: 'json' }, () => 1)
// @ts-expect-error a header needs its name
server.mapGet('/', { tenant: header(t.uuid) }, () => 1)
// @ts-expect-error the body has no such property
server.mapPost('/', { body: NewOrder }, ({ body }) => body.nmae)
// @ts-expect-error not a schema
json({ name: t.string })
// @ts-expect-error there is no such rule
file({ size: 5 })
// @ts-expect-error not a date
server.mapGet('/', { deprecated: '2026-01-01' }, () => 1)

// Controllers, in both spellings.
export class Orders extends Controller {
  @Route('POST', '/:id', { id: t.int, body: NewOrder })
  create({ id, body }: { id: number; body: Order }) {
    return id + body.count
  }

  @Route('PUT', '/:id', { id: t.int, body: Upload })
  upload({ body }: { body: { files: { photo: UploadedFile } } }) {
    return body.files.photo.content.length
  }

  @Route('POST', '/optional', { body: NewOrder.optional() })
  optional({ body }: { body?: Order }) {
    return body?.count ?? 0
  }

  // @ts-expect-error the body may be missing
  @Route('POST', '/missing', { body: NewOrder.optional() })
  missing({ body }: { body: Order }) {
    return body.count
  }

  // @ts-expect-error the route passes a number
  @Route('POST', '/wrong', { body: NewOrder })
  wrong({ body }: { body: { count: string } }) {
    return body.count
  }
}

export class OrderTable extends Controller {
  static routes = routes(this, {
    create: ['POST', '/:id', { id: t.int, body: NewOrder, theme: cookie('theme', t.string.optional()) }],
    // @ts-expect-error the route passes a number
    wrong: ['POST', '/wrong', { body: NewOrder }],
    // @ts-expect-error not a schema
    unread: ['POST', '/unread', { body: { name: t.string } }],
  })

  create({ id, body }: { id: number; body: Order; theme?: string }) {
    return id + body.count
  }

  wrong({ body }: { body: { count: string } }) {
    return body.count
  }

  unread() {}
}

// Files that go elsewhere are what their place makes of them.
const onDisk = multipart({
  files: {
    film: file({ saveTo: 'films' }),
    more: file({ saveTo: 'films', count: 2 }).optional(),
    own: file({ saveTo: { save: async (info, content) => ({ name: info.fieldName, isRead: content.destroyed }), discard: () => {} } }),
    less: file({ saveTo: { save: async () => ({ name: 'a', path: 'b' }), discard: ({ path }: { path: string }) => path } }),
  },
})
server.mapPost('/', { body: onDisk }, ({ body: { files } }) => {
  const path: string = files.film.path
  const sizes: number[] | undefined = files.more?.map(({ size }) => size)
  const name: string = files.own.name + files.less.name
  // @ts-expect-error it is not in memory
  files.film.content
  return { path, sizes, name }
})
