import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { askedHead, routeOf, tableOf } from '../../../test/support/asked.ts'
import { DEFAULT_LIMITS } from '../../base/limits.ts'
import { multipart } from '../../http/multipart/form-body.ts'
import type { AnySchema } from '../../schema/standard.ts'
import { t } from '../../schema/t.ts'
import { checkedBody } from './checked-body.ts'

const SETTINGS = { limits: DEFAULT_LIMITS, jsonEngine: null, invalidBodyStatus: 400 } as const
const never = () => assert.fail('code of the program gets the body')
const foreign = { '~standard': { version: 1, vendor: 'other', validate: never } } as unknown as AnySchema

function checked(body: unknown, text = '7', settings: object = SETTINGS, ...fields: string[]) {
  const route = routeOf(tableOf({}), 'POST /', body === undefined ? {} : { body })
  const head = askedHead('POST /', 'Content-Type: application/json', `Content-Length: ${text.length}`, ...fields)
  return checkedBody(route, head, { bytes: Buffer.from(text), settings: settings as typeof SETTINGS })
}

test('a body that fits, and one that does not', () => {
  assert.deepEqual(checked(t.int), { isChecked: true, error: null })
  const wrong = checked(t.int, '"x"')
  assert.deepEqual([wrong.isChecked, wrong.error instanceof Error], [true, true])
})

test('is not checked where code of the program would get it, or it is not known as a whole', () => {
  const engine = { ...SETTINGS, jsonEngine: { parse: never, serialize: never } }
  const cases = {
    'no body is declared': checked(undefined),
    'a schema of another library': checked(foreign),
    'one within a schema': checked(t.object({ a: foreign })),
    'a JSON engine': checked(t.int, '7', engine),
    'a form in parts': checked(multipart({ fields: { a: t.int } })),
    'a coding': checked(t.int, '7', SETTINGS, 'Content-Encoding: gzip'),
    'no bytes': checked(t.int, ''),
  }
  for (const [name, { isChecked }] of Object.entries(cases)) assert.equal(isChecked, false, name)
  const route = routeOf(tableOf({}), 'POST /', { body: t.int })
  const head = askedHead('POST /', 'Content-Length: 2')
  assert.equal(checkedBody(route, head, null).isChecked, false)
  assert.equal(checkedBody(route, head, { bytes: Buffer.from('7'), settings: SETTINGS }).isChecked, false, 'another length')
  assert.equal(checkedBody(null, head, { bytes: Buffer.from('77'), settings: SETTINGS }).isChecked, false)
})
