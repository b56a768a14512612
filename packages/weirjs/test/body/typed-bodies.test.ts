// Bodies that a route declares: what its handler gets, and what a client is told about a body that does not fit.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  bytes,
  form,
  HttpServer,
  type InjectRequest,
  InvalidBodyError,
  json,
  type RouteOptions,
  type ServerOptions,
  t,
  text,
} from '../../src/index.ts'
import type { BodyOption } from '../../src/modules/contract/index.ts'

const NewOrder = t.object({ name: t.string, count: t.int.default(1), note: t.string.optional() })
const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

interface Received {
  readonly status: number
  readonly value: unknown
  readonly headers: Headers
}

/** Sends a body to a route that returns what it gets. */
async function send(
  body: BodyOption,
  request: Omit<InjectRequest, 'url'> & { readonly type?: string },
  options: ServerOptions = {},
  routeOptions: RouteOptions = {},
): Promise<Received> {
  const server = new HttpServer({ logger: null, ...options })
  server.map(null, '/', { ...routeOptions, body }, (args) => [Object.keys(args), (args as { body?: unknown }).body])
  const { type, ...rest } = request
  const response = await server.inject({
    method: 'POST',
    url: '/',
    ...rest,
    ...(type !== undefined && { headers: { 'Content-Type': type } }),
  })
  const value = response.json()
  return {
    status: response.status,
    value: response.status === 200 ? (value as unknown[])[1] : value,
    headers: response.headers as unknown as Headers,
  }
}

interface Problem {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly errors?: readonly { readonly name: string; readonly pointer: string; readonly expected: string; readonly actual?: string }[]
}

/** What a client is told about a body that is refused. */
async function refusal(...call: Parameters<typeof send>): Promise<Problem> {
  const { status, value } = await send(...call)
  assert.ok(status >= 400, `it was answered ${status}`)
  return value as Problem
}

const codeOf = async (...call: Parameters<typeof send>): Promise<string> => {
  const { status, code } = await refusal(...call)
  return `${status} ${code}`
}

