// One server of guests-fetch.mjs: `guests-fetch-serve.mjs <way>`, the same Hono application served in different ways. It answers questions
// about itself over IPC, and exits with its parent.
import { Hono } from 'hono'

const [way] = process.argv.slice(2)
const STREAM_PIECE = new Uint8Array(8 * 1024).fill(0x61)

const app = new Hono()
app.get('/hello', (context) => context.text('Hello, World!'))
app.get('/json', (context) => context.json({ message: 'Hello, World!', at: 1_700_000_000, tags: ['one', 'two', 'three'] }))
app.get('/users/:id', (context) => context.json({ id: context.req.param('id'), active: context.req.query('active') === 'true' }))
app.post('/echo', async (context) => context.json(await context.req.json()))
app.get('/stream', () => {
  let left = 8
  const body = new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(STREAM_PIECE)
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'Content-Type': 'application/octet-stream' } })
})

const WAYS = {
  async adapter(overrideGlobalObjects = true) {
    const { serve } = await import('@hono/node-server')
    const serverOptions = { keepAliveTimeout: 600_000 } // the others may have their turns for longer than the usual 5 s
    return new Promise((resolve) =>
      serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0, overrideGlobalObjects, serverOptions }, ({ port }) => resolve(port)),
    )
  },
  'adapter-plain': () => WAYS.adapter(false),
  async weir() {
    const { HttpServer } = await import('../packages/weirjs/dist/index.js')
    const { mountFetch } = await import('../packages/weirjs/dist/node/index.js')
    const server = new HttpServer('127.0.0.1', 0)
    mountFetch(server, '/', app.fetch)
    await server.start()
    return server.port
  },
  /** What a program can write without mountFetch. */
  async 'weir-to-web'() {
    const { HttpServer } = await import('../packages/weirjs/dist/index.js')
    const server = new HttpServer('127.0.0.1', 0)
    server.map(null, '/*path', { body: 'stream' }, (_, { request }) => app.fetch(request.toWeb()))
    await server.start()
    return server.port
  },
  /** The same responses from weir's own routes. */
  async 'weir-routes'() {
    const { HttpServer, t } = await import('../packages/weirjs/dist/index.js')
    const server = new HttpServer('127.0.0.1', 0)
    server.mapGet('/hello', () => 'Hello, World!')
    server.mapGet('/json', () => ({ message: 'Hello, World!', at: 1_700_000_000, tags: ['one', 'two', 'three'] }))
    server.mapGet('/users/:id', { active: t.bool.default(false) }, ({ id, active }) => ({ id, active }))
    server.mapPost('/echo', (_, { request }) => request.bodyJson())
    server.mapGet('/stream', async function* stream() {
      for (let i = 0; i < 8; i++) yield STREAM_PIECE
    })
    await server.start()
    return server.port
  },
  /** One of weir's own routes that also creates a native Response, which no guest can avoid while the globals are Node's. */
  async 'weir-response'() {
    const { HttpServer } = await import('../packages/weirjs/dist/index.js')
    const server = new HttpServer('127.0.0.1', 0)
    server.mapGet('/hello', () => {
      globalThis.kept = new Response('Hello, World!') // so that the optimiser cannot leave it out
      return 'Hello, World!'
    })
    await server.start()
    return server.port
  },
}

process.on('message', () => process.send(process.cpuUsage()))
process.on('disconnect', () => process.exit())
process.send({ port: await WAYS[way]() })
