// weirjs/lambda, with events in the form that AWS documents.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { type LambdaEvent, type LambdaResult, lambda, lambdaStream } from '../../src/modules/lambda/index.ts'
import { sse } from '../../src/modules/sse/index.ts'

const EVENTS = 'packages/weirjs/test/support/lambda-events'

function eventCalled(name: string): LambdaEvent {
  return JSON.parse(readFileSync(`${EVENTS}/${name}.json`, 'utf8')) as LambdaEvent
}

function server(): HttpServer {
  const one = new HttpServer({ logger: null })
  one.mapGet('/users/:name', ({ name }, { request, response, clientAddress, isSecure, origin }) => {
    response
      .cookie('a', '1')
      .cookie('b', '2')
      .header('X-Seen', String(request.header('user-agent')).slice(0, 4))
    const tags = request.query.getAll('tag')
    return {
      name,
      tags,
      q: request.query.get('q'),
      cookies: [request.cookie('session'), request.cookie('theme')],
      clientAddress,
      isSecure,
      origin,
    }
  })
  one.mapPost('/json', (_, { request, isSecure, clientAddress }) => ({ got: request.bodyJson(), isSecure, clientAddress }))
  one.mapPost('/upload', async (_, { request }) => {
    const form = await request.bodyMultipart()
    return Buffer.from(form!.files[0]!.content)
  })
  return one
}

const handle = lambda(server())
const SEEN = { name: 'Grüße', tags: ['a', 'b c'], q: 'ü', cookies: ['abc123', 'dark'], isSecure: true }

test('a GET of an HTTP API: decoded path, repeated query values, cookies both ways', async () => {
  const { body, headers, cookies, ...rest } = await handle(eventCalled('http-api-get'))
  const origin = 'https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com'
  assert.deepEqual(JSON.parse(body), { ...SEEN, clientAddress: '203.0.113.7', origin })
  assert.deepEqual(rest, { statusCode: 200, isBase64Encoded: false })
  assert.equal(headers!['x-seen'], 'Mozi')
  assert.equal(headers!['set-cookie'], undefined)
  assert.deepEqual(
    cookies!.map((cookie) => cookie.slice(0, 3)),
    ['a=1', 'b=2'],
  )
})

test('a POST of a function URL, with text', async () => {
  const response = await handle(eventCalled('function-url-post'))
  assert.equal(response.statusCode, 200, response.body)
  assert.deepEqual(JSON.parse(response.body), { got: { name: 'Ünï' }, isSecure: true, clientAddress: '2001:db8::7' })
})

test('a form with a file in base64, and a binary response', async () => {
  const response = await handle(eventCalled('http-api-upload'))
  assert.equal(response.isBase64Encoded, true)
  assert.deepEqual([...Buffer.from(response.body, 'base64').subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47])
})

test('a load balancer with multi-value headers', async () => {
  const response = await handle(eventCalled('balancer-multi-value-get'))
  const origin = 'https://weir-1234567890.eu-central-1.elb.amazonaws.com'
  assert.deepEqual(JSON.parse(response.body), { ...SEEN, clientAddress: '203.0.113.9', origin })
  assert.equal(response.statusDescription, '200 OK')
  const { 'set-cookie': cookies, 'content-type': type } = response.multiValueHeaders!
  assert.deepEqual([cookies?.length, type], [2, ['application/json']])
})

test('a load balancer without them', async () => {
  const response = await handle(eventCalled('balancer-post'))
  assert.deepEqual(JSON.parse(response.body), { got: { name: 'Ada' }, isSecure: false, clientAddress: '203.0.113.9' })
  assert.equal(response.headers!['content-type'], 'application/json')
})

test('a load balancer that states the ports of clients', async () => {
  for (const [stated, address] of [
    ['192.0.2.1, 203.0.113.9:4711', '203.0.113.9'],
    ['[2001:db8::7]:4711', '2001:db8::7'],
    ['2001:db8::7', '2001:db8::7'],
  ] as const) {
    const event = eventCalled('balancer-post') as { readonly headers: Readonly<Record<string, string>> }
    const headers = Object.fromEntries(Object.entries(event.headers).filter(([name]) => name.toLowerCase() !== 'x-forwarded-for'))
    const response = await handle({ ...event, headers: { ...headers, 'x-forwarded-for': stated } } as unknown as LambdaEvent)
    assert.equal((JSON.parse(response.body) as { clientAddress: string }).clientAddress, address)
  }
})