describe('a schema reads', () => {
  test('JSON, in any +json type, with defaults and without what it does not declare', async () => {
    for (const type of [JSON_TYPE, 'application/vnd.order+json', 'Application/JSON; charset="UTF-8"']) {
      const { value } = await send(NewOrder, { body: '{"name":"tea","admin":true}', type })
      assert.deepEqual(value, { name: 'tea', count: 1 }, type)
    }
    assert.deepEqual((await send(t.array(t.int), { json: [1, 2] })).value, [1, 2])
    assert.equal((await send(t.string, { json: 'tea' })).value, 'tea')
    assert.equal((await send(t.int.nullable(), { json: null })).value, null)
  })

  test('a form, where it can be read from one', async () => {
    assert.deepEqual((await send(NewOrder, { body: 'name=green+tea&count=3&admin=1', type: FORM_TYPE })).value, {
      name: 'green tea',
      count: 3,
    })
    const tags = t.object({ tags: t.array(t.string) })
    assert.deepEqual((await send(tags, { body: 'tags=a&tags=b', type: FORM_TYPE })).value, { tags: ['a', 'b'] })
    assert.deepEqual((await send(tags, { body: 'tags[]=a', type: FORM_TYPE })).value, { tags: ['a'] })
    // An array of numbers cannot be a form.
    const { status, detail } = await refusal(t.array(t.int), { body: 'a=1', type: FORM_TYPE })
    assert.equal(status, 415)
    assert.match(detail, /"application\/x-www-form-urlencoded"; accepted: application\/json$/)
  })

  test('the same object from small flat JSON and from any other', async () => {
    const schema = t.object({ a: t.string, b: t.int.optional(), c: t.bool.default(true), when: t.dateTime.optional() }).strict()
    const rows: [flat: string, other: string][] = [
      ['{"a":"x","b":1}', '{\n"a":"x","b":1}'],
      ['{"b":2,"a":"x"}', '{\n"b":2,"a":"x"}'],
      ['{"a":"é","c":false}', '{"a":"\\u00e9","c":false}'],
      ['{"a":"x","when":"2026-01-02T03:04:05Z"}', '{\n"a":"x","when":"2026-01-02T03:04:05Z"}'],
      ['{"a":5,"b":"x"}', '{\n"a":5,"b":"x"}'],
      ['{"a":"x","d":1}', '{\n"a":"x","d":1}'],
      ['{}', '{\n}'],
      ['{"a":null}', '{\n"a":null}'],
    ]
    for (const [flat, other] of rows) {
      const [one, two] = [await send(schema, { body: flat, type: JSON_TYPE }), await send(schema, { body: other, type: JSON_TYPE })]
      assert.deepEqual([one.status, one.value], [two.status, two.value], flat)
    }
  })

  test('no body, only where it may be missing', async () => {
    for (const body of [NewOrder, json(NewOrder), form(NewOrder)]) {
      const { status, code, detail } = await refusal(body, {})
      assert.deepEqual([status, code], [400, 'WEIR_BODY_MISSING'])
      assert.match(detail, /^this request needs a body: application\//)
    }
    assert.equal(await codeOf(NewOrder, { body: '', type: JSON_TYPE }), '400 WEIR_BODY_MISSING')
    assert.equal(await codeOf(NewOrder, { body: '\uFEFF', type: JSON_TYPE }), '400 WEIR_BODY_MISSING')
    for (const body of [NewOrder.optional(), json(NewOrder.optional())]) assert.equal((await send(body, {})).value, null)
    assert.deepEqual((await send(NewOrder.default({ name: 'none', count: 0 }), {})).value, { name: 'none', count: 0 })
    // Browsers send this for a form in which nothing is ticked.
    assert.deepEqual((await send(t.object({ tick: t.bool.default(false) }), { body: '', type: FORM_TYPE })).value, { tick: false })
  })

  test('an argument that is missing is not there', async () => {
    const server = new HttpServer()
    server.mapPost('/', { body: NewOrder.optional() }, (args) => 'body' in args)
    assert.equal((await server.inject({ method: 'POST', url: '/' })).text(), 'false')
  })
})

describe('one kind of content', () => {
  test('json() refuses forms, and form() refuses JSON', async () => {
    assert.deepEqual((await send(json(NewOrder), { json: { name: 'x' } })).value, { name: 'x', count: 1 })
    assert.deepEqual((await send(form(NewOrder), { body: 'name=x', type: FORM_TYPE })).value, { name: 'x', count: 1 })
    assert.equal(await codeOf(json(NewOrder), { body: 'name=x', type: FORM_TYPE }), '415 WEIR_CONTENT_TYPE_UNSUPPORTED')
    assert.equal(await codeOf(form(NewOrder), { json: { name: 'x' } }), '415 WEIR_CONTENT_TYPE_UNSUPPORTED')
  })

  test('text() is strict UTF-8, or the charset of the content type', async () => {
    assert.equal((await send(text(), { body: '\uFEFFgrün', type: 'text/plain' })).value, 'grün')
    assert.equal((await send(text(), { body: Buffer.from('grün €', 'latin1'), type: 'text/plain; charset=latin1' })).value, 'grün \u00ac')
    assert.equal((await send(text(), {})).value, '')
    assert.equal(await codeOf(text(), { body: Buffer.from([0xff]), type: 'text/plain' }), '400 WEIR_BODY_MALFORMED')
    assert.equal((await send(text(), { body: '\uFFFD', type: 'text/plain' })).value, '\uFFFD')
    assert.equal(await codeOf(text(), { body: 'x', type: 'text/plain; charset=utf-16' }), '415 WEIR_CHARSET_UNKNOWN')
    assert.equal(await codeOf(text(), { body: 'x', type: 'text/html' }), '415 WEIR_CONTENT_TYPE_UNSUPPORTED')
    assert.equal(await codeOf(text(), { body: 'x' }), '415 WEIR_CONTENT_TYPE_UNSUPPORTED')
    assert.equal((await send(text('text/*'), { body: 'a,b', type: 'text/csv' })).value, 'a,b')
  })

  test('bytes() is what was sent, also without a type', async () => {
    const received = async (option: BodyOption, type?: string) =>
      Buffer.from(Object.values((await send(option, { body: Uint8Array.of(1, 255), ...(type !== undefined && { type }) })).value as object))
    assert.deepEqual(await received(bytes()), Buffer.of(1, 255))
    assert.deepEqual(await received(bytes(), 'application/octet-stream'), Buffer.of(1, 255))
    assert.deepEqual(await received(bytes('image/*', 'x/y'), 'image/png'), Buffer.of(1, 255))
    assert.deepEqual(await received(bytes('*/*'), 'application/json'), Buffer.of(1, 255))
    assert.equal(await codeOf(bytes(), { body: 'x', type: 'image/png' }), '415 WEIR_CONTENT_TYPE_UNSUPPORTED')
    assert.equal(await codeOf(bytes('image/*'), { body: 'x' }), '415 WEIR_CONTENT_TYPE_UNSUPPORTED')
    assert.equal(await codeOf(bytes('image/*'), { body: 'x', type: 'imagex/png' }), '415 WEIR_CONTENT_TYPE_UNSUPPORTED')
  })

  test('bytes belong to the handler', async () => {
    let kept: Uint8Array = Buffer.alloc(0)
    const server = new HttpServer({ debug: true })
    server.mapPost('/', { body: bytes() }, ({ body }) => {
      kept = body
    })
    await server.inject({ method: 'POST', url: '/', body: 'hello' })
    assert.equal(Buffer.from(kept).toString(), 'hello')
  })

  test('an invalid media type or schema is refused when it is declared', () => {
    for (const type of ['text', '', 'text/plain; charset=utf-8', '*/plain', 'a/b/c'])
      assert.throws(() => text(type), /is not a media type/, type)
    assert.throws(() => bytes(5 as never), /bytes\(\): 5 is not a media type/)
    assert.throws(() => json({ name: t.string } as never), /json\(\): .* is not a schema: write one with t/)
    assert.throws(() => form(null as never), /form\(\): null is not a schema/)
  })
})

describe('a body that does not fit', () => {
  const Registration = t.object({
    email: t.email,
    password: t.string.min(8).secret(),
    address: t.object({ city: t.string, zip: t.string.pattern(/^\d{4}$/).message('four digits') }).strict(),
    tags: t.array(t.string),
  })

  test('is refused with all its failures, as JSON pointers, and without secrets', async () => {
    const { status, code, detail, errors } = await refusal(Registration, {
      json: { email: 'x', password: 'short', address: { zip: 'A-1', planet: 'Earth' }, tags: ['a', 5] },
    })
    assert.deepEqual([status, code], [400, 'WEIR_BODY_INVALID'])
    assert.deepEqual(errors, [
      { name: 'email', in: 'body', pointer: '/email', expected: 'an email address', actual: '"x"' },
      { name: 'password', in: 'body', pointer: '/password', expected: 'a string of at least 8 characters', actual: '(not shown)' },
      { name: 'address.city', in: 'body', pointer: '/address/city', expected: 'a string' },
      { name: 'address.zip', in: 'body', pointer: '/address/zip', expected: 'four digits', actual: '"A-1"' },
      { name: 'address.planet', in: 'body', pointer: '/address/planet', expected: 'no property of this name', actual: '"Earth"' },
      { name: 'tags[1]', in: 'body', pointer: '/tags/1', expected: 'a string', actual: '5' },
    ])
    assert.match(detail, /^the body does not fit: body value "email": expected an email address, got "x"; /)
    assert.doesNotMatch(detail, /short/)
  })

  test('in a form too', async () => {
    const { errors } = await refusal(NewOrder, { body: 'name=a&name=b&count=x', type: FORM_TYPE })
    assert.deepEqual(errors, [
      { name: 'name', in: 'body', pointer: '/name', expected: 'a string, once', actual: '2 values' },
      { name: 'count', in: 'body', pointer: '/count', expected: 'a whole number', actual: 'x' },
    ])
  })

  test('as a whole has an empty pointer', async () => {
    const { detail, errors } = await refusal(NewOrder, { json: [1] })
    assert.deepEqual(errors, [{ name: '', in: 'body', pointer: '', expected: 'an object with name, count, note', actual: 'an array of 1' }])
    assert.equal(detail, 'the body does not fit: body: expected an object with name, count, note, got an array of 1')
  })

  test('lists 100 failures at most', async () => {
    const { errors } = await refusal(t.array(t.int), { json: Array.from({ length: 10_000 }, () => 'x') })
    assert.equal(errors!.length, 100)
  })

  test('is answered 422 if the server is set so, and a malformed one still 400', async () => {
    const options = { invalidBodyStatus: 422 } as const
    const { status, code } = await refusal(NewOrder, { json: {} }, options)
    assert.deepEqual([status, code], [422, 'WEIR_BODY_INVALID'])
    assert.equal(await codeOf(NewOrder, { body: '{', type: JSON_TYPE }, options), '400 WEIR_BODY_MALFORMED')
    assert.equal(await codeOf(NewOrder, {}, options), '400 WEIR_BODY_MISSING')
    assert.throws(() => new HttpServer({ invalidBodyStatus: 418 as never }), /invalidBodyStatus is 418, not 400 or 422/)
  })

  test('is an InvalidBodyError, which onError sees with its status', async () => {
    let seen: unknown
    const onError = (error: unknown) => {
      seen = error
    }
    await send(NewOrder, { json: {} }, { onError, invalidBodyStatus: 422 })
    assert.ok(seen instanceof InvalidBodyError)
    assert.deepEqual([seen.status, seen.failures.length, seen.failures[0]!.pointer], [422, 1, '/name'])
  })

  test('is not checked if a parameter does not fit', async () => {
    const server = new HttpServer({ logger: null })
    server.mapPost('/:id', { id: t.int, body: NewOrder }, () => 1)
    const response = await server.inject({ method: 'POST', url: '/x', json: {} })
    assert.equal((response.json() as Problem).code, 'WEIR_PARAMETER_INVALID')
  })
})

describe('a malformed body', () => {
  const rows: [what: string, body: string | Uint8Array][] = [
    ['no JSON', '{"name":'],
    ['JSON and something after it', '{"name":"x"} {}'],
    ['JSON and a NUL', '{"name":"x"}\0'],
    ['a single word', 'NaN'],
    ['blanks', '  \r\n'],
    ['two BOMs', '\uFEFF\uFEFF{"name":"x"}'],
    ['a comment', '{"name":"x"/**/}'],
    ['invalid UTF-8 in a value', Buffer.from([...Buffer.from('{"name":"'), 0xc3, ...Buffer.from('"}')])],
    ['UTF-16', Buffer.from('{"name":"x"}', 'utf16le')],
  ]
  for (const [what, body] of rows)
    test(`is refused: ${what}`, async () => {
      for (const option of [NewOrder, json(NewOrder), t.object({ name: t.object({}) })])
        assert.equal(await codeOf(option, { body, type: JSON_TYPE }), '400 WEIR_BODY_MALFORMED')
    })

  test('is refused without repeating any of its content', async () => {
    const { detail } = await refusal(NewOrder, { body: '{"password":hunter2}', type: JSON_TYPE })
    assert.equal(detail, 'the body is malformed: it is not valid JSON')
  })

  test('a BOM is accepted', async () => {
    for (const body of ['\uFEFF{"name":"x"}', '\uFEFF{\n"name":"x"}'])
      assert.deepEqual((await send(NewOrder, { body, type: JSON_TYPE })).value, { name: 'x', count: 1 })
  })

  test('of more than 64 levels is refused before it is parsed', async () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
    const Any = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const
    assert.equal((await send(json(Any), { body: nested(64), type: JSON_TYPE })).status, 200)
    const { status, errors } = await refusal(json(Any), { body: nested(65), type: JSON_TYPE })
    assert.equal(status, 400)
    assert.deepEqual(errors, [{ name: '', in: 'body', pointer: '', expected: 'at most 64 levels', actual: 'more' }])
    const { code } = await refusal(json(Any), { body: '['.repeat(1_000_000), type: JSON_TYPE })
    assert.equal(code, 'WEIR_BODY_INVALID')
  })
})

