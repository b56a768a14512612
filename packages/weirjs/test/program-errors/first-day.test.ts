// Mistakes of a first day, many of them habits from other servers: each message says what to write, or names what does not fit.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Controller, HttpError, HttpResponse, HttpServer, type HttpSession, t } from '../../src/index.ts'
import { auth, basic } from '../../src/modules/auth/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { cors } from '../../src/modules/cors/index.ts'
import { rateLimit } from '../../src/modules/limits/index.ts'
import { memorySessions, sessions } from '../../src/modules/sessions/index.ts'
import { sse } from '../../src/modules/sse/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'

const Note = t.object({ title: t.string })
const handler = () => 'x'
const server = () => new HttpServer({ logger: null })
const wrong = (value: unknown): never => value as never

describe('when the program starts', () => {
  const mistakes: Readonly<Record<string, readonly [attempt: () => unknown, message: RegExp]>> = {
    'no handler': [() => server().mapGet('/a', wrong(undefined)), /GET \/a has no handler: the last argument is undefined, not a function/],
    'text in place of a handler': [() => server().mapGet('/a', wrong('hello')), /the last argument is a string, not a function/],
    'a path without a slash': [() => server().mapGet('users', handler), /"users": it does not begin with a slash/],
    'a path with a query': [() => server().mapGet('/a?x=1', handler), /"a\?x=1" has a query: declare its parameters, as in /],
    'a whole URL as path': [() => server().mapGet('http://localhost/a', handler), /does not begin with a slash/],
    'an asterisk as path': [() => server().mapGet('*', handler), /does not begin with a slash/],
    'several paths': [() => server().mapGet(wrong(['/a', '/b']), handler), /a path is a string such as \/users\/:id, not an array/],
    'a method in lower case': [() => server().map('get', '/a', handler), /methods are case-sensitive, write "GET"/],
    'map without a method': [
      () => server().map(wrong('/a'), wrong(handler), wrong(undefined)),
      /"\/a" is a path, not a method: write map\(method, path, handler\)/,
    ],
    'two equal routes': [
      () => server().mapGet('/a', handler).mapGet('/a', handler),
      /\/a \(inline\) at .*first-day.* and GET \/a \(inline\) at/,
    ],
    'use with a path': [
      () => server().use(wrong('/api')),
      /not a string: for a path, write const group = server\.group\("\/api"\)\.use\(…\), and map its routes on group$/,
    ],
    'use with a list': [() => server().use(wrong([handler])), /not an array: call it for each of them/],
    'use with a promise': [() => server().use(wrong(Promise.resolve(cors()))), /not a promise: await it/],
    'use with a group': [
      () => {
        const one = server()
        one.use(wrong(one.group('/a')))
      },
      /a group or a server is no policy: routes of a group are answered without it/,
    ],
    'code for Express': [
      () => server().use(wrong((_a: unknown, _b: unknown, _c: unknown) => {})),
      /mount code for Express with mountNode\(\)/,
    ],
    'a group with a callback': [() => server().group('/a', wrong(handler)), /map routes on the group that group\(\) returns/],
    'a body and a parameter with one name': [
      () => server().mapPost('/:body', { body: Note }, handler),
      /a parameter of its path is called "body"/,
    ],
    'a body for GET': [() => server().mapGet('/a', { body: wrong(Note) }, handler), /GET has none\. Use QUERY \(mapQuery\) or POST/],
    'a body of plain values': [
      () => server().mapPost('/a', { body: wrong({ title: 'string' }) }, handler),
      /is an object, not a schema such as t\.object\(\{ … \}\), a body such as json\(schema\)/,
    ],
    'a constructor as schema': [
      () => server().mapGet('/:id', wrong({ id: Number }), handler),
      /"id" of \/:id is Number, not a schema: write t\.number$/,
    ],
    'a schema that does not exist': [
      () => server().mapGet('/:id', { id: wrong(undefined) }, handler),
      /"id" of \/:id is undefined, not a schema/,
    ],
    'an option of another server': [() => server().mapGet('/a', wrong({ preHandler: [] }), handler), /it is called "use"/],
    'headers in one object': [() => server().mapGet('/a', wrong({ headers: {} }), handler), /declare each parameter by its own name/],
    'a plain object within a schema': [
      () => t.object({ a: wrong({ b: t.string }) }),
      /an object is not a schema: write one with t, such as t\.string/,
    ],
    'a list of nothing': [() => t.array(wrong(undefined)), /undefined is not a schema: write one with t/],
    'choices as a list': [() => t.enum(wrong(['a', 'b'])), /the members are arguments, not a list: t\.enum\('a', 'b'\)/],
    'a port alone': [() => new HttpServer(wrong(3000)), /not a number: write \{ port: 3000 \}/],
    'a port as text': [() => new HttpServer({ port: wrong('3000') }), /port is the string "3000", not a whole number from 0 to 65535/],
    'a host to listen on': [() => new HttpServer(wrong({ host: '0.0.0.0' })), /"host": it is called "address"/],
    'https as an option': [() => new HttpServer(wrong({ https: {} })), /"https": it is called "tls"/],
    'a trusted proxy': [() => new HttpServer(wrong({ trustProxy: true })), /"trustProxy": it is called "proxies"/],
    'a limit beside the limits': [() => new HttpServer(wrong({ maxConnections: 5 })), /write \{ limits: \{ maxConnections \} \}/],
    'a time in other words': [() => new HttpServer({ timeouts: { requestTimeout: wrong('5 parsecs') } }), /a time such as "30s"/],
    'a certificate without its key': [() => new HttpServer({ tls: wrong({ cert: 'x' }) }), /set "key" and "cert", or "pfx"/],
    'a class that is no controller': [
      () => server().mapController(wrong(class A {})),
      /only a class that extends Controller can be mapped, not A/,
    ],
    'an instance of a controller': [
      () => server().mapController(wrong(new (class A extends Controller {})())),
      /only a class that extends Controller .* not an A/,
    ],
    'one origin for cors': [() => cors(wrong({ origin: '*' })), /"origin", perhaps "origins"/],
    'an origin with a slash': [() => cors({ origins: ['https://a.com/'] }), /without a slash at the end/],
    'a window in milliseconds': [
      () => rateLimit(wrong({ windowMs: 60_000, max: 5 })),
      /"windowMs", perhaps "window"; the options are name, quota/,
    ],
    'a secret for sessions': [() => sessions(wrong({ secret: 'x' })), /there is no option "secret"; the options are store/],
    'users as a list': [() => basic({ users: wrong([['ada', 'x']]) }), /users is an array, not a table from names to hashes/],
    'auth without schemes': [() => auth(wrong({})), /schemes is undefined, not a list/],
    'sessions as a scheme': [
      () => auth({ schemes: [wrong(sessions({ store: memorySessions() }))] }),
      /not a scheme: write users\.scheme\(\)$/,
    ],
    'use with a scheme': [() => server().use(wrong(basic({ users: {} }))), /not a scheme: write auth\(\{ schemes: \[scheme\] \}\)$/],
    'a folder as text': [() => staticFiles(wrong('./public')), /options must be an object, not a string/],
    'a level of compression': [() => compression(wrong({ level: 9 })), /"level", perhaps "levels"/],
    'a callback of a WebSocket': [() => websocket('/chat', wrong({ onMessage() {} })), /"onMessage", perhaps "message"/],
    'compression of a WebSocket': [
      () => websocket('/chat', wrong({ compression: true })),
      /"compression": it is called "perMessageDeflate"$/,
    ],
    'the longest payload of a WebSocket': [
      () => websocket('/chat', wrong({ maxPayload: 5 })),
      /"maxPayload": it is called "maxMessageSize"$/,
    ],
    'a limit of requests': [() => rateLimit(wrong({ max: 5 })), /"max": it is called "quota"$/],
    'a host of an endpoint': [() => new HttpServer({ listen: [wrong({ host: '::' })] }), /"host": it is called "address"$/],
    'a port that no parent would use': [
      () => new HttpServer(wrong({ listen: 'inherited', port: 80 })),
      /"port" has no effect with listen: "inherited": leave it out$/,
    ],
    'a port beside the list': [() => new HttpServer(wrong({ listen: [{}], port: 80 })), /write listen: \[\{ port: … \}\]$/],
    'two kinds of endpoint': [() => new HttpServer({ listen: [wrong({ fd: 4, port: 80 })] }), /with "port": leave one out$/],
    'a line end in a field': [() => new HttpResponse().header('X-A', 'a\nb'), /the value of "X-A" has a character .* such as a line end/],
    'a space in the name of a field': [() => new HttpResponse().header('X A', 'a'), /"X A" is not the name of a field, such as "X-Total"/],
    'a field of an error that is no text': [
      () => new HttpError(500, '', { headers: { 'X-A': wrong(5) } }),
      /"X-A" is a number, not a string/,
    ],
    'a field of the connection': [() => new HttpResponse().header('Transfer-Encoding', 'chunked'), /set by the server: leave it out/],
    'a WebSocket without a path': [
      () => websocket(wrong({ message() {} }), wrong(undefined)),
      /the first argument is a path, such as \/chat/,
    ],
    'a negative time': [() => cache({ maxAge: -1 }), /maxAge is -1, not whole milliseconds or a time such as "30s"/],
    'an error with a good status': [() => new HttpError(200, 'x'), /200 is not a status from 400 to 599/],
    'an error with its message first': [() => new HttpError(wrong('not found'), wrong(404)), /the string "not found" is not a status/],
    'a status as text': [() => new HttpResponse().status(wrong('404')), /a whole number from 200 to 599: the string "404"/],
  }
  for (const [what, [attempt, message]] of Object.entries(mistakes)) test(what, () => assert.throws(attempt, message))
})

