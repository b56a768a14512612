// A weir server as the fetch function of another runtime: `bun program.mjs`, `deno run -A program.mjs`. It prints the port, and
// then a line for each end that it observes.
import { HttpServer, t } from '../../../dist/index.js'
import { sse } from '../../../dist/modules/sse/index.js'

const server = new HttpServer({ logger: null, limits: { maxRequestBodySize: 1_000_000 } })
server.mapGet('/hello/:name', { times: t.int.default(1) }, ({ name, times }) => `Hello ${name}${'!'.repeat(times)}`)
server.mapPost('/json', (_, { request }) => ({ got: request.bodyJson() }))
server.mapPost('/echo', { body: 'stream' }, (_, { request }) => request.bodyStream())
server.mapPost('/form', async (_, { request }) => {
  const form = await request.bodyMultipart()
  return form === null ? null : { ...Object.fromEntries(form.fields.entries()), size: form.files[0].content.length }
})
server.mapGet('/cookies', (_, { request, response }) =>
  response
    .cookie('a', '1')
    .cookie('b', '2')
    .text(String(request.cookie('c'))),
)
server.mapGet('/file', (_, { response }) => response.file('package.json'))
server.mapGet('/who', (_, { clientAddress, isSecure, origin }) => ({ clientAddress, isSecure, origin }))
server.mapGet('/pieces', async function* () {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    yield `piece ${i} `
  }
})
server.mapGet('/endless', async function* () {
  try {
    for (;;) {
      yield 'x'.repeat(1000)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  } finally {
    console.log('closed')
  }
})
server.mapGet('/events', (_, session) => sse(session, oneEvent()))
server.observe({ end: ({ route, status, outcome }) => console.log('end', route, status, outcome) })

async function* oneEvent() {
  yield { data: 'one' }
}

const { Bun, Deno } = globalThis
if (Bun !== undefined) console.log('port', Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: server.fetch }).port)
else Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: ({ port }) => console.log('port', port) }, server.fetch)
