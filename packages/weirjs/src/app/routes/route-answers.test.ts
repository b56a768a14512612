import assert from 'node:assert/strict'
import { test } from 'node:test'

import { bytes, text } from '../../http/body/plain-body.ts'
import { json } from '../../http/body/schema-body.ts'
import { t } from '../../schema/t.ts'
import { checkAnswers, declaredAnswers } from './route-answers.ts'

test('accepts schemas, bodies and null, by statuses from 200 to 599', () => {
  assert.doesNotThrow(() => checkAnswers({ 200: t.int, 201: json(t.int), 202: text(), 203: bytes(), 204: null, 304: null, 599: t.int }, ''))
})

test('refuses what no response can be', () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [null, /option "answers" of here is null, not an object/],
    [[t.int], /not an object/],
    [t.int, /not an object/],
    [{ 199: null }, /has "199", which is not a status from 200 to 599/],
    [{ 600: null }, /has "600"/],
    [{ ok: null }, /has "ok"/],
    [{ 204: t.int }, /has a body for status 204, which never has one: write null/],
    [{ 304: text() }, /has a body for status 304/],
    [{ 200: 'text' }, /for status 200, not a schema/],
    [{ 200: undefined }, /for status 200, not a schema/],
  ]
  for (const [answers, message] of cases) assert.throws(() => checkAnswers(answers, 'here'), { code: 'WEIR_ROUTE_DECLARATION', message })
})

test('nothing declared is null', () => {
  assert.equal(declaredAnswers('GET /', {}), null)
  assert.equal(declaredAnswers('GET /', { 201: t.int, 404: null })?.usualStatus, 201)
})
