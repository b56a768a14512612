// Hono on Node with its own adapter, and with its validator middleware for zod.
import { ofPerson, ofUpload } from '../answers.mjs'
import { firstItems } from '../arena/items.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { versionOf } from '../machine.mjs'
import { ROUTES } from '../route-table.mjs'
import { keepSite } from '../site.mjs'

export const label = 'Hono'
export const version = () => `${versionOf('hono')} on @hono/node-server ${versionOf('@hono/node-server')}`

const APPS = { basic, bodies, routes, large, baseline, json, compressed, upload, files }

export async function start(workload) {
  if (workload.coding === 'br') return { skipped: 'its middleware does not support br' }
  const { Hono } = await import('hono')
  const { serve } = await import('@hono/node-server')
  const app = new Hono()
  app.onError((_error, context) => context.json({ error: 'bad request' }, 400))
  await APPS[workload.app](app)
  return new Promise((resolve) => serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve({ port })))
}

async function basic(app) {
  const { UserId, UserQuery } = await import('../models-by-zod.mjs')
  const { zValidator } = await import('@hono/zod-validator')
  app.get('/hello', (context) => context.json({ message: 'Hello, World!' }))
  app.get('/users/:id', zValidator('param', UserId), zValidator('query', UserQuery), (context) => {
    const { id } = context.req.valid('param')
    const { active } = context.req.valid('query')
    return context.json({ id, active })
  })
}

async function bodies(app) {
  const { Person, PersonForm } = await import('../models-by-zod.mjs')
  app.post('/people', async ({ req, json }) => {
    const isJson = req.header('Content-Type') === 'application/json'
    return json(ofPerson(isJson ? Person.parse(await req.json()) : PersonForm.parse(await req.parseBody())))
  })
  app.post('/uploads', async ({ req, json }) => {
    const { image, ...fields } = await req.parseBody()
    return json(ofUpload(fields, image.name, image.type, new Uint8Array(await image.arrayBuffer())))
  })
}

function routes(app) {
  for (const { method, path, name } of ROUTES) app.on(method, path, (context) => context.json({ route: name, ...context.req.param() }))
}

async function large(app) {
  const { folder } = keepFile()
  const { serveStatic } = await import('@hono/node-server/serve-static')
  app.get('/document', (context) => context.json(DOCUMENT))
  app.get('/bytes', (context) => context.body(BYTES, 200, { 'Content-Type': 'application/octet-stream' }))
  app.get(`/${FILE_NAME}`, serveStatic({ root: folder }))
}

async function baseline(app) {
  const { Summands, Summand } = await import('../models-by-zod.mjs')
  const { zValidator } = await import('@hono/zod-validator')
  app.get('/baseline11', zValidator('query', Summands), (context) => {
    const { a, b } = context.req.valid('query')
    return context.text(String(a + b))
  })
  app.post('/baseline11', zValidator('query', Summands), async (context) => {
    const { a, b } = context.req.valid('query')
    return context.text(String(a + b + Summand.parse(await context.req.text())))
  })
}

async function json(app) {
  const { Count, Factor } = await import('../models-by-zod.mjs')
  const { zValidator } = await import('@hono/zod-validator')
  app.get('/json/:count', zValidator('param', Count), zValidator('query', Factor), (context) => {
    return context.json(firstItems(context.req.valid('param').count, context.req.valid('query').m))
  })
}

function upload(app) {
  app.post('/upload', async (context) => {
    let bytes = 0
    for await (const piece of context.req.raw.body) bytes += piece.length
    return context.text(String(bytes))
  })
}

async function compressed(app) {
  const { compress } = await import('hono/compress')
  app.use(compress())
  await json(app)
}

async function files(app) {
  const { serveStatic } = await import('@hono/node-server/serve-static')
  app.use(serveStatic({ root: keepSite(), precompressed: true }))
}
