// Hooks that run just before a response is sent.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import { type BeforeSend, HttpResponse, HttpServer, type ServerOptions } from '../../src/index.ts'

function quiet(options: ServerOptions = {}): HttpServer {
  return new HttpServer({ logger: null, ...options })
}

test('a hook sees each complete response, whatever made it, after all middleware', async () => {
  const server = quiet({ limits: { maxRequestBodySize: 4 } })
  const seen: string[] = []
  server.beforeSend((session, response) => void seen.push(`${session.request.url} ${response.statusCode} ${response.content.kind}`))
  server.use(async (_, next) => void (await next()).header('X-Middleware', '1'))
  server.beforeSend((_, response) => void seen.push(String(response.getHeader('X-Middleware'))))
  server.mapGet('/text', () => 'text')
  server.mapGet('/own', async () => new HttpResponse().stream(Readable.from(['a'])))
  server.mapGet('/file', (_, { response }) => response.file('package.json'))
  server.mapPost('/post', () => 'posted')
  server.mapGet('/fails', () => {
    throw new Error('broken')
  })
  for (const url of ['/text', '/own', '/file', '/nothing', '/fails']) await server.inject(url)
  await server.inject({ method: 'POST', url: '/post', body: 'too large' })
  assert.deepEqual(seen, [
    ...['/text 200 text', '1', '/own 200 stream', '1', '/file 200 bytes', '1', '/nothing 404 text', '1'],
    ...['/fails 500 text', 'null', '/post 413 text', 'null'], // middleware sees neither what was thrown nor a refusal
  ])
})

test('hooks run in order, even if one of them takes time', async () => {
  const server = quiet()
  server.beforeSend(async (_, response) => {
    await new Promise((resolve) => setImmediate(resolve))
    response.header('X-Order', 'first')
  })
  server.beforeSend((_, response) => void response.header('X-Order', `${response.getHeader('X-Order')}, second`))
  server.mapGet('/', () => 'text')
  assert.equal((await server.inject('/')).headers.get('x-order'), 'first, second')
})

for (const kind of ['throws', 'rejects'] as const) {
  test(`a hook that ${kind} leads to a 500, and the stream that was to be sent is closed`, async () => {
    const logged: unknown[] = []
    const server = quiet({ logger: { error: (_message, detail) => logged.push(detail) } })
    const broken = new Error('broken')
    const source = new Readable({ read() {} })
    server.beforeSend(() => {
      if (kind === 'rejects') return Promise.reject(broken)
      throw broken
    })
    server.mapGet('/', () => new HttpResponse().stream(source))
    assert.equal((await server.inject('/')).status, 500)
    assert.deepEqual(logged, [broken])
    assert.equal(source.destroyed, true)
  })
}

test('vary adds a name once, whatever its case, and * includes all', async () => {
  const response = new HttpResponse().vary('Origin').vary('origin', 'Accept')
  assert.equal(response.getHeader('vary'), 'Origin, Accept')
  assert.equal(new HttpResponse().header('Vary', '*').vary('Origin').getHeader('Vary'), '*')
})

test('vary keeps names on several lines', async () => {
  const server = quiet()
  server.beforeSend((_, response) => void response.vary('Origin', 'accept'))
  server.beforeSend((_, response) => void response.vary('Accept-Encoding'))
  server.mapGet('/', (_, { response }) => response.appendHeader('Vary', 'Accept').appendHeader('vary', 'Accept-Language,').text('text'))
  assert.equal((await server.inject('/')).headers.get('vary'), 'Accept, Accept-Language, Origin, Accept-Encoding')
})

test('encodeAs keeps fields about the content and drops fields about its bytes', async () => {
  const server = quiet()
  server.beforeSend((_, response) => {
    const { content } = response
    if (content.kind === 'bytes') response.encodeAs('x-upper', Buffer.from(Buffer.from(content.bytes).toString().toUpperCase()))
  })
  server.mapGet('/', (_, { response }) => response.header('Content-Digest', 'sha-256=:x:').file('LICENSE', { cacheControl: 'no-cache' }))
  const plain = quiet()
  plain.mapGet('/', (_, { response }) => response.file('LICENSE'))
  const { headers, ...reply } = await server.inject('/')
  assert.equal(reply.text(), (await plain.inject('/')).text().toUpperCase())
  assert.equal(headers.get('etag')!.replace('W/', ''), (await plain.inject('/')).headers.get('etag')!.replace('W/', ''))
  assert.match(headers.get('etag')!, /^W\//)
  assert.ok(headers.get('last-modified') !== null)
  assert.deepEqual(
    ['content-encoding', 'cache-control', 'content-type', 'accept-ranges', 'content-digest'].map((name) => headers.get(name)),
    ['x-upper', 'no-cache', 'application/octet-stream', null, null],
  )
})

/** What the client gets in a test, with `debug` and in production, and what is logged there. */
async function outcomesOf(hook: BeforeSend) {
  const map = (options: ServerOptions): HttpServer => {
    const server = new HttpServer({ port: 0, logger: null, ...options }).beforeSend(hook)
    return server.mapGet('/own', (_, { response }) => response.text('own')).mapGet('/other', () => new HttpResponse().text('other'))
  }
  const warnings: string[] = []
  const logger = { error: () => {}, warn: (message: string) => void warnings.push(message) }
  await using debugged = map({ debug: true })
  await using server = map({ logger })
  await debugged.start()
  await server.start()
  const send = async ({ port }: HttpServer): Promise<number> => (await fetch(`http://127.0.0.1:${port}/own`)).status
  const statuses = [(await map({}).inject('/own')).status, await send(debugged), await send(server), await send(server)]
  return { statuses, warnings, other: (await map({}).inject('/other')).status }
}

for (const [what, hook] of [
  ['text', () => 'replaced'],
  ['text, later', async () => 'replaced'],
  ['bytes', () => new Uint8Array(2)],
  ['another response', () => new HttpResponse().text('replaced')],
  ['another response, later', async () => new HttpResponse().text('replaced')],
  ['a Web response', () => new Response('replaced')],
] as [string, BeforeSend][])
  test(`a hook that returns ${what} is a mistake, because that is not sent`, async () => {
    const { statuses, warnings } = await outcomesOf(hook)
    assert.deepEqual(statuses, [500, 500, 200, 200])
    assert.equal(warnings.length, 1)
    assert.match(warnings[0]!, /GET \/own .*: a beforeSend hook returned .*, which is not sent: change the response that it gets/)
  })

for (const [what, hook] of [
  ['the response', (_, response) => response.header('A', 'b')],
  ['the response, later', async (_, response) => response.header('A', 'b')],
  ['a number', (_, response) => response.statusCode],
  ['nothing', async () => {}],
  ['null', () => null],
] as [string, BeforeSend][])
  test(`a hook that returns ${what} is no mistake`, async () => {
    const { statuses, warnings, other } = await outcomesOf(hook)
    assert.deepEqual([statuses, warnings, other], [[200, 200, 200, 200], [], 200])
  })

test('a hook that returns session.response is a mistake where the handler returned another response', async () => {
  const { statuses, warnings, other } = await outcomesOf(({ response }) => response.header('A', 'b'))
  assert.deepEqual([statuses, warnings, other], [[200, 200, 200, 200], [], 500])
})