describe('names that have a meaning in JavaScript', () => {
  const Any = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const

  test('__proto__ never reaches a handler, whatever the schema', async () => {
    const bodies = [
      '{"a":1,"__proto__":{"admin":true}}',
      '{"a":1,"\\u005f_proto__":{"admin":true}}',
      '{"a":1,"__pr\\u006Fto__":{"admin":true}}',
      '{"a":1,"__pro\\u0074o__":{"admin":true}}',
    ]
    for (const body of bodies) {
      let seen: Record<string, unknown> = {}
      const server = new HttpServer({ logger: null })
      server.mapPost('/any', { body: Any }, (args) => {
        seen = args.body as Record<string, unknown>
      })
      server.mapPost('/object', { body: t.object({ a: t.int }) }, ({ body }) => {
        seen = body
      })
      for (const url of ['/any', '/object']) {
        seen = {}
        await server.inject({ method: 'POST', url, body, headers: { 'Content-Type': JSON_TYPE } })
        assert.deepEqual(Object.getOwnPropertyNames(seen), ['a'], `${url} ${body}`)
        assert.equal(Object.getPrototypeOf(seen), Object.prototype)
      }
    }
    const nested = (await send(Any, { body: '[{"b":[{"__proto__":{"x":1},"c":2}]}]', type: JSON_TYPE })).value
    assert.deepEqual(nested, [{ b: [{ c: 2 }] }])
  })

  test('__proto__ is left out of JSON before a strict schema sees it, however the JSON is read', async () => {
    for (const body of ['{"a":1,"__proto__":2}', '{"a":1,"__proto__":{}}', '{\n"__proto__":2,"a":1}'])
      assert.deepEqual((await send(t.object({ a: t.int }).strict(), { body, type: JSON_TYPE })).value, { a: 1 }, body)
    assert.equal(
      await codeOf(t.object({ a: t.int }).strict(), { body: '{"a":1,"__proto__":2,"b":3}', type: JSON_TYPE }),
      '400 WEIR_BODY_INVALID',
    )
  })

  test('a form has no prototype, and its names are only names', async () => {
    let seen: object = {}
    const server = new HttpServer({ logger: null })
    server.mapPost('/', { body: Any }, (args) => {
      seen = args.body as object
    })
    await server.inject({
      method: 'POST',
      url: '/',
      body: '__proto__=x&constructor=y&a[__proto__]=z',
      headers: { 'Content-Type': FORM_TYPE },
    })
    assert.equal(Object.getPrototypeOf(Object.getPrototypeOf(seen)), null)
    assert.deepEqual(Object.keys(seen), ['__proto__', 'constructor', 'a[__proto__]'])
  })

  test('properties of Object.prototype are missing unless they were sent', async () => {
    const schema = t.object({ constructor: t.string, toString: t.string.optional() })
    const { errors } = await refusal(schema, { json: {} })
    assert.deepEqual(
      errors!.map(({ pointer }) => pointer),
      ['/constructor'],
    )
    assert.equal(await codeOf(schema, { body: 'toString=x', type: FORM_TYPE }), '400 WEIR_BODY_INVALID')
  })
})

