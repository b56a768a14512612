// Bun.serve with its own router and by hand otherwise: another runtime, so a look at what lies beyond Node.
import { ofPerson, ofUpload, ofUser } from '../answers.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { versionOf } from '../machine.mjs'
import { personOfForm, personOfJson, readUser } from '../models-by-hand.mjs'
import { ROUTES } from '../route-table.mjs'
import { FILES, keepSite } from '../site.mjs'

export { missing, runtime } from '../bun.mjs'
export const label = 'Bun.serve'
export const version = () => versionOf('bun')

const APPS = { basic, bodies, routes, large, files }

export function start(workload) {
  if (APPS[workload.app] === undefined) return { skipped: 'it compresses nothing by itself' }
  const { port } = globalThis.Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: APPS[workload.app](),
    error: () => Response.json({ error: 'bad request' }, { status: 400 }),
  })
  return { port }
}

function basic() {
  return {
    '/hello': { GET: () => Response.json({ message: 'Hello, World!' }) },
    '/users/:id': { GET: showUser },
    '/users': { POST: async (request) => Response.json(ofUser(readUser(await request.text()))) },
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

function files() {
  const folder = keepSite()
  const names = [FILE_NAME, ...FILES.map(({ name }) => name)]
  return Object.fromEntries(names.map((name) => [`/${name}`, { GET: () => new Response(globalThis.Bun.file(`${folder}/${name}`)) }]))
}
