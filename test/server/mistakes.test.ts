// Mistakes of a host program that no compiler has checked: each is told at once, with what was expected and what came.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { bytesOf } from '../../src/http/answer/byte-source.ts'
import { Controller, HttpError, HttpResponse, HttpServer, type HttpSession, Route, routes, saveTo } from '../../src/index.ts'
import { sse } from '../../src/modules/sse/index.ts'
import { chaos, connect } from '../../src/testing/index.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const quiet = { logger: null }
const form = new FormData()
form.set('a', new File(['x'], 'a.txt'))

/** What a call in a handler throws or rejects with; null when it does not. */
async function failureIn(call: (session: HttpSession) => unknown, sent: object): Promise<unknown> {
  let failure: unknown = null
  const server = new HttpServer(quiet).mapPost('/', async (_, session) => {
    try {
      await call(session)
    } catch (error) {
      failure = error
    }
    return ''
  })
  await server.inject({ method: 'POST', url: '/', ...sent })
  return failure
}

test('a misspelt attribute of a cookie is refused, and nothing is set', () => {
  const response = new HttpResponse()
  const message = /cookie\(\): there is no option "httponly": it is called "httpOnly"/
  assert.throws(() => response.cookie('a', 'b', { httponly: true } as never), { code: 'WEIR_OPTION_INVALID', message })
  assert.throws(() => response.deleteCookie('a', { paht: '/' } as never), { code: 'WEIR_OPTION_INVALID', message: /"paht"/ })
  assert.throws(() => response.cookie('a', 'b', 'Secure' as never), { code: 'WEIR_OPTION_INVALID', message: /not a string/ })
  assert.equal(response.getHeader('set-cookie'), null)
  const all = {
    ...{ maxAge: 1, expires: new Date(0), domain: 'h', path: '/', httpOnly: true, secure: true },
    ...({ partitioned: true, priority: 'low', sameSite: 'lax' } as const),
  }
  assert.match(response.cookie('a', 'b', all).getHeader('set-cookie')!, /HttpOnly/)
})

const misspelt: Readonly<Record<string, readonly [call: (session: HttpSession) => unknown, sent: object]>> = {
  file: [({ response }) => response.file('x', { etags: false } as never), {}],
  bodyMap: [({ request }) => request.bodyMap({ a: 1 }, { exclude: ['a'] } as never), { json: { a: 2 } }],
  'settings of bodyMap': [({ request }) => request.bodyMap({ a: 1 }, { settings: { maxdepth: 1 } as never }), { json: { a: 2 } }],
  bodyMapAnonymous: [({ request }) => request.bodyMapAnonymous({ a: 1 }, { includeProperties: [] } as never), { json: { a: 2 } }],
  bodyMultipart: [({ request }) => request.bodyMultipart({ maxFileSize: 1 } as never), { body: form }],
  bodyMultipartStream: [({ request }) => request.bodyMultipartStream({ onfile: () => {} } as never), { body: form }],
  'bodyMultipart, where the form was read before': [
    async ({ request }) => {
      await request.bodyMultipart()
      await request.bodyMultipart({ maxFileSize: 1 } as never)
    },
    { body: form },
  ],
  'bodyMultipartStream where no form came': [({ request }) => request.bodyMultipartStream({ onfile: () => {} } as never), {}],
  'bodyMultipartStream without callbacks': [({ request }) => request.bodyMultipartStream(undefined as never), { body: form }],
}
for (const [what, [call, sent]] of Object.entries(misspelt)) {
  test(`an option that does not exist is refused: ${what}`, async () => {
    assert.equal(((await failureIn(call, sent)) as { code?: string } | null)?.code, 'WEIR_OPTION_INVALID')
  })
}

test('options that exist are taken where those that do not are refused', async () => {
  const settings = { reviver: (_: string, value: unknown) => value, maxDepth: 9, zoneless: 'utc', unknownProperties: 'ignore', nullValues: 'set' } as const // biome-ignore format: one line
  const options = { jsonEngine: null, settings, includeProperties: null, excludeProperties: null }
  assert.equal(await failureIn(({ request }) => request.bodyMap({ a: 1 }, options), { json: { a: 2 } }), null)
  const limits = { maxParts: 9, maxFileBytes: 9, maxFieldBytes: 9 }
  assert.equal(await failureIn(({ request }) => request.bodyMultipart(limits), { body: form }), null)
  const callbacks = { onField: () => {}, onFile: () => {} }
  assert.equal(await failureIn(({ request }) => request.bodyMultipartStream({ ...limits, ...callbacks }), { body: form }), null)
})

