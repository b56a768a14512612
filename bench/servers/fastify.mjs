// Fastify with what its guide recommends for speed: a schema for every answer, synchronous handlers, no logger.
import { versionOf } from '../machine.mjs'
import { ROUTES } from '../route-table.mjs'

export const label = 'Fastify'
export const version = () => versionOf('fastify')

const APPS = { basic, routes }

export async function start(workload) {
  if (APPS[workload.app] === undefined) return { skipped: 'it reads forms and uploads with plugins only' }
  const { fastify } = await import('fastify')
  const app = fastify()
  APPS[workload.app](app)
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

  const model = {
    body: {
      type: 'object',
      required: ['id', 'name', 'email', 'creation', 'enabled', 'logins', 'tags'],
      properties: {
        id: { type: 'string', format: 'uuid' },
        name: string,
        email: string,
        creation: { type: 'string', format: 'date-time' },
        enabled: boolean,
        logins: { type: 'number' },
        tags: { type: 'array', items: string },
      },
    },
    response: answers({ id: string, name: string, year: integer, enabled: boolean, nextLogin: { type: 'number' }, tags: integer }),
  }
  app.post('/users', { schema: model }, (request, reply) => {
    const { id, name, creation, enabled, logins, tags } = Object.assign(new User(), request.body)
    reply.send({ id, name, year: new Date(creation).getUTCFullYear(), enabled, nextLogin: logins + 1, tags: tags.length })
  })
}

class User {
  id = ''
  name = ''
  email = ''
  creation = ''
  enabled = false
  logins = 0
  tags = []
}

function routes(app) {
  for (const { method, path: url, name, params } of ROUTES) {
    const schema = { response: answers({ route: string, ...Object.fromEntries(params.map((param) => [param, string])) }) }
    app.route({ method, url, schema, handler: (request, reply) => void reply.send({ route: name, ...request.params }) })
  }
}