describe('when a request comes', () => {
  const mistakes: Readonly<Record<string, readonly [answer: (session: HttpSession) => unknown, logged: RegExp]>> = {
    'a Map': [() => new Map() as object, /a Map has no JSON form/],
    'a Map inside': [() => ({ tags: new Map() }), /\/tags is a Map: send Object\.fromEntries\(map\)/],
    'a promise inside': [() => ({ user: Promise.resolve(1) }), /\/user is a promise: await it/],
    'an Error that is returned': [() => new Error('x'), /an Error was returned: throw it$/],
    'a function': [
      () => () => 1,
      /this value cannot be sent: a function was returned for GET \/a \(inline\) at .*: return a string, an object or a response/,
    ],
    'a bigint inside': [() => ({ id: 1n }), /BigInt: send String\(value\)/],
    'a circle': [
      () => {
        const value: Record<string, unknown> = {}
        value['self'] = value
        return value
      },
      /circular structure/,
    ],
    'events without the session': [
      ({ response }) => sse(wrong(response), wrong(handler)),
      /the first argument must be the session, not an HttpResponse/,
    ],
    nothing: [() => {}, /GET \/a \(inline\) at .*first-day.* returned nothing: return a value/],
  }
  for (const [what, [answer, logged]] of Object.entries(mistakes))
    test(what, async () => {
      const lines: string[] = []
      const logger = { error: (text: string, error: unknown) => lines.push(`${text} ${error}`), warn: (text: string) => lines.push(text) }
      const one = new HttpServer({ logger, debug: true })
      one.mapGet('/a', (_, session) => answer(session))
      await one.inject('/a')
      assert.match(lines.join('\n'), logged)
    })

  test('a parameter in braces', () => {
    const lines: string[] = []
    new HttpServer({ logger: { error() {}, warn: (text) => lines.push(text) } }).mapGet('/users/{id}', handler)
    assert.match(lines.join(), /"\{id\}" .* is literal text: write ":id" for a parameter/)
  })

  test('a middleware that forgets next, and one that calls it twice', async () => {
    const lines: string[] = []
    const logger = { error: (_: string, error: unknown) => lines.push(String(error)), warn: (text: string) => lines.push(text) }
    await new HttpServer({ logger, debug: true }).use(() => {}).inject('/')
    await new HttpServer({ logger, debug: true }).use((_, next) => [next(), next()]).inject('/')
    assert.match(lines[0]!, /neither called next\(\) nor answered/)
    assert.match(lines.join('\n'), /called next\(\) twice/)
  })
})