const limitsThatAreNone: Readonly<Record<string, readonly [call: (session: HttpSession) => unknown, sent: object]>> = {
  bodyMultipart: [({ request }) => request.bodyMultipart({ maxParts: '1' as never }), { body: form }],
  'bodyMultipart where no form came': [({ request }) => request.bodyMultipart({ maxFieldBytes: '1' as never }), {}],
  bodyMultipartStream: [({ request }) => request.bodyMultipartStream({ maxFileBytes: '1' as never }), { body: form }],
  'bodyMultipartStream where no form came': [({ request }) => request.bodyMultipartStream({ maxFieldBytes: '1' as never }), {}],
}
for (const [what, [call, sent]] of Object.entries(limitsThatAreNone)) {
  test(`a limit that is none is refused: ${what}`, async () => {
    const failure = (await failureIn(call, sent)) as { code?: string; message?: string } | null
    assert.equal(failure?.code, 'WEIR_OPTION_INVALID')
    assert.match(failure!.message!, /max\w+ is the string "1", not a whole number/)
  })
}

const settings = (settings: object) => (session: HttpSession) => session.request.bodyMap({ a: 1 }, { settings })
const engine = (jsonEngine: unknown) => (session: HttpSession) => session.request.bodyMapAnonymous({ a: 1 }, { jsonEngine } as never)
const file = (options: object) => (session: HttpSession) => session.response.file('x', options)
const wrong: readonly (readonly [call: (session: HttpSession) => unknown, message: RegExp])[] = [
  [settings({ zoneless: 'x' }), /bodyMap\(\): settings: zoneless is the string "x", not "utc" or "local"/],
  [settings({ unknownProperties: true }), /unknownProperties is true, not "ignore" or "error"/],
  [settings({ nullValues: 'null' }), /nullValues is the string "null", not "set" or "ignore"/],
  [settings({ reviver: 'x' }), /reviver is the string "x", not a function/],
  [settings({ maxDepth: '5' }), /maxDepth is the string "5", not a whole number of at least 1/],
  [settings(0 as never), /settings: options must be an object, not a number/],
  [engine({}), /bodyMapAnonymous\(\): jsonEngine is an object without serialize\(\)/],
  [engine(5), /jsonEngine is a number without serialize\(\)/],
  [engine({ serialize: () => '', deserialize: () => 1, populate: 1 }), /jsonEngine is an object without populate\(\)/],
  [file({ download: 5 }), /file\(\): download is 5, not true, false or a name/],
  [file({ contentType: null }), /contentType is null, not a string/],
  [file({ cacheControl: 60 }), /cacheControl is 60, not a string/],
  [file({ etag: 'no' }), /etag is the string "no", not true or false/],
  [file({ lastModified: 0 }), /lastModified is 0/],
  [file({ acceptRanges: 'none' }), /acceptRanges is the string "none"/],
]
for (const [call, message] of wrong) {
  test(`a value that an option cannot have is refused: ${message.source}`, async () => {
    for (const sent of [{ json: { a: 2 } }, { body: new URLSearchParams({ a: '2' }) }]) {
      const failure = (await failureIn(call, sent)) as { code?: string; message: string } | null
      assert.equal(failure?.code, 'WEIR_OPTION_INVALID')
      assert.match(failure.message, message)
    }
  })
}

test('saveTo with a policy that cannot be saves nothing, and does not touch the disk', async (t) => {
  const folder = temporaryDirectory(t)
  for (const [policy, message] of [
    [{ hash: 'sha-512-of-old' }, /saveTo\(\): hash is the string "sha-512-of-old", which this system does not know/],
    [{ hash: 256 }, /hash is 256/],
    [{ magic: 'PNG' }, /magic is the string "PNG", not a list/],
    [{ magic: ['PNG'] }, /magic: the string "PNG" is no list of bytes/],
    [{ fileName: 5 }, /fileName is 5, not a string/],
    [{ sync: 'yes' }, /sync is the string "yes", not true or false/],
  ] as const) {
    const saving = saveTo(`${folder}/none`, { fileName: 'a.txt' }, Buffer.from('x'), policy as never)
    await assert.rejects(saving, { code: 'WEIR_OPTION_INVALID', message })
  }
})

