// Arguments of the wrong type, from plain JavaScript: the error states what was expected and what was passed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chaos } from '../../../dev/src/index.ts'
import { bytesOf } from '../../src/http/response/byte-source.ts'
import { Controller, fields, HttpError, HttpResponse, HttpServer, Route, saveTo } from '../../src/index.ts'
import { ResumableStreams, sse } from '../../src/modules/sse/index.ts'
import { connect } from '../../src/testing/index.ts'
import { failureIn } from '../support/failure-in.ts'

const quiet = { logger: null }

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
  'a regular expression as path': [
    () => server.mapGet(/users/ as never, () => ''),
    'WEIR_ROUTE_TEMPLATE',
    /a path is a string such as \/users\/:id, not a RegExp/,
  ],
  'a handler as path': [() => server.mapGet((() => '') as never, undefined as never), 'WEIR_ROUTE_TEMPLATE', /not a function/],
  'a handler in place of the declaration': [
    () => server.mapGet('/', (() => '') as never, () => ''),
    'WEIR_ROUTE_DECLARATION',
    /the declaration of \/ must be an object, not a function: the handler is the last argument/,
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
    /extends Controller can be mapped, not a Plain$/,
  ],
  'an instance among controllers': [() => server.mapControllers([new Plain() as never]), 'WEIR_ROUTE_DECLARATION', /not a Plain$/],
  'an instance as base of controllers': [() => server.mapControllers(new Plain() as never), 'WEIR_ROUTE_DECLARATION', /not a Plain$/],
  'a class that is not a controller': [
    () => server.mapController(NoController as never),
    'WEIR_ROUTE_DECLARATION',
    /NoController, which does not extend Controller/,
  ],
  'a function as module': [
    () => server.useModule((() => {}) as never),
    'WEIR_OPTION_INVALID',
    /a name and install\(host\), not a function$/,
  ],
  'a module without install': [() => server.useModule({ name: 'x' } as never), 'WEIR_OPTION_INVALID', /install\(host\), not an object/],
  'no module': [() => server.useModule(undefined as never), 'WEIR_OPTION_INVALID', /not undefined/],
  'a status that is a string': [() => new HttpResponse().status('404' as never), 'WEIR_RESPONSE_STATUS', /the string "404"/],
  'a redirect to an object': [
    () => new HttpResponse().redirect(new URL('http://h/') as never),
    'WEIR_RESPONSE_HEADER_SYNTAX',
    /"Location" is a URL, not a string or a number$/,
  ],
  'a URL as path of a file': [
    () => new HttpResponse().file(new URL('file:///x') as never),
    'WEIR_RESULT_UNSENDABLE',
    /a URL is not a path$/,
  ],
  'a number as text': [() => new HttpResponse().text(5 as never), 'WEIR_RESULT_UNSENDABLE', /a number is not text$/],
  'null as bytes': [
    () => new HttpResponse().body(null as never),
    'WEIR_RESULT_UNSENDABLE',
    /: null is not bytes: for text, write response\.text\(…\)$/,
  ],
  'a list as stream': [() => new HttpResponse().stream([] as never), 'WEIR_RESULT_UNSENDABLE', /an array is not a stream$/],
  'a stream that yields a list': [() => bytesOf([1]), 'WEIR_RESULT_UNSENDABLE', /a stream yielded an array, not bytes or text$/],
  'a field without a value': [
    () => new HttpResponse().header('x', undefined as never),
    'WEIR_RESPONSE_HEADER_SYNTAX',
    /"x" is undefined, not a string or a number$/,
  ],
  'a field with a list': [
    () => new HttpResponse().header('x', ['a'] as never),
    'WEIR_RESPONSE_HEADER_SYNTAX',
    /"x" is an array, not a string or a number$/,
  ],
  'a function as JSON': [
    () => new HttpResponse().json(() => 1),
    'WEIR_RESULT_UNSENDABLE',
    /a function has no JSON form: send a string or an object made from it$/,
  ],
  'a server whose address is undefined': [
    () => new HttpServer(undefined as never, 2015),
    'WEIR_OPTION_INVALID',
    /new HttpServer\(address, port, options\): address is undefined, not a string$/,
  ],
  'a server with limits whose address is undefined': [
    () => new HttpServer(undefined as never, undefined as never, { limits: { maxConnections: 5 } }),
    'WEIR_OPTION_INVALID',
    /address is undefined, not a string$/,
  ],
  'a port after options': [() => new HttpServer({ address: '::1' } as never, 2015), 'WEIR_OPTION_INVALID', /address is an object/],
  'a server without options': [() => new HttpServer(null as never), 'WEIR_OPTION_INVALID', /not null$/],
  'a port that is not a number': [() => new HttpServer({ port: Number.NaN }), 'WEIR_OPTION_INVALID', /port is NaN, not a whole number/],
  'a port that is a bigint': [() => new HttpServer({ port: 1n as never }), 'WEIR_OPTION_INVALID', /port is a bigint/],
  'a list of endpoints with a bigint': [() => new HttpServer({ listen: [1n as never] }), 'WEIR_OPTION_INVALID', /"listen" is a bigint/],
  'http2 that is neither true nor false': [
    () => new HttpServer({ http2: 'yes' as never }),
    'WEIR_OPTION_INVALID',
    /http2 is the string "yes", not true, false or "cleartext"/,
  ],
  'limits that are null': [
    () => new HttpServer({ limits: null as never }),
    'WEIR_OPTION_INVALID',
    /limits: options must be an object, not null/,
  ],
  'times that are a number': [() => new HttpServer({ timeouts: 5 as never }), 'WEIR_OPTION_INVALID', /timeouts: .* not a number/],
  'a limit in the wrong case': [
    () => new HttpServer({ limits: { maxrequestheaders: 5 } as never }),
    'WEIR_OPTION_INVALID',
    /"maxrequestheaders": it is called "maxRequestHeaders"/,
  ],
  'a limit that is text': [
    () => new HttpServer({ limits: { maxRequestBodySize: '5' as never } }),
    'WEIR_OPTION_INVALID',
    /limits: maxRequestBodySize is the string "5", not a whole number of at least 0 or a size such as "64KiB" or "10MiB", or null/,
  ],
  'a limit of nothing': [
    () => new HttpServer({ limits: { maxRequestHeaders: 0 } }),
    'WEIR_OPTION_INVALID',
    /maxRequestHeaders is 0, not a whole number of at least 1$/,
  ],
  'a middleware that is null': [
    () => server.use(null as never),
    'WEIR_OPTION_INVALID',
    /use\(\): a middleware function or a policy is needed, not null$/,
  ],
  'a port that is text': [
    () => new HttpServer().listen('3000' as never),
    'WEIR_OPTION_INVALID',
    /port is the string "3000", not a whole number from 0 to 65535: write Number\(…\)$/,
  ],
  'a callback of listen': [
    () => new HttpServer().listen(0, (() => {}) as never),
    'WEIR_OPTION_INVALID',
    /listen\(\): it takes no callback: write await server\.listen\(port\)$/,
  ],
  'a callback of close': [
    () => new HttpServer().close((() => {}) as never),
    'WEIR_OPTION_INVALID',
    /close\(\): options must be an object, not a function: write \{ \w+: … \}$/,
  ],
  'a limit outside of limits': [
    () => new HttpServer({ maxRequestBodySize: 1 } as never),
    'WEIR_OPTION_INVALID',
    /maxRequestBodySize is one of the limits: write { limits: { maxRequestBodySize } }/,
  ],
  'a name in place of the info of a file': [
    () => saveTo('.', 'a.txt' as never, Buffer.from('a')),
    'WEIR_OPTION_INVALID',
    /saveTo\(\): info is an object with a fileName, not a string/,
  ],
  'a file of the Web in place of the info of a file': [
    () => saveTo('.', new File(['a'], 'a.txt') as never, Buffer.from('a')),
    'WEIR_OPTION_INVALID',
    /saveTo\(\): info\.fileName is undefined, not a string or null/,
  ],
  'a request in place of the session': [
    () => sse({} as never, async function* () {}),
    'WEIR_OPTION_INVALID',
    /sse: the first argument must be the session, not an object/,
  ],
  'a path as method': [
    () => server.map('/x', '/y', () => ''),
    'WEIR_ROUTE_DECLARATION',
    /the string "\/x" is a path, not a method: write map\(method, path, handler\)/,
  ],
  'a constructor as schema of a field': [
    () => fields(NoController, { id: Number } as never),
    'WEIR_OPTION_INVALID',
    /fields\(\): "id" is a function, not a schema such as t\.string/,
  ],
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
  'an unknown body mode': [
    () => server.mapPost('/', { body: 'streaming' as never }, () => ''),
    'WEIR_ROUTE_DECLARATION',
    /option "body" of \/ is the string "streaming", not a schema such as .*, "buffer" or "stream"/,
  ],
  'chaos without requests': [() => chaos(server, {} as never), 'WEIR_OPTION_INVALID', /requests is undefined, not a list/],
  'chaos without options': [() => chaos(server, undefined as never), 'WEIR_OPTION_INVALID', /options must be an object, not undefined/],
  'chaos with an invalid request': [() => chaos(server, { requests: [null as never] }), 'WEIR_OPTION_INVALID', /not null/],
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
  'inject with JSON that contains a bigint': [
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
  'inject with a string as headers': [
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
  'an invalid request of a client': [() => connect(server).request(undefined as never), 'WEIR_OPTION_INVALID', /not undefined/],
}
for (const [what, [call, code, message]] of Object.entries(told)) {
  test(`the error states what was expected and what was passed: ${what}`, async () => {
    await assert.rejects(async () => call(), { code, message })
    assert.deepEqual(server.routes, [])
  })
}

test('the error states what was expected and what was passed: a list as source of events', async () => {
  for (const source of [['a'], 'a', undefined, {}] as never[]) {
    const failure = (await failureIn((session) => sse(session, source), {})) as { code?: string; message?: string } | null
    assert.equal(failure?.code, 'WEIR_OPTION_INVALID')
    assert.match(
      failure!.message!,
      /a channel, an async iterable or a function that returns one, not (?:an array|a string|undefined|an object)/,
    )
  }
})

test('the error states what was expected and what was passed: a function that makes no events', async () => {
  async function* events() {
    yield 'never'
  }
  const refusal = /the function must return an async iterable, not (?:a Promise|undefined|an array): write async function\*$/
  for (const make of [async () => events(), () => {}, () => ['a']] as never[]) {
    const errors: unknown[] = []
    const streams = new ResumableStreams({ onError: (error) => errors.push(error) })
    const failing = new HttpServer({ logger: { error: (_, error) => void errors.push(error) } })
    failing.mapGet('/direct', (_, session) => sse(session, make))
    failing.mapGet('/resumable', (_, session) => sse(session, streams.resumable('key', make)))
    assert.equal((await failing.inject('/direct')).status, 500)
    assert.match((await failing.inject('/resumable')).text(), /"reason":"failed"/)
    assert.equal(errors.length, 2)
    for (const error of errors) assert.match((error as Error).message, refusal)
  }
})

test('an HttpError whose status is a string states that it is one', () => {
  assert.throws(() => new HttpError('404' as never, 'x'), /the string "404" is not a status/)
})
