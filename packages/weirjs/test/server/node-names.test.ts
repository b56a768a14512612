// The names that Node programs know, beside those of the mission: they are the same methods.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type Module, type ModuleHost, t } from '../../src/index.ts'

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const

const HOSTS: Readonly<Record<string, (server: HttpServer) => ModuleHost>> = {
  'a server': (server) => server,
  'a group': (server) => server.group(''),
}

for (const [where, hostOf] of Object.entries(HOSTS)) {
  test(`each method of ${where} maps a route for its own method`, async () => {
    const server = new HttpServer({ logger: null })
    const host = hostOf(server)
    for (const method of METHODS)
      host[method](`/${method}/:id`, { id: t.int }, ({ id }, { response }) => response.header('x-id', `${id + 1}`))
    for (const method of METHODS) {
      const own = await server.inject({ method: method.toUpperCase(), url: `/${method}/7` })
      assert.equal(own.headers.get('x-id'), '8', method)
      const other = method === 'put' ? 'PATCH' : 'PUT'
      assert.equal((await server.inject({ method: other, url: `/${method}/7` })).status, 405, `${other} of ${method}`)
    }
  })
}

test('all maps any method, and a plain handler is enough', async () => {
  const server = new HttpServer({ logger: null })
  server.all('/any', (_, { request }) => request.method).get('/:name', ({ name }) => name)
  for (const method of ['GET', 'DELETE', 'PROPFIND']) assert.equal((await server.inject({ method, url: '/any' })).text(), method)
  assert.equal((await server.inject('/Ada')).text(), 'Ada')
})

test('modules have the names, and use takes everything', async () => {
  const order: string[] = []
  const inner: Module = { name: 'inner', install: (host) => void host.get('/', () => order.splice(0)) }
  const outer: Module = { name: 'outer', install: (host) => void host.use(inner) }
  const server = new HttpServer({ logger: null })
  server
    .use((_, next) => {
      order.push('middleware')
      return next()
    })
    .use(outer)
    .use({ gate: () => void order.push('gate') })
  assert.deepEqual((await server.inject('/')).json(), ['gate', 'middleware'])
  assert.throws(() => server.use(outer), { code: 'WEIR_SERVER_STATE' })
  assert.throws(() => server.use(inner), { code: 'WEIR_SERVER_STATE' }, 'the other name installs it on the same server')
})

test('listen starts the server where it is told, and close stops it', async () => {
  const server = new HttpServer({ address: '::1', port: 1 })
  server.get('/', () => 'hello')
  await server.listen(0, '127.0.0.1')
  const { port } = server
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'hello')
  await assert.rejects(server.listen(0), { code: 'WEIR_SERVER_STATE' })
  const second = new HttpServer()
  await assert.rejects(second.listen(port), { code: 'EADDRINUSE' })
  assert.deepEqual(await server.close({ grace: '5s' }), { aborted: 0 })
  assert.equal(server.isListening, false)
  await second.listen()
  assert.equal(second.port, port, 'it starts where it was told before')
  await second.close()
})

test('a server with several endpoints listens where its options say', async () => {
  const server = new HttpServer({ listen: [{ port: 0 }, { port: 0 }] })
  await assert.rejects(server.listen(0), { code: 'WEIR_OPTION_INVALID', message: /several endpoints/ })
  await server.listen()
  assert.equal(server.endpoints.length, 2)
  await server.close()
})
