import assert from 'node:assert/strict'
import { test } from 'node:test'

import { t } from '../../schema/t.ts'
import { cookie, header } from './parameter-source.ts'

test('names of fields are compared in lower case, those of cookies as they are', () => {
  assert.equal(header('X-Tenant', t.string).name, 'x-tenant')
  assert.equal(cookie('Theme', t.string).name, 'Theme')
})

test('refuses what is not a name or not a schema', () => {
  for (const name of ['', 'a b', 'a:b', 'ä', 7 as unknown as string])
    for (const make of [header, cookie]) assert.throws(() => make(name, t.string), { code: 'WEIR_ROUTE_DECLARATION' })
  assert.throws(() => header('a', undefined as never), { message: /header\("a"\) needs a schema, such as t.string, not undefined/ })
  assert.throws(() => cookie('a', {} as never), { message: /cookie\("a"\) needs a schema/ })
})
