import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type CookieOptions, setCookie } from './set-cookie.ts'

const IGNORED: readonly (readonly [name: string, options: CookieOptions | undefined, why: RegExp])[] = [
  ['__Host-id', undefined, /browsers ignore the cookie "__Host-id" without secure: true/],
  ['__Host-id', { path: '/', secure: false }, /without secure: true/],
  ['__Host-id', { secure: true }, /without path: '\/'/],
  ['__Host-id', { secure: true, path: '/app' }, /without path: '\/'/],
  ['__Host-id', { secure: true, path: '/', domain: 'example.org' }, /with a domain/],
  ['__HOST-id', { secure: true }, /without path: '\/'/],
  ['__Secure-id', { path: '/' }, /without secure: true/],
  ['id', { sameSite: 'none' }, /without secure: true/],
  ['id', { partitioned: true }, /without secure: true/],
]

for (const [name, options, why] of IGNORED) {
  test(`refuses a cookie that browsers ignore: ${name} ${JSON.stringify(options)}`, () => {
    assert.throws(() => setCookie(name, '1', options), { code: 'WEIR_OPTION_INVALID', message: why })
  })
}

test('accepts what browsers accept', () => {
  assert.equal(setCookie('__Host-id', '1', { secure: true, path: '/' }), '__Host-id=1; Path=/; Secure')
  assert.equal(setCookie('__Secure-id', '1', { secure: true, domain: 'example.org' }), '__Secure-id=1; Domain=example.org; Secure')
  assert.equal(setCookie('id', '1', { secure: true, sameSite: 'none' }), 'id=1; Secure; SameSite=None')
  assert.equal(setCookie('__Hosted', '1'), '__Hosted=1')
})
