// bodyMap and bodyMapAnonymous, as methods and as functions, in both revisions of the interface: what a request contains ends up in a
// model. The conversion of single values is tested next to the schemas; these tests are about the operation.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import {
  bodyMap,
  bodyMapAnonymous,
  Field,
  fields,
  type HttpRequest,
  HttpServer,
  type JsonEngine,
  type JsonSettings,
  type ServerOptions,
  t,
} from '../../src/index.ts'
import { FORM_TYPE, failuresOf, JSON_TYPE, see } from '../support/see-request.ts'

const ID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'

/** The sample model of the interface. */
class User {
  @Field(t.uuid) id = ''
  name = 'nobody'
  creation = new Date(0)
  enabled = false
}

interface Spelling {
  readonly name: string
  readonly map: (
    request: HttpRequest,
    model: object,
    options?: { settings?: JsonSettings | null; jsonEngine?: JsonEngine | null },
  ) => boolean
}

const SPELLINGS: readonly Spelling[] = [
  { name: 'request.bodyMap(model)', map: (request, model, options) => request.bodyMap(model, options) },
  { name: 'bodyMap(request, model)', map: (request, model, options) => bodyMap(request, model, options) },
  { name: 'request.bodyMapAnonymous(model)', map: (request, model, options) => request.bodyMapAnonymous(model, options) },
  { name: 'bodyMapAnonymous(request, model)', map: (request, model, options) => bodyMapAnonymous(request, model, options) },
]