test('a callback of bodyMultipartStream that is no function is refused', async () => {
  for (const name of ['onFile', 'onField']) {
    const failure = await failureIn(({ request }) => request.bodyMultipartStream({ [name]: {} }), { body: form })
    const { code, message } = failure as { code?: string; message: string }
    assert.equal(code, 'WEIR_OPTION_INVALID')
    assert.match(message, new RegExp(`bodyMultipartStream\\(\\): ${name} is an object, not a function`))
  }
})

test('saveTo with a size that is none saves nothing: it would be no limit', async (t) => {
  const folder = temporaryDirectory(t)
  for (const maxBytes of [Number.NaN, '10 MB', '5', -1, 1.5, null] as never[]) {
    const saving = saveTo(folder, { fileName: 'a.txt' }, Buffer.from('x'), { maxBytes })
    await assert.rejects(saving, { code: 'WEIR_OPTION_INVALID', message: /maxBytes is / }, String(maxBytes))
  }
  assert.deepEqual(readdirSync(folder), [])
  assert.equal((await saveTo(folder, { fileName: 'a.txt' }, Buffer.from('x'), { maxBytes: Number.POSITIVE_INFINITY })).size, 1)
})

test('an address that is none is refused: the system would take it for all of its addresses', () => {
  for (const address of ['', null, 5, false] as never[]) {
    const refused = { code: 'WEIR_OPTION_INVALID', message: /address is / }
    assert.throws(() => new HttpServer({ ...quiet, address }), refused, String(address))
    assert.throws(() => new HttpServer({ ...quiet, listen: [{ address }] }), refused, String(address))
  }
  assert.throws(() => new HttpServer('', 0, quiet), { code: 'WEIR_OPTION_INVALID' })
})

test('saveTo with an option that does not exist saves nothing', async (t) => {
  const folder = temporaryDirectory(t)
  const saving = saveTo(folder, { fileName: 'a.txt' }, Buffer.from('x'), { maxbytes: 1 } as never)
  await assert.rejects(saving, { code: 'WEIR_OPTION_INVALID', message: /"maxBytes"/ })
  assert.deepEqual(readdirSync(folder), [])
})

test('options of stop, run, connect and chaos that do not exist are refused', async () => {
  const server = new HttpServer(quiet)
  const refused = { code: 'WEIR_OPTION_INVALID' }
  await server.start()
  await assert.rejects(server.stop({ graceMS: 0 } as never), refused)
  assert.equal(server.isListening, true)
  await server.stop()
  await assert.rejects(server.run({ signal: ['SIGINT'] } as never), refused)
  assert.equal(server.isListening, false)
  assert.throws(() => connect(server, { cookie: true } as never), refused)
  await assert.rejects(chaos(server, { requests: ['/'], run: 1 } as never), refused)
})

test('a grace that is no time is refused, and the server goes on', async () => {
  const server = new HttpServer(quiet)
  await server.start()
  for (const graceMs of [Number.NaN, '5s', '5', -1, null] as never[]) {
    await assert.rejects(server.stop({ graceMs }), { code: 'WEIR_OPTION_INVALID', message: /graceMs is / }, String(graceMs))
    await assert.rejects(server.run({ graceMs }), { code: 'WEIR_OPTION_INVALID', message: /graceMs is / }, String(graceMs))
  }
  assert.equal(server.isListening, true)
  await server.stop()
})

test('signals that nobody can listen to are refused before the server starts', async () => {
  const server = new HttpServer(quiet)
  for (const [signals, message] of [
    [['SIGTERM', 'SIGKILL'], /nobody can listen to SIGKILL/],
    [['SIGSTOP'], /nobody can listen to SIGSTOP/],
    [['SIGFOO'], /"SIGFOO" is no signal/],
    [[2], /2 is no signal/],
    ['SIGINT', /"SIGINT", not a list/],
  ] as const) {
    const before = process.listenerCount('SIGTERM')
    await assert.rejects(server.run({ signals: signals as never }), { code: 'WEIR_OPTION_INVALID', message })
    assert.deepEqual([server.isListening, process.listenerCount('SIGTERM')], [false, before])
  }
})

