// Conditional requests for computed responses: `response.precondition`, and `etag: true`.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import {
  type Declaration,
  HttpError,
  HttpResponse,
  HttpServer,
  type HttpSession,
  header,
  type InjectResponse,
  type Logger,
  t,
} from '../../src/index.ts'
import { get, put } from '../../src/modules/client/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { exchange } from '../../src/modules/kit/index.ts'
import { eventually } from '../support/serving.ts'

const CHANGED = new Date('1994-11-06T08:49:37.900Z')
const CHANGED_FIELD = 'Sun, 06 Nov 1994 08:49:37 GMT'

interface State {
  readonly etag?: string
  readonly lastModified?: Date
}

/** A resource at `/note` that says how often a handler has done its work. */
function noteServer(state: State | null): { server: HttpServer; work: () => number } {
  const server = new HttpServer({ logger: null })
  let done = 0
  server.map(null, '/note', (_, { response }) => {
    response.header('Cache-Control', 'max-age=60').header('Content-Language', 'en').vary('Accept')
    if (response.precondition(state)) return response
    done++
    return { text: 'milk' }
  })
  return { server, work: () => done }
}

function ask(server: HttpServer, method: string, headers: Record<string, string>, url = '/note'): Promise<InjectResponse> {
  return server.inject({ method, url, headers: method === 'QUERY' ? { 'Content-Type': 'text/plain', ...headers } : headers })
}

test('a response to GET has the validators, and a client that has them gets 304', async () => {
  const { server, work } = noteServer({ etag: 'v1', lastModified: CHANGED })
  const first = await ask(server, 'GET', {})
  assert.deepEqual([first.status, first.headers.get('etag'), first.headers.get('last-modified')], [200, '"v1"', CHANGED_FIELD])
  for (const headers of [{ 'If-None-Match': '"v0", W/"v1"' }, { 'If-None-Match': '*' }, { 'If-Modified-Since': CHANGED_FIELD }]) {
    const again = await ask(server, 'GET', headers)
    assert.deepEqual([again.status, again.body.length, again.headers.get('etag')], [304, 0, '"v1"'])
    // What RFC 9110 §15.4.5 demands of a 304, and nothing about a body that is not there.
    assert.deepEqual([again.headers.get('cache-control'), again.headers.get('vary')], ['max-age=60', 'Accept'])
    for (const name of ['content-type', 'content-length', 'last-modified']) assert.equal(again.headers.get(name), null)
  }
  assert.equal(work(), 1)
})

test('without a tag, the time of the last change counts', async () => {
  const { server } = noteServer({ lastModified: CHANGED })
  const unchanged = await ask(server, 'GET', { 'If-Modified-Since': CHANGED_FIELD })
  assert.deepEqual([unchanged.status, unchanged.headers.get('last-modified')], [304, CHANGED_FIELD])
  assert.equal((await ask(server, 'GET', { 'If-Modified-Since': 'Sun, 06 Nov 1994 08:49:36 GMT' })).status, 200)
  assert.equal((await ask(server, 'GET', { 'If-None-Match': '"v1"', 'If-Modified-Since': CHANGED_FIELD })).status, 200)
})

test('methods that write are answered with 412 unless the state is the one that the client expects, and the handler does nothing', async () => {
  const { server, work } = noteServer({ etag: '"v2"', lastModified: CHANGED })
  const refused: Record<string, string>[] = [
    { 'If-Match': '"v1"' },
    { 'If-Match': 'W/"v2"' },
    { 'If-None-Match': '*' },
    { 'If-None-Match': 'W/"v2"' },
    { 'If-Unmodified-Since': 'Sun, 06 Nov 1994 08:49:36 GMT' },
  ]
  for (const method of ['PUT', 'PATCH', 'DELETE', 'POST'])
    for (const headers of refused) {
      const response = await ask(server, method, headers)
      assert.deepEqual([response.status, response.headers.get('content-type')], [412, 'application/problem+json'], JSON.stringify(headers))
      for (const name of ['cache-control', 'etag', 'content-language']) assert.equal(response.headers.get(name), null)
    }
  assert.equal(work(), 0)
  for (const headers of [{ 'If-Match': '"v1", "v2"' }, { 'If-Match': '*' }, { 'If-Unmodified-Since': CHANGED_FIELD }, {}])
    assert.equal((await ask(server, 'PUT', headers as Record<string, string>)).status, 200)
  assert.equal((await ask(server, 'PUT', {})).headers.get('etag'), null)
})

