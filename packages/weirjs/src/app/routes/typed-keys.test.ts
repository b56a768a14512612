import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange } from '../../../test/support/asked.ts'
import { metadataKey, principalKey } from './typed-keys.ts'

test('a key of metadata makes one entry, and reads only an own one', () => {
  const role = metadataKey<string>('role')
  assert.deepEqual(role('admin'), { role: 'admin' })
  assert.equal(role.of({ metadata: { role: 'admin' } }), 'admin')
  assert.equal(role.of({ metadata: {} }), undefined)
  assert.equal(metadataKey<unknown>('toString').of({ metadata: {} }), undefined)
})

test('a principal is known only to the key that has set it, and only while it is set', () => {
  const [userOf, other] = [principalKey<string>(), principalKey<string>()]
  const { session } = askedExchange()
  assert.equal(userOf(session), null)
  assert.throws(() => userOf.required(session), { code: 'WEIR_PRINCIPAL_MISSING' })
  userOf.set(session, 'ada')
  assert.deepEqual([userOf(session), userOf.required(session), session.principal, other(session)], ['ada', 'ada', 'ada', null])
  session.principal = 'eve'
  assert.equal(userOf(session), null)
  assert.equal(userOf(askedExchange().session), null, 'of another request')
})