describe('the type of a body', () => {
  test('that is not accepted is refused with those that are, in the fields of the method', async () => {
    const fieldsOf = async (method: string) => {
      const { headers, value } = await send(NewOrder, { method, body: '<x/>', type: 'application/xml' })
      assert.match((value as Problem).detail, /"application\/xml"; accepted: application\/json, application\/x-www-form-urlencoded$/)
      return ['Accept', 'Accept-Post', 'Accept-Patch', 'Accept-Query'].map((name) => headers.get(name))
    }
    const both = 'application/json, application/x-www-form-urlencoded'
    assert.deepEqual(await fieldsOf('POST'), [both, both, null, null])
    assert.deepEqual(await fieldsOf('PATCH'), [both, null, both, null])
    assert.deepEqual(await fieldsOf('PUT'), [both, null, null, null])
    assert.deepEqual(await fieldsOf('QUERY'), [both, null, null, both])
  })

  const rows: [what: string, type: string][] = [
    ['another', 'text/json'],
    ['that only begins like JSON', 'application/jsonx'],
    ['a list', 'application/json, application/json'],
    ['with a parameter twice', 'application/json; charset=utf-8; charset=utf-7'],
    ['no type', 'json'],
    ['an empty one', ''],
    ['with a no-break space', 'application/json\u00a0'],
    ['+json without a type', '+json'],
  ]
  for (const [what, type] of rows)
    test(`is refused: ${what}`, async () => {
      assert.equal(await codeOf(NewOrder, { body: '{"name":"x"}', type }), '415 WEIR_CONTENT_TYPE_UNSUPPORTED')
    })

  test('is refused if it is missing, and an overlong one is not repeated in full', async () => {
    const { status, detail } = await refusal(NewOrder, { body: '{"name":"x"}' })
    assert.equal(status, 415)
    assert.match(detail, /there is no Content-Type; accepted: application\/json/)
    const long = await refusal(NewOrder, { body: '{}', type: `a/${'b'.repeat(5_000)}` })
    assert.ok(long.detail.length < 400)
  })

  test('does not matter without content', async () => {
    assert.equal((await send(NewOrder.optional(), { body: '', type: 'application/xml' })).status, 200)
  })

  test('is announced by OPTIONS and 405, of each method', async () => {
    const server = new HttpServer({ logger: null })
    server
      .mapPost('/', { body: json(NewOrder) }, () => 1)
      .mapPatch('/', { body: form(NewOrder) }, () => 1)
      .mapQuery('/', { body: NewOrder }, () => 1)
      .mapPut('/', { body: NewOrder }, () => 1)
      .mapPost('/untyped', () => 1)
    for (const method of ['OPTIONS', 'DELETE']) {
      const { headers } = await server.inject({ method, url: '/' })
      assert.equal(headers.get('Accept-Post'), JSON_TYPE)
      assert.equal(headers.get('Accept-Patch'), FORM_TYPE)
      assert.equal(headers.get('Accept-Query'), `${JSON_TYPE}, ${FORM_TYPE}`)
    }
    assert.equal((await server.inject({ method: 'OPTIONS', url: '/untyped' })).headers.get('Accept-Post'), null)
  })
})