for (const { name: spelling, map } of SPELLINGS) {
  describe(spelling, () => {
    const twins: [what: string, contentType: string, body: string][] = [
      ['JSON', JSON_TYPE, `{"id":"${ID}","name":"Ada Lovelace","creation":"2024-05-06T07:08:09","enabled":true}`],
      ['JSON in another order', JSON_TYPE, `{"enabled":true,"creation":"2024-05-06T07:08:09","name":"Ada Lovelace","id":"${ID}"}`],
      ['JSON with escapes', JSON_TYPE, `{"id":"${ID}","name":"Ada\\u0020Lovelace","creation":"2024-05-06T07:08:09","enabled":true}`],
      [
        'JSON on several lines, with a repeated name and an unknown one',
        JSON_TYPE,
        `{\n  "id": "${ID}",\n  "name": "nobody",\n  "creation": "2024-05-06T07:08:09",\n  "enabled": true,\n  "name": "Ada Lovelace",\n  "tags": []\n}\n`,
      ],
      [
        'a form, the colons of the moment percent-encoded',
        FORM_TYPE,
        `id=${ID}&name=Ada+Lovelace&creation=2024-05-06T07%3A08%3A09&enabled=true`,
      ],
      ['a form, its colons unencoded', FORM_TYPE, `id=${ID}&name=Ada%20Lovelace&creation=2024-05-06T07:08:09&enabled=true`],
    ]
    for (const [what, contentType, body] of twins) {
      test(`the sample model is populated from ${what}`, async () => {
        const user = new User()
        assert.equal(await see(contentType, body, (request) => map(request, user)), true)
        assert.deepEqual(
          { ...user },
          { id: ID, name: 'Ada Lovelace', creation: new Date('2024-05-06T07:08:09Z'), enabled: true },
          'a moment without a zone is read as UTC',
        )
      })
    }

    test('a plain object serves as a template', async () => {
      const model = { name: '', count: 0, tags: ['x'], nested: { on: false } }
      assert.equal(
        await see(JSON_TYPE, '{"name":"n","count":2,"tags":[],"nested":{"on":true},"more":1}', (request) => map(request, model)),
        true,
      )
      assert.deepEqual(model, { name: 'n', count: 2, tags: [], nested: { on: true } })
    })

    test('arrays of a form have [] after their name and contain strings', async () => {
      const model = { tags: [] as string[], one: [] as string[], flat: '' }
      assert.equal(await see(FORM_TYPE, 'tags[]=1&tags%5B%5D=true&one[]=x&flat=f', (request) => map(request, model)), true)
      assert.deepEqual(model, { tags: ['1', 'true'], one: ['x'], flat: 'f' })
    })

    test('one [] is a list for a schema of another library too', async () => {
      const validate = (value: unknown) => (Array.isArray(value) ? { value: value as string[] } : { issues: [{ message: 'no list' }] })
      class Tagged {
        static fields = fields(this, { tags: { '~standard': { version: 1, vendor: 'test', validate } } })
        tags: string[] = []
      }
      for (const tags of [['a'], ['a', 'b']]) {
        const model = new Tagged()
        assert.equal(await see(FORM_TYPE, tags.map((tag) => `tags[]=${tag}`).join('&'), (request) => map(request, model)), true)
        assert.deepEqual(model.tags, tags)
      }
    })

    test('nested names of a form have no meaning', async () => {
      const model = { nested: { on: false }, name: 'as before' }
      assert.equal(await see(FORM_TYPE, 'nested[on]=true&nested.on=true&name[0]=x', (request) => map(request, model)), true)
      assert.deepEqual(model, { nested: { on: false }, name: 'as before' })
    })

    const nothings: [what: string, contentType: string | null, body: string | Uint8Array | null][] = [
      ['without a body', JSON_TYPE, null],
      ['with an empty body', JSON_TYPE, ''],
      ['with a body that is only a BOM', JSON_TYPE, '\ufeff'],
      ['with a form that is only a BOM', FORM_TYPE, '\ufeff'],
      ['with an empty form', FORM_TYPE, ''],
      ['without a content type', null, '{"name":"x"}'],
      ['of another content type', 'text/plain', '{"name":"x"}'],
      ['of a content type that only begins like JSON', 'application/jsonp', '{"name":"x"}'],
      ['of a content type that only begins like a form', `${FORM_TYPE}2`, 'name=x'],
      ['of a malformed content type', 'application', '{"name":"x"}'],
      ['in another charset', `${JSON_TYPE}; charset=iso-8859-1`, '{"name":"x"}'],
      ['that is not UTF-8', JSON_TYPE, Buffer.from('{"name":"\xff"}', 'latin1')],
      ['with malformed JSON', JSON_TYPE, '{"name":"x",}'],
      ['with JSON that is cut short', JSON_TYPE, '{"name":"x"'],
      ['with more than JSON', JSON_TYPE, '{"name":"x"} x'],
      ['with JSON that is an array', JSON_TYPE, '[{"name":"x"}]'],
      ['with JSON that is null', JSON_TYPE, 'null'],
      ['with JSON that is a string', JSON_TYPE, '"x"'],
      ['with JSON that is a number', JSON_TYPE, '1'],
    ]
    for (const [what, contentType, body] of nothings) {
      test(`false for a request ${what}, and the model is unchanged`, async () => {
        const model = { name: 'as before' }
        assert.equal(await see(contentType, body, (request) => map(request, model)), false)
        assert.deepEqual(model, { name: 'as before' })
      })
    }

    for (const contentType of [
      'Application/JSON',
      'application/json; charset="UTF-8"',
      'application/merge-patch+json',
      'application/json;v=1',
    ]) {
      test(`${contentType} is JSON`, async () => {
        const model = { name: '' }
        assert.equal(await see(contentType, '\ufeff{"name":"ü"}', (request) => map(request, model)), true)
        assert.equal(model.name, 'ü')
      })
    }

    test('throws for values that cannot be converted, names all of them, and leaves the model unchanged', async () => {
      const user = new User()
      const json = '{"id":"7","name":"good","creation":"2024-02-31T00:00:00","enabled":"false"}'
      const failures = await see(JSON_TYPE, json, (request) => failuresOf(() => map(request, user)))
      assert.deepEqual(
        failures.map((failure) => failure.split(':')[0]),
        ['id', 'creation', 'enabled'],
      )
      assert.deepEqual({ ...user }, { ...new User() })
      const form = 'id=7&name=good&creation=2024-02-31T00%3A00%3A00&enabled=maybe'
      assert.equal((await see(FORM_TYPE, form, (request) => failuresOf(() => map(request, user)))).length, 3)
      assert.deepEqual({ ...user }, { ...new User() })
    })

    test('nothing reaches a prototype', async () => {
      const json = '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"name":"n"}'
      for (const [contentType, body] of [
        [JSON_TYPE, json],
        [FORM_TYPE, '__proto__=x&constructor=y&toString=z&name=n'],
      ] as const) {
        const user = new User()
        assert.equal(await see(contentType, body, (request) => map(request, user)), true)
        assert.equal(user.name, 'n')
        assert.equal(Object.getPrototypeOf(user), User.prototype)
        assert.deepEqual(Object.keys(user), ['id', 'name', 'creation', 'enabled'])
        assert.equal((Object.prototype as { admin?: unknown }).admin, undefined)
      }
    })

    test('maps as often as it is called, and the body is still available', async () => {
      const models = [{ name: '' }, { name: '' }]
      const seen = await see(JSON_TYPE, '{"name":"n"}', (request) => [...models.map((model) => map(request, model)), request.body])
      assert.deepEqual(
        [seen, models],
        [
          [true, true, '{"name":"n"}'],
          [{ name: 'n' }, { name: 'n' }],
        ],
      )
    })

    describe('revision B: settings', () => {
      test('reviver', async () => {
        const model = { name: '' }
        const settings: JsonSettings = { reviver: (key, value) => (key === 'name' ? `${value}!` : value) }
        await see(JSON_TYPE, '{"name":"n"}', (request) => map(request, model, { settings }))
        assert.equal(model.name, 'n!')
      })

      test('maxDepth allows N levels and refuses N + 1, however deep', async () => {
        const nested = (depth: number) => `{"any":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
        const settings: JsonSettings = { maxDepth: 3 }
        assert.equal(await see(JSON_TYPE, nested(3), (request) => map(request, { any: null }, { settings })), true)
        const tooDeep = await see(JSON_TYPE, nested(4), (request) => failuresOf(() => map(request, { any: null }, { settings })))
        assert.deepEqual(tooDeep, [': at most 3 levels, not more'])
        const deep = await see(JSON_TYPE, nested(200_000), (request) => failuresOf(() => map(request, { any: null }, { settings: {} })))
        assert.deepEqual(deep, [': at most 64 levels, not more'])
      })

      test('an invalid maxDepth is an error of the program', async () => {
        for (const maxDepth of [0, -1, Number.NaN]) {
          const look = (request: HttpRequest) =>
            assert.throws(() => map(request, {}, { settings: { maxDepth } }), { code: 'WEIR_OPTION_INVALID' })
          await see(JSON_TYPE, '{}', look)
        }
      })

      test('unknownProperties: error', async () => {
        const settings: JsonSettings = { unknownProperties: 'error' }
        const look = (request: HttpRequest) => failuresOf(() => map(request, { name: '' }, { settings }))
        assert.deepEqual(await see(JSON_TYPE, '{"name":"n","age":1}', look), ['age: no such property, not 1'])
        assert.deepEqual(await see(FORM_TYPE, 'name=n&age=1', look), ['age: no such property, not "1"'])
      })

      test('nullValues: ignore', async () => {
        const model = { name: 'as before', count: 1 }
        await see(JSON_TYPE, '{"name":null,"count":null}', (request) => map(request, model, { settings: { nullValues: 'ignore' } }))
        assert.deepEqual(model, { name: 'as before', count: 1 })
      })

      test('zoneless: local reads a date and time as ECMAScript does', async () => {
        for (const [contentType, body] of [
          [JSON_TYPE, '{"creation":"2024-05-06T07:08:09"}'],
          [FORM_TYPE, 'creation=2024-05-06T07%3A08%3A09'],
        ] as const) {
          const user = new User()
          await see(contentType, body, (request) => map(request, user, { settings: { zoneless: 'local' } }))
          assert.equal(user.creation.getTime(), new Date(2024, 4, 6, 7, 8, 9).getTime())
        }
      })

      test('null is the default', async () => {
        assert.equal(await see(JSON_TYPE, '{}', (request) => map(request, {}, { settings: null, jsonEngine: null })), true)
      })
    })

    describe('revision A: jsonEngine', () => {
      test('for one call: receives the text, the model and the options', async () => {
        const model = { name: '' }
        const engine = new NoteTaking()
        const options = { jsonEngine: engine, settings: { maxDepth: 3 } }
        assert.equal(await see(JSON_TYPE, '\ufeff{"a":1}', (request) => map(request, model, options)), true)
        assert.deepEqual([model.name, engine.texts], ['{"a":1}', ['{"a":1}']])
        assert.deepEqual(engine.options, [options])
      })

      test('for the server, and a call may use another', async () => {
        const ofServer = new NoteTaking()
        const ofCall = new NoteTaking()
        const options: ServerOptions = { jsonEngine: ofServer }
        const first = { name: '' }
        await see(JSON_TYPE, '{"a":1}', (request) => map(request, first), options)
        await see(JSON_TYPE, '{"a":2}', (request) => map(request, first, { jsonEngine: null }), options)
        await see(JSON_TYPE, '{"a":3}', (request) => map(request, first, { jsonEngine: ofCall }), options)
        assert.deepEqual([ofServer.texts, ofCall.texts, first.name], [['{"a":1}', '{"a":2}'], ['{"a":3}'], '{"a":3}'])
      })

      test('is not called for forms, or when there is nothing to read', async () => {
        const engine = new NoteTaking()
        const model = { name: '' }
        assert.equal(await see(FORM_TYPE, 'name=n', (request) => map(request, model, { jsonEngine: engine })), true)
        for (const body of ['', Buffer.from([0xff])]) {
          assert.equal(await see(JSON_TYPE, body, (request) => map(request, model, { jsonEngine: engine })), false)
        }
        assert.deepEqual([model.name, engine.texts], ['n', []])
      })

      test('its SyntaxError leads to false, other errors are rethrown', async () => {
        const throwing = (error: Error): JsonEngine => ({
          serialize: JSON.stringify,
          deserialize: JSON.parse,
          populate() {
            throw error
          },
        })
        assert.equal(await see(JSON_TYPE, '{}', (request) => map(request, {}, { jsonEngine: throwing(new SyntaxError('no')) })), false)
        const error = new RangeError('engine')
        await see(JSON_TYPE, '{}', (request) => assert.throws(() => map(request, {}, { jsonEngine: throwing(error) }), error))
      })
    })
  })
}

/** Writes what it received into the model's name. */
class NoteTaking implements JsonEngine {
  readonly texts: string[] = []
  readonly options: unknown[] = []

  serialize(value: unknown): string {
    return JSON.stringify(value)
  }

  deserialize(text: string): unknown {
    return JSON.parse(text)
  }

  populate(text: string, target: object, options: unknown): void {
    this.texts.push(text)
    this.options.push(options)
    Object.assign(target, { name: text })
  }
}

describe('includeProperties and excludeProperties', () => {
  const json = `{"id":"${ID}","name":"new","enabled":true}`
  const form = `id=${ID}&name=new&enabled=true`
  type Choice = Parameters<typeof bodyMap<User>>[2]
  const rows: [what: string, options: NonNullable<Choice>, written: string[]][] = [
    ['null means all', { includeProperties: null, excludeProperties: null }, ['id', 'name', 'enabled']],
    ['include one', { includeProperties: ['name'] }, ['name']],
    ['include none', { includeProperties: [] }, []],
    ['include any iterable', { includeProperties: new Set(['id', 'enabled'] as const) }, ['id', 'enabled']],
    ['exclude one', { excludeProperties: ['id'] }, ['name', 'enabled']],
    ['exclude beats include', { includeProperties: ['id', 'name'], excludeProperties: ['name'] }, ['id']],
  ]
  for (const [what, options, written] of rows) {
    for (const [contentType, body] of [
      [JSON_TYPE, json],
      [FORM_TYPE, form],
    ] as const) {
      test(`${what} (${contentType})`, async () => {
        for (const map of [
          (request: HttpRequest, user: User) => request.bodyMap(user, options),
          (request: HttpRequest, user: User) => bodyMap(request, user, options),
        ]) {
          const user = new User()
          assert.equal(await see(contentType, body, (request) => map(request, user)), true)
          const changed = Object.entries({ id: ID, name: 'new', enabled: true }).filter(([key, value]) => user[key as keyof User] === value)
          assert.deepEqual(
            changed.map(([key]) => key),
            written,
          )
        }
      })
    }
  }

  test('a key path reaches into nested objects', async () => {
    const model = { address: { city: 'old', zip: 1 }, name: 'old' }
    const body = '{"address":{"city":"new","zip":2},"name":"new"}'
    await see(JSON_TYPE, body, (request) => request.bodyMap(model, { includeProperties: ['address.city'] }))
    assert.deepEqual(model, { address: { city: 'new', zip: 1 }, name: 'old' })
    await see(JSON_TYPE, body, (request) => request.bodyMap(model, { excludeProperties: ['address.city', 'name'] }))
    assert.deepEqual(model, { address: { city: 'new', zip: 2 }, name: 'old' })
  })

  test('an omitted property is not checked', async () => {
    const user = new User()
    const look = (request: HttpRequest) => request.bodyMap(user, { excludeProperties: ['id'] })
    assert.equal(await see(JSON_TYPE, '{"id":7,"name":"new"}', look), true)
    assert.equal(user.name, 'new')
  })
})

test('a model with a table of fields instead of decorators is populated the same', async () => {
  class Plain {
    static fields = fields(this, { id: t.uuid, age: t.int.optional() })
    id = ''
    age?: number
  }
  const model = new Plain()
  assert.equal(await see(FORM_TYPE, `id=${ID}&age=36`, (request) => request.bodyMap(model)), true)
  assert.deepEqual({ ...model }, { id: ID, age: 36 })
  const failures = await see(JSON_TYPE, '{"id":"x","age":1.5}', (request) => failuresOf(() => request.bodyMap(model)))
  assert.equal(failures.length, 2)
})

test('the sample handler catches a failed conversion and responds with a server error that contains its message', async () => {
  const server = new HttpServer()
  server.mapPost('/user/save', (_, { request, response }) => {
    const user = new User()
    try {
      if (!request.bodyMap(user)) return response.status(400).text('no user')
      return { user }
    } catch (error) {
      return response.makeInternalServerErrorResponse((error as Error).message)
    }
  })
  const post = (json: unknown) => server.inject({ method: 'POST', url: '/user/save', json })
  const saved = await post({ id: ID, name: 'Ada', creation: '2024-05-06T07:08:09', enabled: true })
  assert.deepEqual(saved.json(), { user: { id: ID, name: 'Ada', creation: '2024-05-06T07:08:09.000Z', enabled: true } })
  const failed = await post({ enabled: 'perhaps' })
  assert.equal(failed.status, 500)
  assert.match((failed.json() as { detail: string }).detail, /"enabled": expected true or false, got "perhaps"/)
  assert.deepEqual([(await post([])).status, (await post([])).text()], [400, 'no user'])
})

test('an uncaught failed conversion leads to 400 and a problem document that lists it', async () => {
  const server = new HttpServer()
  server.mapPost('/', (_, { request }) => ({ mapped: request.bodyMap(new User()) }))
  const response = await server.inject({ method: 'POST', url: '/', json: { enabled: 'perhaps' } })
  assert.deepEqual([response.status, response.headers.get('content-type')], [400, 'application/problem+json'])
  assert.match(response.text(), /WEIR_MODEL_BINDING/)
  assert.match(response.text(), /perhaps/)
})

test('an invalid model is an error of the program', async () => {
  for (const [model, what] of [
    [User, 'a function: give it an instance, new User()'],
    [[], 'an array'],
    [null, 'null'],
    ['', 'a string'],
  ] as [object, string][]) {
    const message = `an option or argument is invalid: bodyMap() populates an object, not ${what}`
    await see(JSON_TYPE, '{"name":"n"}', (request) => assert.throws(() => request.bodyMap(model), { code: 'WEIR_OPTION_INVALID', message }))
  }
})

test('on a streaming route it throws until the body is buffered', async () => {
  const server = new HttpServer()
  const model = { name: '' }
  server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
    assert.throws(() => request.bodyMap(model), { name: 'BodyNotBufferedError', message: /bodyMap\(\)/ })
    assert.throws(() => request.bodyMapAnonymous(model), { name: 'BodyNotBufferedError', message: /bodyMapAnonymous\(\)/ })
    await request.bufferBody()
    return { mapped: request.bodyMap(model) }
  })
  const response = await server.inject({ method: 'POST', url: '/', json: { name: 'n' } })
  assert.deepEqual([response.json(), model.name], [{ mapped: true }, 'n'])
})

describe('bodyForm', () => {
  const rows: [what: string, text: string, expected: Record<string, unknown>][] = [
    ['names and values', 'a=1&b=2', { a: '1', b: '2' }],
    ['plus and percent', 'a+b=c%20d%2B%26%3D', { 'a b': 'c d+&=' }],
    ['a name that repeats', 'a=1&a=2', { a: ['1', '2'] }],
    ['one [] is a list', 'a[]=1', { a: ['1'] }],
    ['an encoded [] too', 'a%5B%5D=1&a%5b%5d=2', { a: ['1', '2'] }],
    ['nested names are flat text', 'a[b]=1&a[0]=2&a.b=3', { 'a[b]': '1', 'a[0]': '2', 'a.b': '3' }],
    ['a malformed escape stays', 'a=%zz%4', { a: '%zz%4' }],
    ['invalid UTF-8 becomes U+FFFD', 'a=%ff', { a: '\ufffd' }],
    ['without =', 'a&=b&&c=', { a: '', '': 'b', c: '' }],
    ['nothing', '', {}],
  ]
  for (const [what, text, expected] of rows) {
    test(what, async () => {
      for (const look of [(request: HttpRequest) => request.bodyForm(), (request: HttpRequest) => request.bodyForm(text)]) {
        assert.deepEqual({ ...(await see(FORM_TYPE, text, look)) }, expected)
      }
    })
  }

  test('of the body reads its bytes: after a BOM, and a character of which only a part is escaped as one', async () => {
    const form = (bytes: Buffer) => see(FORM_TYPE, bytes, (request) => ({ ...request.bodyForm() }))
    assert.deepEqual(await form(Buffer.from('\ufeffa=\ufeff1')), { a: '\ufeff1' })
    assert.deepEqual(await form(Buffer.from('\ufeff')), {})
    assert.deepEqual(await form(Buffer.from('a=\xc3%A9&b=\xff', 'latin1')), { a: 'é', b: '\ufffd' })
  })

  test('reads a long form, with and without escapes, like any other', async () => {
    const long = 'ü'.repeat(5000)
    for (const name of ['ü', '%C3%BC']) {
      const form = await see(FORM_TYPE, `${name}=${long}&b=1&b=2`, (request) => ({ ...request.bodyForm() }))
      assert.deepEqual(form, { ü: long, b: ['1', '2'] })
    }
  })

  test('has no prototype, and names of prototypes are ordinary names', async () => {
    const form = await see(FORM_TYPE, '__proto__=x&constructor=y', (request) => request.bodyForm())
    assert.equal(Object.getPrototypeOf(form), null)
    assert.deepEqual(Object.entries(form), [
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
  })

  test('1,000 pairs are allowed, 1,001 are refused by name', async () => {
    const text = (pairs: number) => Array.from({ length: pairs }, (_, i) => `n${i}=`).join('&')
    assert.equal(Object.keys(await see(FORM_TYPE, text(1000), (request) => request.bodyForm())).length, 1000)
    const look = (request: HttpRequest) =>
      assert.throws(() => request.bodyForm(), { name: 'PayloadTooLargeError', status: 413, limit: 'maxFormPairs', maximum: 1000 })
    await see(FORM_TYPE, text(1001), look)
  })
})