test('a method in the wrong case is refused, with the right one', async () => {
  class Decorated extends Controller {
    @Route('get', '/')
    show(): string {
      return ''
    }
  }
  class Tabled extends Controller {
    static routes = routes(this, { show: ['Post', '/'] })
    show(): string {
      return ''
    }
  }
  const server = new HttpServer(quiet)
  const refused = (spelling: string): object => ({
    code: 'WEIR_ROUTE_DECLARATION',
    message: new RegExp(`case-sensitive, write "${spelling}"`),
  })
  assert.throws(() => server.map('get', '/', () => ''), refused('GET'))
  assert.throws(() => server.map('oPTIONS', '/', () => ''), refused('OPTIONS'))
  assert.throws(() => server.mapController(Decorated), refused('GET'))
  assert.throws(() => server.mapController(Tabled), refused('POST'))
  assert.throws(() => server.map(undefined as never, '/', () => ''), { code: 'WEIR_ROUTE_DECLARATION', message: /undefined is no method/ })
  assert.deepEqual(server.routes, [])
  // A method of one's own may be spelt as it likes, and is matched by its case.
  server.map('purge', '/', () => 'purged')
  assert.equal((await server.inject({ method: 'purge', url: '/' })).text(), 'purged')
  assert.equal((await server.inject({ method: 'PURGE', url: '/' })).status, 405)
})

class Plain extends Controller {
  static routes = { show: ['GET', '/'] }
  show(): string {
    return ''
  }
}
class Routed extends Controller {
  @Route('GET', '/')
  show(): string {
    return ''
  }
}
class NoController {}

