// What cannot be mapped: a schema in place of a model, and an asynchronous engine.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import { bodyMap, bodyMapAnonymous, type HttpRequest, HttpServer, type JsonEngine, t } from '../../src/index.ts'
import { FORM_TYPE, JSON_TYPE, see } from '../support/see-request.ts'

/** JavaScript callers are not checked by a compiler. */
type Loose = (model: object) => boolean

describe('a schema is refused as a model', () => {
  const foreign = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) }, parse: () => null }
  const schemas: [what: string, schema: object][] = [
    ['t.object', t.object({ name: t.string })],
    ['t.string', t.string],
    ['of another library', foreign],
    ['of another library, as a function', Object.assign(() => {}, foreign)],
  ]
  for (const [what, schema] of schemas) {
    test(what, async () => {
      const maps: [member: string, map: (request: HttpRequest) => Loose][] = [
        ['bodyMap()', (request) => (model) => request.bodyMap(model)],
        ['bodyMapAnonymous()', (request) => (model) => request.bodyMapAnonymous(model)],
        ['bodyMap()', (request) => (model) => bodyMap(request, model)],
        ['bodyMapAnonymous()', (request) => (model) => bodyMapAnonymous(request, model)],
      ]
      for (const [member, map] of maps) {
        const look = (request: HttpRequest) => {
          const message = new RegExp(
            `${member.replace(/[()]/g, '\\$&')}: a schema cannot be populated: pass an object, such as new User\\(\\)`,
          )
          assert.throws(() => map(request)(schema), { code: 'WEIR_OPTION_INVALID', message })
        }
        for (const [type, body] of [
          [JSON_TYPE, '{"name":"n"}'],
          [FORM_TYPE, 'name=n'],
          ['text/plain', 'n'],
        ] as const)
          await see(type, body, look)
      }
    })
  }
})

describe('an asynchronous JSON engine is refused', () => {
  const plain: JsonEngine = {
    serialize: (value) => JSON.stringify(value),
    deserialize: (text) => JSON.parse(text) as unknown,
    populate: (text, target) => void Object.assign(target, JSON.parse(text)),
  }
  /** An engine whose promise is only visible when it is called. */
  const later: JsonEngine = { ...plain, populate: (text, target) => Promise.resolve().then(() => plain.populate(text, target, {})) }

  for (const method of ['serialize', 'deserialize', 'populate'] as const) {
    test(`one whose ${method} is declared async, by name, before anything is called`, async () => {
      const engine = { ...plain, [method]: async () => '' } as JsonEngine
      const refused = (owner: string) => ({
        code: 'WEIR_OPTION_INVALID',
        message: new RegExp(`${owner}: jsonEngine\\.${method}\\(\\) is asynchronous, .* it must be synchronous$`),
      })
      assert.throws(() => new HttpServer({ jsonEngine: engine }), refused('new HttpServer\\(\\)'))
      const look = (request: HttpRequest) => assert.throws(() => request.bodyMap({}, { jsonEngine: engine }), refused('bodyMap\\(\\)'))
      await see(JSON_TYPE, '{}', look)
    })
  }

  test('one whose populate returns a promise: bodyMap throws and is not true', async () => {
    const refused = { code: 'WEIR_OPTION_INVALID', message: /bodyMap\(\): jsonEngine\.populate\(\) returned a promise, / }
    await see(JSON_TYPE, '{"a":1}', (request) => assert.throws(() => request.bodyMap({ a: 0 }, { jsonEngine: later }), refused))
    await see(JSON_TYPE, '{"a":1}', (request) => assert.throws(() => request.bodyMap({ a: 0 }), refused), { jsonEngine: later })
  })

  test('one whose serialize returns a promise leads to 500 with the reason', async () => {
    const logged: unknown[] = []
    const engine: JsonEngine = { ...plain, serialize: (value) => Promise.resolve(JSON.stringify(value)) as unknown as string }
    const server = new HttpServer({ jsonEngine: engine, logger: { error: (_, detail) => logged.push(detail) } })
    server.mapGet('/', () => ({ a: 1 }))
    assert.equal((await server.inject('/')).status, 500)
    assert.match(String(logged[0]), /jsonEngine\.serialize\(\) returned a promise/)
  })

  test('a promise that rejects does not end the process', async () => {
    const failing: JsonEngine = { ...plain, populate: () => Promise.reject(new Error('too late')) }
    await see(JSON_TYPE, '{}', (request) => assert.throws(() => request.bodyMap({}, { jsonEngine: failing })))
    await setImmediate()
  })

  test('a synchronous one works as before', async () => {
    const model = { a: 0 }
    assert.equal(await see(JSON_TYPE, '{"a":1}', (request) => request.bodyMap(model, { jsonEngine: plain })), true)
    assert.equal(model.a, 1)
  })
})
