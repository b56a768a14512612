// Koa with the modules of its own organization, each on the routes that need it; zod checks.
import { ofPerson, ofUpload, ofUser } from '../answers.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { versionOf } from '../machine.mjs'
import { ROUTES } from '../route-table.mjs'

export const label = 'Koa'
export const version = () => versionOf('koa')

const APPS = { basic, bodies, routes, large }
const MAX_FILE = 1024 * 1024

export async function start(workload) {
  if (APPS[workload.app] === undefined) return { skipped: 'neither compression nor a folder of files is its own' }
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
  const { User, UserId, UserQuery } = await import('../models-by-zod.mjs')
  const { bodyParser } = await import('@koa/bodyparser')
  router.get('/hello', (context) => {
    context.body = { message: 'Hello, World!' }
  })
  router.get('/users/:id', (context) => {
    const { id } = UserId.parse(context.params)
    const { active } = UserQuery.parse(context.query)
    context.body = { id, active }
  })
  router.post('/users', bodyParser({ enableTypes: ['json'] }), (context) => {
    context.body = ofUser(User.parse(context.request.body))
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
