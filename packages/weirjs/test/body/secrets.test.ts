// Values of secret properties and parameters: never in an error, a problem document or a log.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'

import { Field, fields, type HttpRequest, HttpServer, type JsonSettings, ModelBindingError, t } from '../../src/index.ts'
import { FORM_TYPE, JSON_TYPE } from '../support/see-request.ts'

const SECRET = 'hunter2'

interface Told {
  readonly status: number
  /** The response, the error as `onError` sees it and prints it, and what was logged. */
  readonly all: string
  readonly failures: readonly string[]
}

/** Everything that is reported about a request that cannot be bound. */
async function told(contentType: string, body: string, bind: (request: HttpRequest) => unknown, debug = false): Promise<Told> {
  const seen: unknown[] = []
  let failures: string[] = []
  const server = new HttpServer({
    debug,
    logger: { error: (message, detail) => seen.push(message, inspect(detail, { depth: 9 }), String(detail)) },
    onError(error) {
      seen.push(inspect(error, { depth: 9 }), (error as Error).message, (error as Error).stack)
      if (error instanceof ModelBindingError) failures = error.failures.map(({ name, actual }) => `${name}: ${actual}`)
    },
  })
  server.mapPost('/', (_, { request }) => void bind(request))
  const response = await server.inject({ method: 'POST', url: '/', headers: { 'Content-Type': contentType }, body })
  return { status: response.status, all: `${response.text()} ${seen.join(' ')}`, failures }
}

class Card {
  number = 0
  name = ''
}

describe('settings.secret', () => {
  const model = (): object => ({
    password: 0,
    pin: [0],
    card: new Card(),
    cards: [0],
    tags: [{}],
    user: { password: 0 },
    born: new Date(0),
  })
  const rows: [what: string, secret: string[], type: string, body: string, failures: string[]][] = [
    ['a name', ['password'], JSON_TYPE, `{"password":"${SECRET}"}`, ['password: (not shown)']],
    ['a name, in a form', ['password'], FORM_TYPE, `password=${SECRET}`, ['password: (not shown)']],
    ['a name, repeated in a form', ['password'], FORM_TYPE, `password=${SECRET}&password=${SECRET}`, ['password: (not shown)']],
    ['a name at any depth', ['password'], JSON_TYPE, `{"user":{"password":"${SECRET}"}}`, ['user.password: (not shown)']],
    ['elements', ['pin'], JSON_TYPE, `{"pin":["${SECRET}",1,"x${SECRET}"]}`, ['pin[0]: (not shown)', 'pin[2]: (not shown)']],
    ['elements of a form', ['pin'], FORM_TYPE, `pin[]=${SECRET}`, ['pin[0]: (not shown)']],
    ['something other than an array', ['pin'], JSON_TYPE, `{"pin":"${SECRET}"}`, ['pin: (not shown)']],
    ['a key path', ['card.number'], JSON_TYPE, `{"card":{"number":"${SECRET}"}}`, ['card.number: (not shown)']],
    ['what should contain one', ['card.number'], JSON_TYPE, `{"card":"${SECRET}"}`, ['card: (not shown)']],
    ['what is in one', ['card'], JSON_TYPE, `{"card":{"number":"${SECRET}"}}`, ['card.number: (not shown)']],
    ['a moment', ['born'], JSON_TYPE, `{"born":"${SECRET}"}`, ['born: (not shown)']],
    ['in another case', ['Card.Number'], JSON_TYPE, `{"card":{"number":"${SECRET}"}}`, ['card.number: (not shown)']],
    ['an array of objects in a form', ['tags.x'], FORM_TYPE, `tags[]=${SECRET}`, ['tags: (not shown)']],
  ]
  for (const [what, secret, type, body, failures] of rows) {
    for (const debug of [false, true]) {
      test(`${what}${debug ? ', with debug' : ''}`, async () => {
        const result = await told(type, body, (request) => request.bodyMap(model(), { settings: { secret } }), debug)
        assert.deepEqual([result.status, result.failures], [400, failures])
        assert.doesNotMatch(result.all, /hunter2/)
      })
    }
  }

  test('the value of an unknown name is hidden: it may be a misspelt secret', async () => {
    const settings: JsonSettings = { secret: ['password'], unknownProperties: 'error' }
    const result = await told(JSON_TYPE, `{"pasword":"${SECRET}"}`, (request) => request.bodyMap(model(), { settings }))
    assert.deepEqual(result.failures, ['pasword: (not shown)'])
    assert.doesNotMatch(result.all, /hunter2/)
  })

  test('other values are shown, and so are names', async () => {
    const settings: JsonSettings = { secret: ['password'] }
    const body = `{"password":"${SECRET}","born":"yesterday"}`
    const result = await told(JSON_TYPE, body, (request) => request.bodyMap(model(), { settings }))
    assert.deepEqual(result.failures, ['password: (not shown)', 'born: "yesterday"'])
    assert.match(result.all, /body value "password": expected a number, got \(not shown\); body value "born": .* got "yesterday"/)
  })

  test('the message of a schema of another library is hidden with the value', async () => {
    class Model {
      static fields = fields(this, {
        token: {
          '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ issues: [{ message: `received "${value}"` }] }) },
        },
      })
      token: unknown = null
    }
    const bind = (settings: JsonSettings) => (request: HttpRequest) => request.bodyMap(new Model(), { settings })
    assert.match((await told(JSON_TYPE, `{"token":"${SECRET}"}`, bind({}))).all, /hunter2/)
    assert.doesNotMatch((await told(JSON_TYPE, `{"token":"${SECRET}"}`, bind({ secret: ['token'] }))).all, /hunter2/)
  })

  for (const secret of ['password', [''], [5], { password: true }] as never[]) {
    test(`${JSON.stringify(secret)} is refused`, async () => {
      const bind = (request: HttpRequest): void =>
        assert.throws(() => request.bodyMap({}, { settings: { secret } }), { code: 'WEIR_OPTION_INVALID', message: /settings\.secret/ })
      assert.equal((await told(JSON_TYPE, '{}', bind)).status, 204)
    })
  }
})

