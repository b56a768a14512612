import assert from 'node:assert/strict'
import { test } from 'node:test'

import { bytes, text } from '../../http/body/plain-body.ts'
import { form, json } from '../../http/body/schema-body.ts'
import { multipart } from '../../http/multipart/form-body.ts'
import { t } from '../../schema/t.ts'
import type { BodyOption } from './declaration.ts'
import { bodyModeOf, bodyReaderOf } from './route-body.ts'

const accepted = (option: BodyOption): readonly string[] | undefined => bodyReaderOf(option, 'POST', '')?.types

test('a schema is read from JSON and, where it fits, from a form', () => {
  assert.deepEqual(accepted(t.object({ a: t.int })), ['application/json', 'application/x-www-form-urlencoded'])
  assert.deepEqual(accepted(t.int), ['application/json'])
  assert.deepEqual(accepted(json(t.object({ a: t.int }))), ['application/json'])
})

test('each kind of body has its reader', () => {
  assert.deepEqual(accepted(form(t.object({ a: t.int }))), ['application/x-www-form-urlencoded'])
  assert.deepEqual(accepted(multipart({ fields: { a: t.int } })), ['multipart/form-data'])
  assert.deepEqual(accepted(text('text/csv')), ['text/csv'])
  assert.deepEqual(accepted(bytes('image/png')), ['image/png'])
})

test('the handler reads the body itself where nothing is declared', () => {
  for (const option of [undefined, 'buffer', 'stream'] as const) assert.equal(bodyReaderOf(option, 'GET', ''), null)
})

test('refuses a body that can never be read', () => {
  for (const method of ['GET', 'HEAD', 'TRACE'])
    assert.throws(() => bodyReaderOf(t.int, method, 'here'), {
      message: new RegExp(`the body of here can never be read: ${method} has none`),
    })
  for (const method of ['POST', 'QUERY', 'DELETE', null]) assert.doesNotThrow(() => bodyReaderOf(t.int, method, 'here'), `${method}`)
  assert.throws(() => bodyReaderOf(form(t.object({ a: t.object({ b: t.int }) })), 'POST', 'here'), {
    message: /can never be read from application\/x-www-form-urlencoded/,
  })
})

test('the mode is that of the reader, or what is written', () => {
  const modeOf = (option: BodyOption | undefined): string => bodyModeOf(option, bodyReaderOf(option, 'POST', ''))
  assert.deepEqual(
    [undefined, 'buffer', 'stream', t.int].map((option) => modeOf(option as BodyOption)),
    ['auto', 'buffer', 'stream', 'buffer'],
  )
  assert.equal(modeOf(multipart({ fields: { a: t.int } })), 'stream')
})
