// Elysia on Bun, for which it is made: a schema for every input, from which it compiles its handlers.
import { brotliCompressSync, constants } from 'node:zlib'

import { ofPerson, ofUpload } from '../answers.mjs'
import { firstItems } from '../arena/items.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { versionOf } from '../machine.mjs'
import { ROUTES } from '../route-table.mjs'
import { FILES, keepSite } from '../site.mjs'

export { missing, runtime } from '../bun.mjs'
export const label = 'Elysia'
export const version = () => `${versionOf('elysia')} on Bun ${versionOf('bun')}`

const APPS = { basic, bodies, routes, large, baseline, json, compressed, upload, files }

export async function start(workload) {
  const elysia = await import('elysia')
  const app = new elysia.Elysia()
  APPS[workload.app](app, elysia, workload)
  app.listen({ hostname: '127.0.0.1', port: 0 })
  return { port: app.server.port }
}

function basic(app, { t }) {
  app.get('/hello', () => ({ message: 'Hello, World!' }))
  app.get('/users/:id', ({ params: { id }, query: { active } }) => ({ id, active }), {
    params: t.Object({ id: t.Integer() }),
    query: t.Object({ active: t.Boolean({ default: false }) }),
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

function baseline(app, { t }) {
  const query = t.Object({ a: t.Integer(), b: t.Integer() })
  app.get('/baseline11', ({ query: { a, b } }) => String(a + b), { query })
  app.post('/baseline11', ({ query: { a, b }, body }) => String(a + b + Number(body)), {
    query,
    body: t.String({ pattern: '^-?\\d{1,15}$' }),
  })
}

function json(app, { t }) {
  app.get('/json/:count', ({ params: { count }, query: { m } }) => firstItems(count, m), {
    params: t.Object({ count: t.Integer() }),
    query: t.Object({ m: t.Integer() }),
  })
}

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

/** As its documentation shows for `mapResponse`, because it has no compression of its own. */
function compressed(app, elysia, { coding }) {
  const headers = { 'Content-Type': 'application/json', 'Content-Encoding': coding, Vary: 'Accept-Encoding' }
  const compress = coding === 'br' ? (text) => brotliCompressSync(text, BROTLI) : (text) => globalThis.Bun.gzipSync(text)
  app.mapResponse(({ responseValue }) => new Response(compress(JSON.stringify(responseValue)), { headers }))
  json(app, elysia)
}

function upload(app) {
  const count = async ({ request }) => {
    let bytes = 0
    for await (const piece of request.body) bytes += piece.length
    return String(bytes)
  }
  app.post('/upload', count, { parse: 'none' })
}

function files(app, { file }) {
  const folder = keepSite()
  for (const { name } of FILES) app.get(`/${name}`, () => file(`${folder}/${name}`))
}