describe('properties whose schema is secret', () => {
  class Account {
    @Field(t.string.min(12).secret()) password = ''
    @Field(t.array(t.int.secret())) pins: number[] = []
    @Field(t.object({ cvc: t.string.length(3).secret(), name: t.string.min(3) }).optional()) card?: { cvc: string; name: string }
    name = ''
  }
  const rows: [what: string, type: string, body: string, failures: string[]][] = [
    ['JSON', JSON_TYPE, `{"password":"${SECRET}"}`, ['password: (not shown)']],
    ['a form', FORM_TYPE, `password=${SECRET}&pins[]=${SECRET}`, ['password: (not shown)', 'pins[0]: (not shown)']],
    ['another type', JSON_TYPE, '{"password":123456789}', ['password: (not shown)']],
    ['elements', JSON_TYPE, `{"pins":["${SECRET}"]}`, ['pins[0]: (not shown)']],
    ['something other than a list of them', JSON_TYPE, `{"pins":"${SECRET}"}`, ['pins: (not shown)']],
    [
      'parts of an object, and no others',
      JSON_TYPE,
      `{"card":{"cvc":"${SECRET}","name":"x"}}`,
      ['card.cvc: (not shown)', 'card.name: "x"'],
    ],
    ['what should contain one', JSON_TYPE, `{"card":"${SECRET}"}`, ['card: (not shown)']],
  ]
  for (const [what, type, body, failures] of rows) {
    test(what, async () => {
      const result = await told(type, body, (request) => request.bodyMap(new Account()))
      assert.deepEqual([result.status, result.failures], [400, failures])
      assert.doesNotMatch(result.all, /hunter2|123456789/)
    })
  }

  test('an unknown name, and a value in place of a model that has secrets', async () => {
    const settings: JsonSettings = { unknownProperties: 'error' }
    const bind = (request: HttpRequest) => request.bodyMap({ account: new Account() }, { settings })
    for (const body of [`{"account":"${SECRET}"}`, `{"account":{"Password":"${SECRET}"}}`]) {
      const result = await told(JSON_TYPE, body, bind)
      assert.equal(result.status, 400)
      assert.doesNotMatch(result.all, /hunter2/)
    }
  })
})

test('a secret parameter of a route or a query', async () => {
  const logged: unknown[] = []
  const server = new HttpServer({ logger: { error: (...all) => logged.push(inspect(all, { depth: 9 })) } })
  server.mapGet('/reset/:token', { token: t.uuid.secret(), key: t.int.secret(), page: t.int }, () => 'never')
  const response = await server.inject(`/reset/${SECRET}?key=${SECRET}&page=x`)
  assert.equal(response.status, 400)
  assert.deepEqual(response.json(), {
    title: 'Bad Request',
    status: 400,
    detail:
      'a parameter is missing or cannot be converted: path value "token": expected a UUID, got "(not shown)"; query value "key": expected a whole number, got "(not shown)"; query value "page": expected a whole number, got "x"',
    code: 'WEIR_PARAMETER_INVALID',
    errors: [
      { name: 'token', in: 'path', expected: 'a UUID', actual: '(not shown)' },
      { name: 'key', in: 'query', expected: 'a whole number', actual: '(not shown)' },
      { name: 'page', in: 'query', expected: 'a whole number', actual: 'x' },
    ],
  })
  assert.doesNotMatch(String(logged), /hunter2/)
})