test('a path without a route, and a query that would end the path', async () => {
  const event = { ...(eventCalled('http-api-get') as object), rawPath: '/no?where#' } as LambdaEvent
  assert.equal((await handle(event)).statusCode, 404)
})

test('no part of an event ends another: a host, a path or a query that contains the beginning of the next', async () => {
  const one = new HttpServer({ hosts: 'any', logger: null })
  one.mapGet('/*rest', (_, { request, origin }) => ({ url: request.url, origin }))
  const seen = async (name: string, changes: object, host?: string): Promise<{ url: string; origin: string }> => {
    const event = { ...(eventCalled(name) as object), ...changes } as Record<string, unknown>
    for (const key of ['headers', 'multiValueHeaders'])
      if (host !== undefined && event[key]) {
        const { Host: _, ...others } = event[key] as Record<string, unknown>
        event[key] = { ...others, host: key === 'headers' ? host : [host] }
      }
    return JSON.parse((await lambda(one)(event as never)).body)
  }
  const none = { queryStringParameters: null, multiValueQueryStringParameters: null, path: '/public' }
  for (const name of ['rest-api-get', 'balancer-multi-value-get'])
    for (const host of [
      'a.example/admin?',
      'a.example/admin#',
      'a.example\\admin?',
      'user@a.example',
      'a.example:1/admin?',
      'a b',
      '',
      ':',
      '/',
    ])
      assert.equal((await seen(name, none, host)).url, '/public', `${name} ${host}`)
  assert.equal((await seen('rest-api-get', none, 'a.example')).origin, 'https://a.example')
  assert.equal(
    (await seen('rest-api-get', { ...none, queryStringParameters: { 'a\ud800': '\udfff' } })).url,
    '/public?a%EF%BF%BD=%EF%BF%BD',
  )
  const path = async (rawPath: string, rawQueryString = ''): Promise<string> =>
    (await seen('http-api-get', { rawPath, rawQueryString, cookies: undefined })).url
  assert.equal(await path('/a?b#c'), '/a%3Fb%23c')
  assert.equal(await path('/a', 'b=#c'), '/a?b=%23c')
  assert.equal(await path('@b.example/a'), '/@b.example/a')
})

test('the path is the one that a gateway has let pass: dot segments are refused, and nothing in it is lost', async () => {
  const one = new HttpServer({ logger: null }).mapGet('/*rest', ({ rest }) => `rest ${rest}`).mapGet('/admin', () => 'admin')
  for (const [name, member] of [
    ['http-api-get', 'rawPath'],
    ['rest-api-get', 'path'],
    ['balancer-multi-value-get', 'path'],
  ] as const) {
    const ask = async (path: string): Promise<string> => {
      const none = { rawQueryString: '', queryStringParameters: null, multiValueQueryStringParameters: null }
      const { statusCode, body } = await lambda(one)({ ...(eventCalled(name) as object), ...none, [member]: path } as never)
      return statusCode === 200 ? body : String(statusCode)
    }
    assert.equal(await ask('/admin'), 'admin')
    // An HTTP API has decoded its path: percent signs are left of percent signs only.
    const written = name === 'http-api-get' ? [] : ['/public/%2e%2E/admin']
    for (const path of ['/public/../admin', ...written, '/./admin', '/public\\..\\admin', '/public/..', '/..//admin'])
      assert.equal(await ask(path), '400', `${name} ${path}`)
    for (const path of ['/ad\nmin', '/ad\tmin', '/ad\rmin', '/admin\n', '/ admin', '/admin ', '/admin\\', '/\u00e4"<>`{}^|'])
      assert.equal(await ask(path), `rest ${path.slice(1)}`, `${name} ${path}`)
    assert.equal(await ask('/a\ud800b'), 'rest a\ufffdb')
  }
})

