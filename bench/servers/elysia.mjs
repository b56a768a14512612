// Elysia on Bun, which it is made for: a schema for everything that comes in, from which it compiles its handlers.
import { ofPerson, ofUpload, ofUser } from '../answers.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { versionOf } from '../machine.mjs'
import { ROUTES } from '../route-table.mjs'

export { missing, runtime } from '../bun.mjs'
export const label = 'Elysia'
export const version = () => `${versionOf('elysia')} on Bun ${versionOf('bun')}`

const APPS = { basic, bodies, routes, large }

export async function start(workload) {
  if (APPS[workload.app] === undefined) return { skipped: 'neither compression nor a folder of files is its own' }
  const elysia = await import('elysia')
  const app = new elysia.Elysia()
  APPS[workload.app](app, elysia)
  app.listen({ hostname: '127.0.0.1', port: 0 })
  return { port: app.server.port }
}

function basic(app, { t }) {
  const text = t.String()
  app.get('/hello', () => ({ message: 'Hello, World!' }))
  app.get('/users/:id', ({ params: { id }, query: { active } }) => ({ id, active }), {
    params: t.Object({ id: t.Integer() }),
    query: t.Object({ active: t.Boolean({ default: false }) }),
  })
  app.post('/users', ({ body }) => ofUser(body), {
    body: t.Object({
      id: t.String({ format: 'uuid' }),
      name: text,
      email: text,
      creation: t.Date(),
      enabled: t.Boolean(),
      logins: t.Number(),
      tags: t.Array(text),
    }),
  })
}

function bodies(app, { t }) {
  const text = t.String()
  app.post('/people', ({ body }) => ofPerson(body), {
    body: t.Object({
      name: text,
      email: text,
      street: text,
      city: text,
      age: t.Numeric(),
      score: t.Numeric(),
      subscribed: t.BooleanString(),
      birthday: t.Date(),
    }),
  })
  const upload = t.Object({ title: text, author: text, comment: text, image: t.File({ maxSize: '1m' }) })
  app.post(
    '/uploads',
    async ({ body: { image, ...fields } }) => ofUpload(fields, image.name, image.type, new Uint8Array(await image.arrayBuffer())),
    { body: upload },
  )
}

function routes(app) {
  for (const { method, path, name } of ROUTES) app.route(method, path, ({ params }) => ({ route: name, ...params }))
}

function large(app, { file }) {
  const { path } = keepFile()
  const headers = { 'Content-Type': 'application/octet-stream' }
  app.get('/document', () => DOCUMENT)
  app.get('/bytes', () => new Response(BYTES, { headers }))
  app.get(`/${FILE_NAME}`, () => file(path))
}