const server = new HttpServer(quiet)
const told: Readonly<Record<string, readonly [call: () => unknown, code: string, message: RegExp]>> = {
  'a pattern as path': [
    () => server.mapGet(/users/ as never, () => ''),
    'WEIR_ROUTE_TEMPLATE',
    /a path is a string such as \/users\/:id, not a RegExp/,
  ],
  'a handler as path': [() => server.mapGet((() => '') as never, undefined as never), 'WEIR_ROUTE_TEMPLATE', /not a function/],
  'a handler in place of the declaration': [
    () => server.mapGet('/', (() => '') as never, () => ''),
    'WEIR_ROUTE_DECLARATION',
    /the declaration of \/ is an object, not a function/,
  ],
  'options as prefix': [() => server.mapController(Routed, {} as never), 'WEIR_ROUTE_TEMPLATE', /a path is a string .*, not an object/],
  'a table that routes() has not made': [
    () => server.mapController(Plain),
    'WEIR_ROUTE_DECLARATION',
    /Plain has no routes: its "static routes" was not made by routes\(this/,
  ],
  'an instance of a controller': [
    () => server.mapController(new Plain() as never),
    'WEIR_ROUTE_DECLARATION',
    /extends Controller is mapped, not a Plain$/,
  ],
  'an instance among controllers': [() => server.mapControllers([new Plain() as never]), 'WEIR_ROUTE_DECLARATION', /not a Plain$/],
  'an instance as base of controllers': [() => server.mapControllers(new Plain() as never), 'WEIR_ROUTE_DECLARATION', /not a Plain$/],
  'a class that is no controller': [
    () => server.mapController(NoController as never),
    'WEIR_ROUTE_DECLARATION',
    /NoController, which does not extend Controller/,
  ],
  'a function as module': [
    () => server.useModule((() => {}) as never),
    'WEIR_OPTION_INVALID',
    /a name and install\(host\), not a function: call it/,
  ],
  'a module without install': [() => server.useModule({ name: 'x' } as never), 'WEIR_OPTION_INVALID', /install\(host\), not an object/],
  'no module': [() => server.useModule(undefined as never), 'WEIR_OPTION_INVALID', /not undefined/],
  'a status that is a string': [() => new HttpResponse().status('404' as never), 'WEIR_RESPONSE_STATUS', /the string "404"/],
  'a redirect to an object': [
    () => new HttpResponse().redirect(new URL('http://h/') as never),
    'WEIR_RESPONSE_HEADER_SYNTAX',
    /"Location" is a URL$/,
  ],
  'a URL as path of a file': [
    () => new HttpResponse().file(new URL('file:///x') as never),
    'WEIR_RESULT_UNSENDABLE',
    /a URL is not a path$/,
  ],
  'a number as text': [() => new HttpResponse().text(5 as never), 'WEIR_RESULT_UNSENDABLE', /a number is not text$/],
  'no bytes': [() => new HttpResponse().body(null as never), 'WEIR_RESULT_UNSENDABLE', /: null is not bytes$/],
  'a list as stream': [() => new HttpResponse().stream([] as never), 'WEIR_RESULT_UNSENDABLE', /an array is not a stream$/],
  'a stream that gives a list': [() => bytesOf([1]), 'WEIR_RESULT_UNSENDABLE', /a stream gave an array, not bytes or text$/],
  'a field without a value': [() => new HttpResponse().header('x', undefined as never), 'WEIR_RESPONSE_HEADER_SYNTAX', /"x" is undefined$/],
  'a field with a list': [() => new HttpResponse().header('x', ['a'] as never), 'WEIR_RESPONSE_HEADER_SYNTAX', /"x" is an array$/],
  'a function as JSON': [() => new HttpResponse().json(() => 1), 'WEIR_RESULT_UNSENDABLE', /a function has no JSON form$/],
  'a server whose address is undefined': [
    () => new HttpServer(undefined as never, 2015),
    'WEIR_OPTION_INVALID',
    /new HttpServer\(address, port, options\): address is undefined, not a text$/,
  ],
  'a server with limits whose address is undefined': [
    () => new HttpServer(undefined as never, undefined as never, { limits: { maxConnections: 5 } }),
    'WEIR_OPTION_INVALID',
    /address is undefined, not a text$/,
  ],
  'a port behind options': [() => new HttpServer({ address: '::1' } as never, 2015), 'WEIR_OPTION_INVALID', /address is an object/],
  'a server without options': [() => new HttpServer(null as never), 'WEIR_OPTION_INVALID', /not null$/],
  'a port that is no number': [() => new HttpServer({ port: Number.NaN }), 'WEIR_OPTION_INVALID', /port is NaN, not a whole number/],
  'a port that is a bigint': [() => new HttpServer({ port: 1n as never }), 'WEIR_OPTION_INVALID', /port is a bigint/],
  'a place that is a bigint': [() => new HttpServer({ listen: [1n as never] }), 'WEIR_OPTION_INVALID', /"listen" is a bigint/],
  'HTTP/2 that is neither on nor off': [
    () => new HttpServer({ http2: 'yes' as never }),
    'WEIR_OPTION_INVALID',
    /http2 is the string "yes", not true or false/,
  ],
  'no limits': [() => new HttpServer({ limits: null as never }), 'WEIR_OPTION_INVALID', /limits: options must be an object, not null/],
  'times that are a number': [() => new HttpServer({ timeouts: 5 as never }), 'WEIR_OPTION_INVALID', /timeouts: .* not a number/],
  'a limit in the wrong case': [
    () => new HttpServer({ limits: { maxrequestheaders: 5 } as never }),
    'WEIR_OPTION_INVALID',
    /"maxrequestheaders": it is called "maxRequestHeaders"/,
  ],
  'a limit that is text': [
    () => new HttpServer({ limits: { maxRequestBodySize: '5' as never } }),
    'WEIR_OPTION_INVALID',
    /limits: maxRequestBodySize is the string "5", not a whole number of at least 0, or null/,
  ],
  'a limit of nothing': [
    () => new HttpServer({ limits: { maxRequestHeaders: 0 } }),
    'WEIR_OPTION_INVALID',
    /maxRequestHeaders is 0, not a whole number of at least 1$/,
  ],
  'a middleware that is null': [() => server.use(null as never), 'WEIR_OPTION_INVALID', /use\(\) takes a function, not null/],
  'a hook that is a list': [() => server.beforeSend([] as never), 'WEIR_OPTION_INVALID', /takes a function, not an array/],
  'a host that is a number': [
    () => server.mapGet('/', { host: 5 as never }, () => ''),
    'WEIR_ROUTE_DECLARATION',
    /option "host" of \/ is 5, not a name/,
  ],
  'a host that is null': [() => server.mapGet('/', { host: null as never }, () => ''), 'WEIR_ROUTE_DECLARATION', /is null, not a name/],
  'classes to leave out, misspelt': [
    () => server.mapControllers(Routed, '', { excludes: [Routed] } as never),
    'WEIR_OPTION_INVALID',
    /there is no option "excludes"/,
  ],
  'a class to leave out, and no list': [
    () => server.mapControllers(Routed, '', { exclude: Routed as never }),
    'WEIR_OPTION_INVALID',
    /exclude is a function, not a list/,
  ],
  'an instance in place of a factory': [
    () => server.mapController(Routed, '', { create: new Routed() as never }),
    'WEIR_OPTION_INVALID',
    /create is a Routed, not a function/,
  ],
  'metadata that is a list': [
    () => server.mapGet('/', { metadata: ['admin'] }, () => ''),
    'WEIR_ROUTE_DECLARATION',
    /option "metadata" of \/ is an array, not an object/,
  ],
  'a body mode that there is not': [
    () => server.mapPost('/', { body: 'streaming' as never }, () => ''),
    'WEIR_ROUTE_DECLARATION',
    /option "body" of \/ is the string "streaming", not "buffer" or "stream"/,
  ],
  'chaos without requests': [() => chaos(server, {} as never), 'WEIR_OPTION_INVALID', /requests is undefined, not a list/],
  'chaos without options': [() => chaos(server, undefined as never), 'WEIR_OPTION_INVALID', /options must be an object, not undefined/],
  'chaos with a request that is none': [() => chaos(server, { requests: [null as never] }), 'WEIR_OPTION_INVALID', /not null/],
  'inject without a request': [
    () => server.inject(undefined as never),
    'WEIR_OPTION_INVALID',
    /a request is a URL or an object with one, .* not undefined/,
  ],
  'inject with a function as JSON': [
    () => server.inject({ url: '/', json: () => 1 }),
    'WEIR_OPTION_INVALID',
    /a test cannot send a function as json: it has no JSON form/,
  ],
  'inject with JSON that holds a bigint': [
    () => server.inject({ url: '/', json: { a: 1n } }),
    'WEIR_OPTION_INVALID',
    /a test cannot send an object as json: .*BigInt/,
  ],
  'inject with an object as body': [
    () => server.inject({ url: '/', body: null as never }),
    'WEIR_OPTION_INVALID',
    /a test cannot send null as body; an object goes into json/,
  ],
  'inject with a member that no request has': [
    () => server.inject({ url: '/', Headers: {} } as never),
    'WEIR_OPTION_INVALID',
    /request: there is no option "Headers": it is called "headers"/,
  ],
  'inject with a text as headers': [
    () => server.inject({ url: '/', headers: 'A: 1' as never }),
    'WEIR_OPTION_INVALID',
    /a test cannot send the string "A: 1" as headers/,
  ],
  'inject with half a pair as a header': [
    () => server.inject({ url: '/', headers: [['A']] as never }),
    'WEIR_OPTION_INVALID',
    /a test cannot send an array as a pair of name and value/,
  ],
  'inject with a header of nothing': [
    () => server.inject({ url: '/', headers: { A: undefined as never } }),
    'WEIR_OPTION_INVALID',
    /a test cannot send field "A" with undefined as its value/,
  ],
  'a request of a client with a member that no request has': [
    () => connect(server).get('/', { header: {} } as never),
    'WEIR_OPTION_INVALID',
    /request: there is no option "header"/,
  ],
  'a request of chaos with a member that no request has': [
    () => chaos(server, { requests: [{ url: '/', endles: true } as never] }),
    'WEIR_OPTION_INVALID',
    /request: there is no option "endles"/,
  ],
  'a request of a client that is none': [() => connect(server).request(undefined as never), 'WEIR_OPTION_INVALID', /not undefined/],
}
for (const [what, [call, code, message]] of Object.entries(told)) {
  test(`told with what was expected and what came: ${what}`, async () => {
    await assert.rejects(async () => call(), { code, message })
    assert.deepEqual(server.routes, [])
  })
}

test('told with what was expected and what came: a list as source of events', async () => {
  for (const source of [['a'], 'a', undefined, {}] as never[]) {
    const failure = (await failureIn((session) => sse(session, source), {})) as { code?: string; message?: string } | null
    assert.equal(failure?.code, 'WEIR_OPTION_INVALID')
    assert.match(
      failure!.message!,
      /a channel, an async iterable or a function that returns one, not (?:an array|a string|undefined|an object)/,
    )
  }
})

test('an HttpError whose status is a string says that it is one', () => {
  assert.throws(() => new HttpError('404' as never, 'x'), /the string "404" is not a status/)
})
