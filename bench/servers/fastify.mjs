// Fastify with what its guide recommends for speed: a schema for every response, synchronous handlers, no logger. Its own plugins handle
// forms, uploads and files.
import { ofPerson, ofUpload } from '../answers.mjs'
import { firstItems, MAX_UPLOAD } from '../arena/items.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { versionOf } from '../machine.mjs'
import { integerOf } from '../models-by-hand.mjs'
import { ROUTES } from '../route-table.mjs'
import { keepSite } from '../site.mjs'

export const label = 'Fastify'
export const version = () => versionOf('fastify')

const APPS = { basic, bodies, routes, large, baseline, json, compressed, upload, files }
const MAX_FILE = 1024 * 1024

export async function start(workload) {
  const { fastify } = await import('fastify')
  const app = fastify()
  await APPS[workload.app](app)
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { port: app.server.address().port }
}

const answers = (properties) => ({ 200: { type: 'object', properties } })
const string = { type: 'string' }
const integer = { type: 'integer' }
const boolean = { type: 'boolean' }

function basic(app) {
  app.get('/hello', { schema: { response: answers({ message: string }) } }, (_request, reply) => {
    reply.send({ message: 'Hello, World!' })
  })

  const user = {
    params: { type: 'object', properties: { id: integer } },
    querystring: { type: 'object', properties: { active: { type: 'boolean', default: false } } },
    response: answers({ id: integer, active: boolean }),
  }
  app.get('/users/:id', { schema: user }, (request, reply) => {
    reply.send({ id: request.params.id, active: request.query.active })
  })
}

function routes(app) {
  for (const { method, path: url, name, params } of ROUTES) {
    const schema = { response: answers({ route: string, ...Object.fromEntries(params.map((param) => [param, string])) }) }
    app.route({ method, url, schema, handler: (request, reply) => void reply.send({ route: name, ...request.params }) })
  }
}

async function bodies(app) {
  await app.register((await import('@fastify/formbody')).default)
  await app.register((await import('@fastify/multipart')).default, { attachFieldsToBody: true, limits: { fileSize: MAX_FILE } })
  const number = { type: 'number' }
  const address = { name: string, email: string, street: string, city: string }
  const properties = { ...address, age: number, score: number, subscribed: boolean, birthday: { type: 'string', format: 'date-time' } }
  const person = {
    body: { type: 'object', required: Object.keys(properties), properties },
    response: answers({ ...address, nextAge: number, score: number, subscribed: boolean, year: integer }),
  }
  app.post('/people', { schema: person }, (request, reply) => {
    reply.send(ofPerson({ ...request.body, birthday: new Date(request.body.birthday) }))
  })

  const file = { type: 'object', properties: { name: string, type: string, size: integer, first: integer, last: integer } }
  app.post('/uploads', { schema: { response: answers({ title: string, author: string, comment: string, file }) } }, async (request) => {
    const { title, author, comment, image } = request.body
    const fields = { title: title.value, author: author.value, comment: comment.value }
    return ofUpload(fields, image.filename, image.mimetype, await image.toBuffer())
  })
}

async function large(app) {
  const { folder } = keepFile()
  await app.register((await import('@fastify/static')).default, { root: folder, serve: false })
  const row = {
    id: integer,
    name: string,
    city: string,
    price: { type: 'number' },
    enabled: boolean,
    tags: { type: 'array', items: string },
  }
  const rows = { type: 'array', items: { type: 'object', properties: row } }
  app.get('/document', { schema: { response: answers({ rows }) } }, (_request, reply) => {
    reply.send(DOCUMENT)
  })
  app.get('/bytes', (_request, reply) => {
    reply.send(BYTES)
  })
  app.get(`/${FILE_NAME}`, (_request, reply) => reply.sendFile(FILE_NAME))
}

function baseline(app) {
  const querystring = { type: 'object', required: ['a', 'b'], properties: { a: integer, b: integer } }
  const answer = (reply, number) => reply.type('text/plain').send(String(number))
  app.get('/baseline11', { schema: { querystring } }, ({ query: { a, b } }, reply) => {
    answer(reply, a + b)
  })
  app.post('/baseline11', { schema: { querystring } }, ({ query: { a, b }, body }, reply) => {
    const c = integerOf(body)
    if (c === null) reply.code(400).send({ error: 'bad request' })
    else answer(reply, a + b + c)
  })
}

function json(app) {
  const rating = { type: 'object', properties: { score: integer, count: integer } }
  const tags = { type: 'array', items: string }
  const numbers = { price: integer, quantity: integer }
  const item = { id: integer, name: string, category: string, ...numbers, active: boolean, tags, rating, total: integer }
  const schema = {
    params: { type: 'object', properties: { count: integer } },
    querystring: { type: 'object', required: ['m'], properties: { m: integer } },
    response: answers({ items: { type: 'array', items: { type: 'object', properties: item } }, count: integer }),
  }
  app.get('/json/:count', { schema }, (request, reply) => {
    reply.send(firstItems(request.params.count, request.query.m))
  })
}

async function compressed(app) {
  await app.register((await import('@fastify/compress')).default)
  json(app)
}

function upload(app) {
  app.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload))
  app.post('/upload', { bodyLimit: MAX_UPLOAD }, async (request, reply) => {
    let bytes = 0
    for await (const chunk of request.body) bytes += chunk.length
    return reply.type('text/plain').send(String(bytes))
  })
}

async function files(app) {
  await app.register((await import('@fastify/static')).default, { root: keepSite(), preCompressed: true })
}