test('a resource that does not exist', async () => {
  const { server } = noteServer(null)
  assert.equal((await ask(server, 'PUT', { 'If-None-Match': '*' })).status, 200)
  assert.equal((await ask(server, 'PUT', { 'If-Match': '*' })).status, 412)
  assert.equal((await ask(server, 'GET', { 'If-None-Match': '*' })).headers.get('etag'), null)
})

test('HEAD and QUERY read like GET, and OPTIONS has no conditions', async () => {
  const { server } = noteServer({ etag: 'W/"v1"' })
  for (const method of ['HEAD', 'QUERY']) {
    const response = await ask(server, method, { 'If-None-Match': '"v1"' })
    assert.deepEqual([response.status, response.headers.get('etag')], [304, 'W/"v1"'])
  }
  assert.equal((await ask(server, 'OPTIONS', { 'If-Match': '"v0"' })).status, 200)
})

test('validators that cannot be are refused, and so is a response without a request', async () => {
  for (const [state, code] of [
    [{ etag: 'a b' }, 'WEIR_RESPONSE_HEADER_SYNTAX'],
    [{ etag: '"a' }, 'WEIR_RESPONSE_HEADER_SYNTAX'],
    [{ lastModified: new Date('never') }, 'WEIR_OPTION_INVALID'],
    [{ lastModified: '1994' as unknown as Date }, 'WEIR_OPTION_INVALID'],
  ] as const) {
    const server = new HttpServer({ logger: null, debug: true })
    server.mapGet('/', (_, { response }) => response.precondition(state))
    assert.equal(((await server.inject('/')).json() as { code: string }).code, code)
  }
  assert.throws(() => new HttpResponse().precondition({ etag: 'v1' }), { code: 'WEIR_SERVER_STATE' })
  const { server } = noteServer({ lastModified: new Date(8e15) })
  const { headers } = await ask(server, 'GET', {})
  assert.ok(Date.parse(headers.get('last-modified')!) <= Date.now(), 'a time in the future is not sent')
})

const TEXT = 'All work and no play makes Jack a dull boy. '.repeat(100)

function taggedServer(declaration: Declaration<object> = { etag: true }): HttpServer {
  const server = new HttpServer({ logger: null })
  const group = server.group('/tagged', declaration)
  group.mapGet('/json', () => ({ a: 1 }))
  group.mapGet('/text', () => TEXT)
  group.mapGet('/bytes', () => Buffer.from(TEXT))
  group.mapGet('/later', async () => TEXT)
  group.mapGet('/stream', () => Readable.from(['a']))
  group.mapGet('/created', (_, { response }) => response.status(201).json({ a: 1 }))
  group.mapGet('/own', (_, { response }) =>
    response.header('ETag', '"v1"').header('Last-Modified', CHANGED_FIELD).json({ a: Math.random() }),
  )
  group.mapPost('/json', () => ({ a: 1 }))
  group.mapGet('/off', { etag: false }, () => TEXT)
  return server
}

test('etag: true gives responses to GET and HEAD a tag of their bytes, and answers 304', async () => {
  const server = taggedServer()
  const tags = new Set<string>()
  for (const url of ['/tagged/json', '/tagged/text']) {
    const first = await server.inject(url)
    const etag = first.headers.get('etag')!
    assert.match(etag, /^"[\w-]{22}"$/)
    tags.add(etag)
    assert.equal((await server.inject({ method: 'HEAD', url })).headers.get('etag'), etag)
    for (const method of ['GET', 'HEAD']) {
      const again = await ask(server, method, { 'If-None-Match': `"x", ${etag}` }, url)
      assert.deepEqual(
        [again.status, again.body.length, again.headers.get('etag'), again.headers.get('content-type')],
        [304, 0, etag, null],
      )
    }
    assert.equal((await ask(server, 'GET', { 'If-None-Match': '"x"' }, url)).status, 200)
    assert.equal((await ask(server, 'GET', { 'If-Match': '"x"' }, url)).status, 412)
    assert.equal((await ask(server, 'GET', { 'If-Match': etag }, url)).status, 200)
  }
  assert.equal(tags.size, 2)
  const [text, bytes, later] = await Promise.all(['text', 'bytes', 'later'].map((name) => server.inject(`/tagged/${name}`)))
  assert.equal(bytes!.headers.get('etag'), text!.headers.get('etag'))
  assert.equal(later!.headers.get('etag'), text!.headers.get('etag'))
})

