// Express 5 as its users run it in production, following its guide on performance. ETag and X-Powered-By are off, because no other server
// here sends them. zod validates, multer reads uploads.
import { ofPerson, ofUpload } from '../answers.mjs'
import { firstItems, MAX_UPLOAD } from '../arena/items.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { versionOf } from '../machine.mjs'
import { ROUTES } from '../route-table.mjs'
import { keepSite } from '../site.mjs'

export const label = 'Express'
export const version = () => versionOf('express')

const APPS = { basic, bodies, routes, large, baseline, json, compressed, upload, files }
const MAX_FILE = 1024 * 1024

export async function start(workload) {
  const { default: express } = await import('express')
  const app = express().disable('x-powered-by').disable('etag')
  await APPS[workload.app](app, express)
  app.use((_error, _request, response, _next) => response.status(400).json({ error: 'bad request' }))
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => resolve({ port: server.address().port }))
  })
}

async function basic(app) {
  const { UserId, UserQuery } = await import('../models-by-zod.mjs')
  app.get('/hello', (_request, response) => response.json({ message: 'Hello, World!' }))
  app.get('/users/:id', (request, response) => {
    const { id } = UserId.parse(request.params)
    const { active } = UserQuery.parse(request.query)
    response.json({ id, active })
  })
}

async function bodies(app, express) {
  const { Person, PersonForm } = await import('../models-by-zod.mjs')
  const { default: multer } = await import('multer')
  app.post('/people', express.json(), express.urlencoded({ extended: false }), (request, response) => {
    const model = request.is('application/json') ? Person : PersonForm
    response.json(ofPerson(model.parse(request.body)))
  })
  const upload = multer({ storage: multer.memoryStorage(), limits: { fileSize: MAX_FILE } })
  app.post('/uploads', upload.single('image'), ({ body, file }, response) => {
    response.json(ofUpload(body, file.originalname, file.mimetype, file.buffer))
  })
}

function routes(app) {
  for (const { method, path, name } of ROUTES)
    app[method.toLowerCase()](path, (request, response) => response.json({ route: name, ...request.params }))
}

function large(app) {
  const { folder } = keepFile()
  app.get('/document', (_request, response) => response.json(DOCUMENT))
  app.get('/bytes', (_request, response) => response.send(BYTES))
  app.get(`/${FILE_NAME}`, (_request, response) => response.sendFile(FILE_NAME, { root: folder }))
}

async function baseline(app, express) {
  const { Summands, Summand } = await import('../models-by-zod.mjs')
  const answer = (response, number) => response.type('text/plain').send(String(number))
  app.get('/baseline11', (request, response) => {
    const { a, b } = Summands.parse(request.query)
    answer(response, a + b)
  })
  app.post('/baseline11', express.text(), (request, response) => {
    const { a, b } = Summands.parse(request.query)
    answer(response, a + b + Summand.parse(request.body))
  })
}

async function json(app) {
  const { Count, Factor } = await import('../models-by-zod.mjs')
  app.get('/json/:count', (request, response) => {
    const { count } = Count.parse(request.params)
    const { m } = Factor.parse(request.query)
    response.json(firstItems(count, m))
  })
}

function upload(app) {
  app.post('/upload', async (request, response) => {
    let bytes = 0
    for await (const chunk of request) {
      bytes += chunk.length
      if (bytes > MAX_UPLOAD) return response.status(413).json({ error: 'too large' })
    }
    response.type('text/plain').send(String(bytes))
  })
}

async function compressed(app) {
  const { default: compression } = await import('compression')
  app.use(compression())
  await json(app)
}

function files(app, express) {
  app.use(express.static(keepSite()))
}
