import assert from 'node:assert/strict'
import { test } from 'node:test'

import { fieldSecrets } from './contents.ts'
import { pairSecrets } from './pairs.ts'
import { masked, urlSecrets } from './ranges.ts'
import { SECRET_QUERY, SecretNames, USUAL_SECRETS } from './secret-words.ts'

test('the fields that carry credentials have secret names, however they are written', () => {
  const fields = ['Authorization', 'Proxy-Authorization', 'cookie', 'Cookie2', 'X-Amz-Security-Token', 'X-Auth-Key', 'x-api-key']
  for (const name of [...fields, 'X-Auth-Token', 'X-CSRF-Token', 'X-XSRF-Token']) assert.ok(USUAL_SECRETS.has(name), name)
  for (const name of ['auth-bin', 'X-JWT-Bin', 'sid-bin', 'token-bin']) assert.ok(USUAL_SECRETS.has(name), name)
  for (const name of ['bin', 'Robin', 'Referer', 'User-Agent', 'X-Tenant', 'Accept', 'Author']) assert.ok(!USUAL_SECRETS.has(name), name)
})

test('every name of SECRET_QUERY is secret in a query, and what is secret anywhere is secret there', () => {
  for (const name of [...SECRET_QUERY, 'passwd', 'jwt']) assert.ok(USUAL_SECRETS.hasInQuery(name), name)
  assert.ok(!USUAL_SECRETS.hasInQuery('codes'))
})

test('a code is secret in a query, but not in a form or a field', () => {
  const mask = (): string => '…'
  const callback = '/cb?code=abc&state=s#id_token=t&x=1'
  assert.equal(masked(callback, urlSecrets(callback, USUAL_SECRETS), mask), '/cb?code=…&state=s#id_token=…&x=1')
  assert.deepEqual(pairSecrets('code=DE&sig=1', USUAL_SECRETS), [])
  assert.deepEqual(fieldSecrets('code', 'DE', USUAL_SECRETS), [])
})

test('a name is found decoded, with brackets, and malformed', () => {
  for (const query of ['to%6ben=x', 'token[]=x', 'token%5B%5D=x', 'internal%=x', 'INTERNAL%[]=x'])
    assert.equal(urlSecrets(`/?${query}`, new SecretNames(['internal%'])).length, 1, query)
})

test('a name of the program is secret as that of binary metadata, too', () => {
  const names = new SecretNames(['x-tenant-key'])
  assert.deepEqual(
    ['X-Tenant-Key', 'x-tenant-key-bin', 'tenant-key', 'x-tenant-bin'].map((name) => names.has(name)),
    [true, true, false, false],
  )
})