test('etag: true leaves alone what has no bytes in memory, is not a 200, or does not read', async () => {
  const server = taggedServer()
  for (const url of ['stream', 'created', 'off', 'nothing']) assert.equal((await server.inject(`/tagged/${url}`)).headers.get('etag'), null)
  assert.equal((await server.inject({ method: 'POST', url: '/tagged/json', headers: { 'If-None-Match': '*' } })).status, 200)
  assert.equal((await server.inject({ method: 'POST', url: '/tagged/json' })).headers.get('etag'), null)
  assert.equal((await server.inject({ method: 'PUT', url: '/tagged/json' })).status, 405)
})

test('etag: true takes the validators that the handler has set', async () => {
  const server = taggedServer()
  assert.equal((await server.inject('/tagged/own')).headers.get('etag'), '"v1"')
  assert.equal((await ask(server, 'GET', { 'If-None-Match': '"v1"' }, '/tagged/own')).status, 304)
  assert.equal((await ask(server, 'GET', { 'If-Modified-Since': CHANGED_FIELD }, '/tagged/own')).status, 304)
})

test('etag: true closes a stream that the client need not be sent', async () => {
  const server = new HttpServer({ logger: null })
  const source = new Readable({ read() {} })
  server.mapGet('/', { etag: true }, (_, { response }) => response.header('ETag', '"v1"').stream(source))
  assert.equal((await ask(server, 'GET', { 'If-None-Match': '"v1"' }, '/')).status, 304)
  await eventually(() => source.destroyed, 'the end of the stream')
})

const coded = (etag: string, coding = 'gzip'): string => `${etag.slice(0, -1)}~${coding}"`

test('with compression, the tag is that of the content, in the coding', async () => {
  const server = taggedServer()
  server.use(compression())
  const plain = (await server.inject('/tagged/text')).headers.get('etag')!
  const packed = await ask(server, 'GET', { 'Accept-Encoding': 'gzip' }, '/tagged/text')
  assert.deepEqual([packed.headers.get('content-encoding'), packed.headers.get('etag')], ['gzip', coded(plain)])
  for (const etag of [plain, coded(plain)]) {
    const again = await ask(server, 'GET', { 'Accept-Encoding': 'gzip', 'If-None-Match': etag }, '/tagged/text')
    assert.deepEqual([again.status, again.headers.get('etag'), again.headers.get('vary')], [304, etag, 'Accept-Encoding'])
  }
})

test('etag is true or false', () => {
  const server = new HttpServer({ logger: null })
  assert.throws(() => server.mapGet('/', { etag: 'weak' as unknown as boolean }, () => 1), {
    code: 'WEIR_ROUTE_DECLARATION',
    message: /option "etag" of \/ is the string "weak", not true or false/,
  })
})

test('requireIfMatch refuses what would change something without a condition, before the body is read', async () => {
  const server = new HttpServer({ logger: null })
  let handled = 0
  server.map(null, '/note', { requireIfMatch: true, body: t.object({ a: t.int }).optional() }, (_, { request, response }) => {
    if (response.precondition(request.header('if-none-match') === '*' ? null : { etag: 'v1' })) return response
    handled++
    return 'done'
  })
  for (const method of ['PUT', 'PATCH', 'POST', 'DELETE', 'UNKNOWN']) {
    const refused = await server.inject({ method, url: '/note', body: '{', headers: { 'Content-Type': 'application/json' } })
    assert.deepEqual([refused.status, (refused.json() as { code: string }).code], [428, 'WEIR_CONDITION_REQUIRED'], method)
    for (const headers of [{ 'If-Match': '"v1"' }, { 'If-Match': '*' }, { 'If-None-Match': '*' }])
      assert.equal((await ask(server, method, headers)).status, 200)
    for (const headers of [{ 'If-None-Match': '"v1"' }, { 'If-Unmodified-Since': CHANGED_FIELD }])
      assert.equal((await ask(server, method, headers)).status, 428)
  }
  assert.equal(handled, 15)
  for (const method of ['GET', 'HEAD']) assert.equal((await ask(server, method, {})).status, 200)
})