test('a path is decoded once: what an HTTP API has let pass cannot become a path for which it has another authorizer', async () => {
  const one = new HttpServer({ logger: null }).mapGet('/*rest', ({ rest }) => `rest ${rest}`).mapGet('/admin', () => 'admin')
  const none = { rawQueryString: '', queryStringParameters: null, multiValueQueryStringParameters: null }
  const ask = async (name: string, changes: object): Promise<string> => {
    const { statusCode, body } = await lambda(one)({ ...(eventCalled(name) as object), ...none, ...changes } as never)
    return statusCode === 200 ? body : String(statusCode)
  }
  // The client has sent /%2561dmin, /100%25 and so on.
  for (const path of ['/%61dmin', '/%2561dmin', '/%2e%2e/admin', '/a%2Fb', '/100%', '/%zz', '/%00']) {
    assert.equal(await ask('http-api-get', { rawPath: path }), `rest ${path.slice(1)}`, path)
    assert.equal(await ask('rest-api-get', { version: '1.0', path }), `rest ${path.slice(1)}`, `${path} in format 1.0`)
  }
  const context = (eventCalled('function-url-post') as { requestContext: { http: object } }).requestContext
  const requestContext = { ...context, http: { ...context.http, method: 'GET' } }
  const encoded = [
    ['function-url-post', (path: string) => ({ rawPath: path, requestContext, body: null })],
    ['rest-api-get', (path: string) => ({ path })],
    ['balancer-multi-value-get', (path: string) => ({ path })],
  ] as const
  for (const [name, changes] of encoded) {
    assert.equal(await ask(name, changes('/%61dmin')), 'admin', name)
    assert.equal(await ask(name, changes('/%2561dmin')), 'rest %61dmin', name)
    assert.equal(await ask(name, changes('/%2e%2e/admin')), '400', name)
  }
})

test('a REST API: a decoded query, and cookies in lists', async () => {
  const { body, multiValueHeaders, ...rest } = await handle(eventCalled('rest-api-get'))
  const origin = 'https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com'
  assert.deepEqual(JSON.parse(body), { ...SEEN, clientAddress: '203.0.113.7', origin })
  assert.deepEqual(rest, { statusCode: 200, isBase64Encoded: false })
  assert.deepEqual([multiValueHeaders!['set-cookie']?.length, multiValueHeaders!['x-seen']], [2, ['curl']])
})

test('every recorded event is used', () => {
  assert.equal(readdirSync(EVENTS).length, 6)
})

test('a value that no field may have gets 400 from the server, as if it had arrived at a socket', async () => {
  for (const value of ['\u0100', 'a\nb: c', '\0', '\ud800', '😀'])
    for (const [name, member] of [
      ['http-api-get', 'headers'],
      ['http-api-get', 'cookies'],
      ['rest-api-get', 'multiValueHeaders'],
    ] as const) {
      const event = eventCalled(name) as unknown as Record<string, object>
      event[member] = member === 'cookies' ? [value] : { ...event[member], 'x-name': member === 'headers' ? value : [value] }
      const { statusCode, body } = await handle(event as unknown as LambdaEvent)
      assert.deepEqual([statusCode, JSON.parse(body).code], [400, 'WEIR_FIELD_VALUE_SYNTAX'], `${JSON.stringify(value)} in ${member}`)
    }
})

test('a method that no Request has, and a name that no field has, are refused by the server as well', async () => {
  const balancer = eventCalled('balancer-post') as unknown as { readonly headers: object }
  for (const [change, status] of [
    [{ httpMethod: 'TRACE' }, 405],
    [{ httpMethod: 'TRACK' }, 405],
    [{ httpMethod: 'get' }, 405],
    [{ httpMethod: 'CONNECT' }, 400],
    [{ httpMethod: 'A B' }, 400],
    [{ httpMethod: '' }, 400],
    [{ headers: { ...balancer.headers, 'a b': '1' } }, 400],
  ] as const) {
    const { statusCode } = await handle({ ...balancer, ...change } as unknown as LambdaEvent)
    assert.equal(statusCode, status, JSON.stringify(change))
  }
})

