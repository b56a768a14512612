// weir as in its guide. WEIR_DIST selects another build than ../../packages/weirjs/dist, to compare two of them.
import { pathToFileURL } from 'node:url'

import { ofPerson } from '../answers.mjs'
import { firstItems, MAX_UPLOAD } from '../arena/items.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { integerOf, Person } from '../models-by-hand.mjs'
import { ROUTES } from '../route-table.mjs'
import { keepSite } from '../site.mjs'

export const label = 'weir'
export const version = () => process.env.WEIR_DIST ?? 'this commit'

const APPS = { basic, bodies, routes, large, baseline, json, compressed, upload, files }

/** @param apps in place of the usual ones */
export async function start(workload, apps = APPS) {
  const weir = await load('index.js')
  if (workload.needs !== undefined && !hasRequestMember(weir, workload.needs)) return { skipped: `this build has no ${workload.needs}` }
  const server = new weir.HttpServer('127.0.0.1', 0)
  await apps[workload.app](server, weir)
  await server.start()
  return { port: server.port }
}

const load = (file) =>
  import(process.env.WEIR_DIST ? pathToFileURL(`${process.env.WEIR_DIST}/${file}`) : `../../packages/weirjs/dist/${file}`)

const hasRequestMember = (weir, name) => typeof weir[name] === 'function' || typeof weir.HttpRequest?.prototype[name] === 'function'

function basic(server, { t }) {
  server.mapGet('/hello', () => ({ message: 'Hello, World!' }))
  server.mapGet('/users/:id', { id: t.int, active: t.bool.default(false) }, ({ id, active }) => ({ id, active }))
}

function bodies(server) {
  server.mapPost('/people', (_args, { request, response }) => {
    const person = new Person()
    if (!request.bodyMap(person)) return response.status(400).text('no person in the body')
    return ofPerson(person)
  })
  server.mapPost('/uploads', async (_args, { request, response }) => {
    const form = await request.bodyMultipart()
    if (form === null) return response.status(400).text('no form in the body')
    const { fields, files } = form
    const { fileName: name, contentType: type, content } = files[0]
    const file = { name, type, size: content.length, first: content[0], last: content[content.length - 1] }
    return { title: fields.get('title'), author: fields.get('author'), comment: fields.get('comment'), file }
  })
}

function routes(server) {
  for (const { method, path, name } of ROUTES) server.map(method, path, (values) => ({ route: name, ...values }))
}

function large(server) {
  const { path } = keepFile()
  server.mapGet('/document', () => DOCUMENT)
  server.mapGet('/bytes', () => BYTES)
  server.mapGet(`/${FILE_NAME}`, (_args, { response }) => response.file(path))
}

function baseline(server, { t }) {
  const summands = { a: t.int, b: t.int }
  server.mapGet('/baseline11', summands, ({ a, b }) => String(a + b))
  server.mapPost('/baseline11', summands, ({ a, b }, { request, response }) => {
    const c = integerOf(request.body)
    return c === null ? response.status(400).text('no number in the body') : String(a + b + c)
  })
}

function json(server, { t }) {
  server.mapGet('/json/:count', { count: t.int, m: t.int }, ({ count, m }) => firstItems(count, m))
}

async function compressed(server, weir) {
  const { compression } = await load('modules/compression/index.js')
  server.use(compression())
  json(server, weir)
}

function upload(server) {
  server.mapPost('/upload', { body: 'stream', maxRequestBodySize: MAX_UPLOAD }, async (_args, { request }) => {
    let bytes = 0
    for await (const piece of request.bodyStream()) bytes += piece.length
    return String(bytes)
  })
}

async function files(server) {
  const { staticFiles } = await load('modules/static/index.js')
  server.use(staticFiles({ root: keepSite(), precompressed: true }))
}