test('requireIfMatch applies to a group, and a route in it may say otherwise; policies around the route come first', async () => {
  const server = new HttpServer({ logger: null })
  const closed = {
    gate(): void {
      throw new HttpError(401, 'no')
    },
  }
  const notes = server.group('/notes', { requireIfMatch: true })
  notes.mapPost('/new', { requireIfMatch: false }, () => 'created')
  notes.mapPut('/:id', () => 'replaced')
  notes.mapGet('/:id', () => 'read')
  notes.mapDelete('/:id', { use: [closed] }, () => 'removed')
  assert.equal((await ask(server, 'POST', {}, '/notes/new')).status, 200)
  assert.equal((await ask(server, 'PUT', {}, '/notes/1')).status, 428)
  assert.equal((await ask(server, 'GET', {}, '/notes/1')).status, 200)
  assert.equal((await ask(server, 'DELETE', {}, '/notes/1')).status, 401)
  const { policies } = server.routes.find(({ method }) => method === 'PUT')!
  assert.deepEqual(
    policies.map(({ name, description }) => [name, description]),
    [['requireIfMatch', { refuses: [412, 428] }]],
  )
})

test('requireIfMatch of a route that changes nothing is a mistake of the program', () => {
  const server = new HttpServer({ logger: null })
  assert.throws(() => server.mapGet('/', { requireIfMatch: true }, () => 'x'), {
    code: 'WEIR_ROUTE_DECLARATION',
    message: /GET changes nothing/,
  })
  assert.throws(() => server.mapPut('/', { requireIfMatch: 'yes' as never }, () => 'x'), { code: 'WEIR_ROUTE_DECLARATION' })
})

test('etag of a route whose responses get no tag is a mistake of the program; of a group it is not', () => {
  const server = new HttpServer({ logger: null })
  for (const method of ['POST', 'PUT', 'QUERY', 'DELETE'])
    assert.throws(() => server.map(method, '/', { etag: true }, () => 'x'), {
      code: 'WEIR_ROUTE_DECLARATION',
      message: /cannot have etag: only/,
    })
  server.map(null, '/any', { etag: true }, () => 'x').map('HEAD', '/head', { etag: true }, () => 'x')
  server.mapPost('/off', { etag: false }, () => 'x')
  server.group('/g', { etag: true }).mapPost('/', () => 'x')
})

test('the routes of a contract have tags of their bytes, versions, and required conditions', async () => {
  const Note = t.object({ text: t.string })
  const api = {
    show: get('/note', { answers: { 200: Note } }),
    list: get('/notes', { answers: { 200: t.array(Note) } }),
    save: put('/note', { body: Note, answers: { 200: Note } }),
  }
  const server = new HttpServer({ logger: null })
  const note = { version: 1, text: 'milk', secret: 'x' }
  const handlers = {
    show: (_: unknown, { response }: { response: HttpResponse }) => (response.precondition({ etag: `v${note.version}` }) ? response : note),
    list: () => [note],
    save: ({ body }: { body: { text: string } }, { response }: { response: HttpResponse }) => {
      if (response.precondition({ etag: `v${note.version}` })) return response
      return Object.assign(note, body, { version: note.version + 1 })
    },
  }
  server.mapContract(api, handlers, { list: { etag: true }, save: { requireIfMatch: true } })

  const list = await ask(server, 'GET', {}, '/notes')
  assert.equal(list.text(), '[{"text":"milk"}]')
  const etag = list.headers.get('etag')!
  assert.equal((await ask(server, 'GET', { 'If-None-Match': etag }, '/notes')).status, 304)
  const first = await ask(server, 'GET', {})
  assert.deepEqual([first.status, first.headers.get('etag')], [200, '"v1"'])
  assert.equal((await ask(server, 'GET', { 'If-None-Match': '"v1"' })).status, 304)

  const save = async (headers: Record<string, string>): Promise<number> =>
    (await server.inject({ method: 'PUT', url: '/note', json: { text: 'bread' }, headers })).status
  assert.deepEqual([await save({}), await save({ 'If-Match': '"v1"' }), await save({ 'If-Match': '"v1"' })], [428, 200, 412])
  assert.notEqual((await ask(server, 'GET', {}, '/notes')).headers.get('etag'), etag)
})

