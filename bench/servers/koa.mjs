// Koa with the modules of its own organization, each on the routes that need it. zod validates.
import { ofPerson, ofUpload } from '../answers.mjs'
import { firstItems, MAX_UPLOAD } from '../arena/items.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { versionOf } from '../machine.mjs'
import { ROUTES } from '../route-table.mjs'
import { keepSite } from '../site.mjs'

export const label = 'Koa'
export const version = () => versionOf('koa')

const APPS = { basic, bodies, routes, large, baseline, json, compressed, upload, files }
const MAX_FILE = 1024 * 1024

export async function start(workload) {
  const { default: Koa } = await import('koa')
  const { default: Router } = await import('@koa/router')
  const app = new Koa()
  const router = new Router()
  app.use(refusals)
  await APPS[workload.app](router)
  app.use(router.routes()).use(router.allowedMethods())
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => resolve({ port: server.address().port }))
  })
}

async function refusals(context, next) {
  try {
    await next()
  } catch {
    context.status = 400
    context.body = { error: 'bad request' }
  }
}

async function basic(router) {
  const { UserId, UserQuery } = await import('../models-by-zod.mjs')
  router.get('/hello', (context) => {
    context.body = { message: 'Hello, World!' }
  })
  router.get('/users/:id', (context) => {
    const { id } = UserId.parse(context.params)
    const { active } = UserQuery.parse(context.query)
    context.body = { id, active }
  })
}

async function bodies(router) {
  const { Person, PersonForm } = await import('../models-by-zod.mjs')
  const { bodyParser } = await import('@koa/bodyparser')
  const { default: multer } = await import('@koa/multer')
  router.post('/people', bodyParser(), (context) => {
    const model = context.is('application/json') ? Person : PersonForm
    context.body = ofPerson(model.parse(context.request.body))
  })
  const upload = multer({ storage: multer.memoryStorage(), limits: { fileSize: MAX_FILE } })
  router.post('/uploads', upload.single('image'), (context) => {
    const { body, file } = context.request
    context.body = ofUpload(body, file.originalname, file.mimetype, file.buffer)
  })
}

function routes(router) {
  for (const { method, path, name } of ROUTES)
    router.register(
      path,
      [method],
      [
        (context) => {
          context.body = { route: name, ...context.params }
        },
      ],
    )
}

async function large(router) {
  const { folder } = keepFile()
  const { default: send } = await import('koa-send')
  router.get('/document', (context) => {
    context.body = DOCUMENT
  })
  router.get('/bytes', (context) => {
    context.body = BYTES
  })
  router.get(`/${FILE_NAME}`, (context) => send(context, FILE_NAME, { root: folder }))
}

async function baseline(router) {
  const { Summands, Summand } = await import('../models-by-zod.mjs')
  const { bodyParser } = await import('@koa/bodyparser')
  router.get('/baseline11', (context) => {
    const { a, b } = Summands.parse(context.query)
    context.body = String(a + b)
  })
  router.post('/baseline11', bodyParser({ enableTypes: ['text'] }), (context) => {
    const { a, b } = Summands.parse(context.query)
    context.body = String(a + b + Summand.parse(context.request.body))
  })
}

async function json(router) {
  const { Count, Factor } = await import('../models-by-zod.mjs')
  router.get('/json/:count', (context) => {
    const { count } = Count.parse(context.params)
    const { m } = Factor.parse(context.query)
    context.body = firstItems(count, m)
  })
}

async function compressed(router) {
  const { default: compress } = await import('koa-compress')
  router.use(compress())
  await json(router)
}

function upload(router) {
  router.post('/upload', async (context) => {
    let bytes = 0
    for await (const chunk of context.req) {
      bytes += chunk.length
      if (bytes > MAX_UPLOAD) context.throw(413)
    }
    context.body = String(bytes)
  })
}

async function files(router) {
  const root = keepSite()
  const { default: send } = await import('koa-send')
  router.get('/:name', (context) => send(context, context.params.name, { root }))
}