describe('QUERY', () => {
  test('reads its typed content, and refuses other types, or none', async () => {
    const server = new HttpServer({ logger: null })
    server.mapQuery('/', { body: NewOrder }, ({ body }) => body)
    const ask = (type: string | null, body = '{"name":"x"}') =>
      server.inject({ method: 'QUERY', url: '/', body, ...(type !== null && { headers: { 'Content-Type': type } }) })
    assert.deepEqual((await ask(JSON_TYPE)).json(), { name: 'x', count: 1 })
    const other = await ask('application/sql')
    assert.deepEqual([other.status, other.headers.get('Accept-Query')], [415, `${JSON_TYPE}, ${FORM_TYPE}`])
    const none = await ask(null)
    assert.deepEqual([none.status, none.headers.get('Accept-Query')], [400, `${JSON_TYPE}, ${FORM_TYPE}`])
    assert.equal((await ask(JSON_TYPE, '{}')).status, 400)
  })
})

describe('with a JSON engine', () => {
  test('its deserialize parses, and what it throws as SyntaxError is malformed', async () => {
    const jsonEngine = {
      serialize: JSON.stringify,
      deserialize: (given: string) => JSON.parse(given.replace(/,\s*}/, '}')) as unknown,
      populate: () => {},
    }
    assert.deepEqual((await send(NewOrder, { body: '{"name":"x",}', type: JSON_TYPE }, { jsonEngine })).value, { name: 'x', count: 1 })
    assert.equal(await codeOf(NewOrder, { body: '{', type: JSON_TYPE }, { jsonEngine, logger: null }), '400 WEIR_BODY_MALFORMED')
  })

  test('that returns a promise is a mistake of the program', async () => {
    const jsonEngine = { serialize: JSON.stringify, deserialize: () => Promise.reject(new Error('x')), populate: () => {} }
    assert.equal(await codeOf(NewOrder, { body: '{}', type: JSON_TYPE }, { jsonEngine }), '500 WEIR_OPTION_INVALID')
  })
})

