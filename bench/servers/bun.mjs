// Bun.serve with its own router and hand-written code otherwise: a different runtime, for comparison.
import { brotliCompressSync, constants } from 'node:zlib'

import { ofPerson, ofUpload } from '../answers.mjs'
import { firstItems } from '../arena/items.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { versionOf } from '../machine.mjs'
import { integerOf, personOfForm, personOfJson } from '../models-by-hand.mjs'
import { ROUTES } from '../route-table.mjs'
import { FILES, keepSite } from '../site.mjs'

export { missing, runtime } from '../bun.mjs'
export const label = 'Bun.serve'
export const version = () => versionOf('bun')

const APPS = { basic, bodies, routes, large, baseline, json, compressed, upload, files }

export function start(workload) {
  const { port } = globalThis.Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: APPS[workload.app](workload),
    error: () => Response.json({ error: 'bad request' }, { status: 400 }),
  })
  return { port }
}

function basic() {
  return {
    '/hello': { GET: () => Response.json({ message: 'Hello, World!' }) },
    '/users/:id': { GET: showUser },
  }
}

function showUser({ params, url }) {
  const id = Number(params.id)
  const active = new URL(url).searchParams.get('active') ?? 'false'
  if (!Number.isSafeInteger(id) || (active !== 'true' && active !== 'false')) throw new TypeError('not an id, or not a boolean')
  return Response.json({ id, active: active === 'true' })
}

function bodies() {
  return {
    '/people': {
      POST: async (request) => {
        const read = request.headers.get('content-type') === 'application/json' ? personOfJson : personOfForm
        return Response.json(ofPerson(read(await request.text())))
      },
    },
    '/uploads': {
      POST: async (request) => {
        const form = await request.formData()
        const image = form.get('image')
        const fields = { title: form.get('title'), author: form.get('author'), comment: form.get('comment') }
        return Response.json(ofUpload(fields, image.name, image.type, new Uint8Array(await image.arrayBuffer())))
      },
    },
  }
}

function routes() {
  const table = {}
  for (const { method, path, name } of ROUTES) {
    table[path] ??= {}
    table[path][method] = (request) => Response.json({ route: name, ...request.params })
  }
  return table
}

function large() {
  const { path } = keepFile()
  const headers = { 'Content-Type': 'application/octet-stream' }
  return {
    '/document': { GET: () => Response.json(DOCUMENT) },
    '/bytes': { GET: () => new Response(BYTES, { headers }) },
    [`/${FILE_NAME}`]: { GET: () => new Response(globalThis.Bun.file(path)) },
  }
}

function integer(text) {
  const number = integerOf(text)
  if (number === null) throw new TypeError('not an integer')
  return number
}

const plain = (number) => new Response(String(number), { headers: { 'Content-Type': 'text/plain' } })

function baseline() {
  const sumOf = ({ url }) => {
    const query = new URL(url).searchParams
    return integer(query.get('a')) + integer(query.get('b'))
  }
  return {
    '/baseline11': {
      GET: (request) => plain(sumOf(request)),
      POST: async (request) => plain(sumOf(request) + integer(await request.text())),
    },
  }
}

const itemsFor = ({ params, url }) => firstItems(integer(params.count), integer(new URL(url).searchParams.get('m')))

function json() {
  return { '/json/:count': { GET: (request) => Response.json(itemsFor(request)) } }
}

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

/** Bun does not compress responses. This is how its users do it. */
function compressed({ coding }) {
  const headers = { 'Content-Type': 'application/json', 'Content-Encoding': coding, Vary: 'Accept-Encoding' }
  const compress = coding === 'br' ? (text) => brotliCompressSync(text, BROTLI) : (text) => globalThis.Bun.gzipSync(text)
  return { '/json/:count': { GET: (request) => new Response(compress(JSON.stringify(itemsFor(request))), { headers }) } }
}

function upload() {
  return {
    '/upload': {
      POST: async (request) => {
        let bytes = 0
        for await (const piece of request.body) bytes += piece.length
        return plain(bytes)
      },
    },
  }
}

function files() {
  const folder = keepSite()
  return Object.fromEntries(FILES.map(({ name }) => [`/${name}`, { GET: () => new Response(globalThis.Bun.file(`${folder}/${name}`)) }]))
}