/** What servers that handle production's requests, tests and debugging do about a mistake of a handler. */
async function mistakeOf(map: (server: HttpServer) => unknown, method: string, headers: Record<string, string>) {
  const warnings: string[] = []
  const logger: Logger = { error: () => {}, warn: (message) => void warnings.push(message) }
  const tested = new HttpServer({ logger: null })
  map(tested)
  await using debugged = new HttpServer({ logger: null, debug: true, port: 0 })
  map(debugged)
  await debugged.start()
  await using server = new HttpServer({ logger, port: 0 })
  map(server)
  await server.start()
  const send = async ({ port }: HttpServer): Promise<[number, string, string | null]> => {
    const response = await fetch(`http://127.0.0.1:${port}/note`, { method, headers })
    return [response.status, await response.text(), response.headers.get('content-type')]
  }
  const sent = [await send(server), await send(server)]
  return { tested: await ask(tested, method, headers), debugged: await send(debugged), sent: sent[0]!, again: sent[1]!, warnings }
}

class Closed extends Readable {
  static count = 0
  override _read(): void {}
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    Closed.count++
    done(error)
  }
}

for (const [what, result] of Object.entries({
  'a text': () => 'secret',
  JSON: () => ({ secret: 1 }),
  'a promise': async () => 'secret',
  bytes: () => Buffer.from('secret'),
  'a stream': () => new Closed(),
  'its response, changed': (response) => response.status(200).json({ secret: 1 }),
  'another response': () => new HttpResponse().text('secret'),
  'a Web Response': () => new Response('secret'),
} as Record<string, (response: HttpResponse) => unknown>))
  for (const [method, headers, status] of [
    ['PUT', { 'If-Match': '"v0"' }, 412],
    ['GET', { 'If-None-Match': '"v1"' }, 304],
  ] as const)
    test(`${what} that a handler returns after precondition() was true is not sent: ${status}`, async () => {
      Closed.count = 0
      const { tested, debugged, sent, again, warnings } = await mistakeOf(
        (server) =>
          server.map(null, '/note', (_, { response }) => {
            response.precondition({ etag: 'v1' })
            return result(response)
          }),
        method,
        headers,
      )
      assert.deepEqual([tested.status, debugged[0]], [500, 500])
      assert.deepEqual(again, sent)
      assert.equal(sent[0], status)
      assert.doesNotMatch(sent[1], /secret/)
      assert.equal(sent[2], status === 412 ? 'application/problem+json' : null)
      assert.equal(warnings.length, 1)
      assert.match(warnings[0]!, /ANY \/note .*precondition\(\) was true, so the response is a \d+, and the handler returned another/)
      assert.equal(Closed.count, what === 'a stream' ? 4 : 0)
    })

test('declared answers do not bring back what precondition() has decided against', async () => {
  const server = new HttpServer({ logger: null, port: 0 })
  server.map(null, '/note', { answers: { 200: t.object({ a: t.int }) } }, (_, { response }) => {
    response.precondition({ etag: 'v1' })
    return { a: 1 }
  })
  await server.start()
  await using _ = server
  const send = (method: string, headers: Record<string, string>) => fetch(`http://127.0.0.1:${server.port}/note`, { method, headers })
  assert.equal((await send('GET', { 'If-None-Match': '"v1"' })).status, 304)
  const failed = await send('PUT', { 'If-Match': '"v0"' })
  assert.deepEqual([failed.status, ((await failed.json()) as { status: number }).status], [412, 412])
  assert.deepEqual(await (await send('PUT', { 'If-Match': '"v1"' })).json(), { a: 1 })
})

test('middleware and onError may answer in place of what precondition() has decided', async () => {
  const server = new HttpServer({ logger: null, onError: (_error, { response }) => response.status(409).text('of onError') })
  server.use(async (session, next) => {
    const response = await next()
    return response.statusCode === 412 && session.request.path === '/note' ? session.response.status(400).text('of middleware') : undefined
  })
  server.mapPut('/note', (_, { response }) => (response.precondition({ etag: 'v1' }) ? response : 'done'))
  server.mapPut('/thrown', (_, { response }) => {
    if (response.precondition({ etag: 'v1' })) throw new Error('in the end')
    return 'done'
  })
  const headers = { 'If-Match': '"v0"' }
  assert.equal((await ask(server, 'PUT', headers)).text(), 'of middleware')
  assert.equal((await ask(server, 'PUT', headers, '/thrown')).text(), 'of onError')
})