describe('when a route is mapped', () => {
  const map = (method: string | null, path: string, declaration: object) => () =>
    new HttpServer().map(method, path, declaration as { body: BodyOption }, () => 1)

  test('a body on a method without one is refused', () => {
    assert.throws(
      map('GET', '/a', { body: NewOrder }),
      /the body of GET \/a \(inline\) can never be read: GET has none\. Use QUERY \(mapQuery\) or POST$/,
    )
    assert.throws(map('HEAD', '/a', { body: text() }), /HEAD has none/)
    map('GET', '/a', { body: 'stream' })()
    map(null, '/a', { body: NewOrder })()
    map('DELETE', '/a', { body: NewOrder })()
  })

  test('a schema that can never be read from there is refused', () => {
    assert.throws(
      map('POST', '/a', { body: form(t.array(t.int)) }),
      /the body of POST \/a \(inline\) can never be read from application\/x-www-form-urlencoded: a form is not an array/,
    )
    assert.throws(map('POST', '/a', { body: form(t.object({ at: t.object({}) })) }), /property "at"/)
  })

  test('a value that is not a body is refused', () => {
    for (const body of ['json', 5, null, { name: t.string }, []])
      assert.throws(
        map('POST', '/a', { body }),
        /option "body" of \/a is .*, not a schema such as t\.object\(\{ … \}\), a body such as json\(schema\), "buffer" or "stream"/,
      )
  })

  test('a parameter of the path called body is refused beside one, and is a parameter like any other without', async () => {
    assert.throws(
      map('POST', '/a/:body', { body: NewOrder }),
      /POST \/a\/:body \(inline\) has a body, and a parameter of its path is called "body" too/,
    )
    const server = new HttpServer()
    server.mapPost('/:body', ({ body }) => body)
    assert.equal((await server.inject({ method: 'POST', url: '/x' })).text(), 'x')
  })

  test('a group has no body', () => {
    assert.throws(
      () => new HttpServer().group('/g', { body: NewOrder } as never),
      /"body" of group \/g is not an option of a group: it belongs to each route/,
    )
  })

  test('the body of a route is listed', () => {
    const server = new HttpServer()
    server
      .mapPost('/', { body: NewOrder }, () => 1)
      .mapPost('/text', { body: text() }, () => 1)
      .mapPost('/none', () => 1)
    const listed = server.routes.map(({ body, bodyMode }) => [body?.kind ?? null, body?.types ?? null, body?.schema ?? null, bodyMode])
    assert.deepEqual(listed, [
      ['schema', [JSON_TYPE, FORM_TYPE], NewOrder, 'buffer'],
      ['text', ['text/plain'], null, 'buffer'],
      [null, null, null, 'auto'],
    ])
  })
})