test('what is not an address is no address: a load balancer in the mode `preserve` passes on what the client has written', async () => {
  for (const stated of ['evil', '"', '1.2.3.4.5', '198.51.100.7, ', '[::1', '[evil]:80']) {
    const event = eventCalled('balancer-post') as unknown as { readonly headers: Readonly<Record<string, string>> }
    const headers = Object.fromEntries(Object.entries(event.headers).filter(([name]) => name.toLowerCase() !== 'x-forwarded-for'))
    const response = await handle({ ...event, headers: { ...headers, 'x-forwarded-for': stated } } as unknown as LambdaEvent)
    assert.equal((JSON.parse(response.body) as { clientAddress: string }).clientAddress, '', stated)
  }
})

test('what is not an HTTP request, and what is not a server, is an error that says so', async () => {
  for (const event of [{ Records: [] }, null, undefined, { requestContext: {} }])
    await assert.rejects(handle(event as never), { code: 'WEIR_OPTION_INVALID', message: /the event is not an HTTP request/ })
  assert.throws(() => lambda(undefined as never), { code: 'WEIR_OPTION_INVALID', message: /the server is undefined, not an HttpServer/ })
  assert.throws(() => lambdaStream(server()), { code: 'WEIR_OPTION_INVALID', message: /only in the Node\.js runtime of AWS Lambda/ })
})

test('the handler returns when the work after the response has ended, because Lambda freezes the function then', async () => {
  const one = new HttpServer({ logger: null })
  const done: string[] = []
  one.mapGet('/users/:name', (_, session) => {
    const later = (what: string) => new Promise<void>((resolve) => setImmediate(resolve)).then(() => void done.push(what))
    session.waitUntil(later('mail').then(() => session.waitUntil(later('more'))))
    session.waitUntil(Promise.reject(new Error('no paper')))
    return 'thanks'
  })
  assert.equal((await lambda(one)(eventCalled('http-api-get'))).body, 'thanks')
  assert.deepEqual(done, ['mail', 'more'])
})

describe('streamed responses', () => {
  interface Written {
    readonly head: LambdaResult
    readonly pieces: string[]
    hasEnded: boolean
  }

  /** What the runtime of Lambda has as a global. */
  function runtime(t: TestContext): Written[] {
    const all: Written[] = []
    const from = (_: object, head: LambdaResult): object => {
      const written: Written = { head, pieces: [], hasEnded: false }
      all.push(written)
      return {
        write(bytes: Uint8Array, then: () => void) {
          written.pieces.push(Buffer.from(bytes).toString())
          setImmediate(then)
        },
        end(then: () => void) {
          written.hasEnded = true
          setImmediate(then)
        },
      }
    }
    type Handler = (event: LambdaEvent, stream: object) => Promise<void>
    const awslambda = {
      streamifyResponse: (handler: Handler) => (event: LambdaEvent) => handler(event, {}),
      HttpResponseStream: { from },
    }
    Object.assign(globalThis, { awslambda })
    t.after(() => delete (globalThis as { awslambda?: unknown }).awslambda)
    return all
  }

  test('each piece is passed on when it is made, after the status, the fields and the cookies', async (t) => {
    const all = runtime(t)
    const one = new HttpServer({ logger: null })
    const seen: number[] = []
    one.mapGet('/users/:name', (_, session) => {
      session.response.cookie('a', '1')
      return sse(session, async function* () {
        yield 'one'
        seen.push(all[0]!.pieces.length)
        yield 'two'
      })
    })
    await lambdaStream(one)(eventCalled('http-api-get'))
    const [{ head, pieces, hasEnded }] = all as [Written]
    assert.equal(head.statusCode, 200)
    assert.equal(head.headers!['content-type'], 'text/event-stream')
    assert.deepEqual([head.cookies!.length, hasEnded], [1, true])
    assert.match(pieces.join(''), /data: one\n\ndata: two\n\n$/)
    assert.ok(seen[0]! >= 1, 'the first piece was written before the second event was made')
  })

  test('a response without content', async (t) => {
    const all = runtime(t)
    const one = new HttpServer({ logger: null }).mapGet('/users/:name', (_, { response }) => response.noContent())
    await lambdaStream(one)(eventCalled('http-api-get'))
    assert.deepEqual([all[0]!.head.statusCode, all[0]!.pieces, all[0]!.hasEnded], [204, [], true])
  })
})