test('a handler with requireIfMatch that compares nothing is a mistake', async () => {
  const headers = { 'If-Match': '"nonsense"' }
  const map = (server: HttpServer): unknown => server.mapPut('/note', { requireIfMatch: true }, () => 'changed')
  const { tested, debugged, sent, again, warnings } = await mistakeOf(map, 'PUT', headers)
  assert.deepEqual([tested.status, debugged[0], sent[0], again[0]], [500, 500, 200, 200])
  assert.equal(warnings.length, 1)
  assert.match(warnings[0]!, /PUT \/note .*requireIfMatch, but its handler never called precondition\(\)/)
})

test('reading other fields, and cookies, compares nothing', async () => {
  const map = (server: HttpServer): unknown =>
    server.mapPut('/note', { requireIfMatch: true }, (_, { request }) => {
      const { headers } = request
      return `${request.cookie('a')} ${headers.get('host')} ${headers.getAll('cookie')} ${headers.has('if-modified-since')}`
    })
  const { tested, debugged, sent, warnings } = await mistakeOf(map, 'PUT', { 'If-Match': '"v1"', Cookie: 'a=b' })
  assert.deepEqual([tested.status, debugged[0], sent[0], warnings.length], [500, 500, 200, 1])
})

for (const [what, map, headers, method = 'PUT'] of [
  [
    'has read the field',
    (server) => server.mapPut('/note', { requireIfMatch: true }, (_, { request }) => String(request.header('if-match'))),
  ],
  [
    'has read it from headers',
    (server) => server.mapPut('/note', { requireIfMatch: true }, (_, { request }) => request.headers.get('If-Match')),
  ],
  [
    'has read its values',
    (server) => server.mapPut('/note', { requireIfMatch: true }, (_, { request }) => request.headers.getAll('IF-MATCH').join()),
  ],
  [
    'has asked whether it is there',
    (server) => server.mapPut('/note', { requireIfMatch: true }, (_, { request }) => `${request.headers.has('if-match')}`),
  ],
  [
    'has read it by iteration',
    (server) => server.mapPut('/note', { requireIfMatch: true }, (_, { request }) => Object.fromEntries(request.headers)['if-match']),
  ],
  [
    'has read it from entries',
    (server) =>
      server.mapPut(
        '/note',
        { requireIfMatch: true },
        (_, { request }) => [...request.headers.entries()].flat().includes('"v1"') && 'same',
      ),
  ],
  [
    'has read it as JSON',
    (server) => server.mapPut('/note', { requireIfMatch: true }, (_, { request }) => request.headers.toJSON()['if-match']),
  ],
  [
    'compares in a policy, by the kit',
    (server) =>
      server
        .use({ gate: (session: HttpSession) => void exchange(session).field('if-match') })
        .mapPut('/note', { requireIfMatch: true }, () => 'changed'),
  ],
  [
    'has read that it may only create',
    (server) => server.mapPut('/note', { requireIfMatch: true }, (_, { request }) => request.header('If-None-Match')),
    { 'If-None-Match': '*' },
  ],
  [
    'gets as a parameter that it may only create',
    (server) => server.mapPut('/note', { requireIfMatch: true, only: header('If-None-Match', t.string) }, ({ only }) => only),
    { 'If-None-Match': '*' },
  ],
  [
    'gets it as a parameter',
    (server) => server.mapPut('/note', { requireIfMatch: true, tag: header('If-Match', t.string) }, ({ tag }) => tag),
  ],
  [
    'passes the request on',
    (server) => server.mapPut('/note', { requireIfMatch: true }, (_, { request }) => String(request.toWeb().headers.get('if-match'))),
  ],
  ['refuses', (server) => server.mapPut('/note', { requireIfMatch: true }, (_, { response }) => response.notFound())],
  [
    'throws',
    (server) =>
      server.mapPut('/note', { requireIfMatch: true }, () => {
        throw new HttpError(409, 'no')
      }),
  ],
  ['only needs that it exists', (server) => server.mapPut('/note', { requireIfMatch: true }, () => 'x'), { 'If-Match': '*' }],
  ['reads', (server) => server.map(null, '/note', { requireIfMatch: true }, () => 'x'), {}, 'GET'],
] as [string, (server: HttpServer) => unknown, Record<string, string>?, string?][])
  test(`a handler with requireIfMatch that ${what} is none`, async () => {
    const { tested, warnings } = await mistakeOf(map, method, headers ?? { 'If-Match': '"v1"' })
    assert.notEqual(tested.status, 500)
    assert.deepEqual(warnings, [])
  })