test('a parameter called body whose schema is an object is the body, not a query parameter that no client could send', async () => {
  const server = new HttpServer({ logger: null })
  server.mapPost('/', { body: t.object({ name: t.string }) }, ({ body }) => body.name)
  assert.equal((await server.inject({ method: 'POST', url: '/', json: { name: 'tea' } })).text(), 'tea')
  assert.equal((await server.inject({ method: 'POST', url: '/?body=tea' })).status, 400)
})

test('limits of the body hold, and gates come before its type', async () => {
  assert.equal(await codeOf(NewOrder, { json: { name: 'x'.repeat(100) } }, {}, { maxRequestBodySize: 50 }), '413 WEIR_BODY_TOO_LARGE')
  const pairs = Array.from({ length: 1_001 }, (_, i) => `a${i}=1`).join('&')
  assert.equal(await codeOf(NewOrder, { body: pairs, type: FORM_TYPE }), '413 WEIR_BODY_TOO_LARGE')
  for (const gate of [() => 'gate', async () => 'gate']) {
    const server = new HttpServer({ logger: null })
    server.mapPost('/', { use: [{ gate }], body: NewOrder }, () => 1)
    assert.equal((await server.inject({ method: 'POST', url: '/', body: 'x' })).text(), 'gate')
  }
  for (const gate of [() => {}, async () => {}]) {
    const server = new HttpServer({ logger: null })
    server.mapPost('/', { use: [{ gate }], body: NewOrder }, ({ body }) => body.name)
    assert.equal((await server.inject({ method: 'POST', url: '/', body: 'x' })).status, 415)
    assert.equal((await server.inject({ method: 'POST', url: '/', json: { name: 'tea' } })).text(), 'tea')
  }
})
