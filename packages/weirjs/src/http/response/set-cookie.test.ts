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

const WRONG: readonly (readonly [options: object, message: RegExp])[] = [
  [{ maxAge: 3_600 }, /cookie\(\): maxAge is 3600, .*: write "3600s" if these are seconds$/],
  [{ maxAge: 31_536_000 }, /: write "31536000s" if these are seconds, and "31536000ms" if they are milliseconds$/],
  [{ maxAge: 60_000 }, /maxAge is 60000, /],
  [{ maxAge: '1500ms' }, /maxAge is the string "1500ms", not whole seconds in milliseconds/],
  [{ maxAge: '30 days' }, /: write "30d"$/],
  [{ maxAge: '4000d' }, /of at most 3660 days$/],
  [{ expires: '2030-01-01' }, /expires is the string "2030-01-01", not a date$/],
  [{ expires: new Date(Number.NaN) }, /expires is a Date, not a date$/],
  [{ httpOnly: 'true' }, /httpOnly is the string "true", not true or false$/],
  [{ sameSite: 'None' }, /sameSite is the string "None", not true, false, "lax", "strict" or "none"$/],
  [{ priority: 'urgent' }, /priority is the string "urgent", not "low", "medium" or "high"$/],
]
for (const [options, message] of WRONG) {
  test(`refuses an attribute with a wrong value: ${JSON.stringify(options)}`, () => {
    assert.throws(() => setCookie('id', '1', options as CookieOptions), { code: 'WEIR_OPTION_INVALID', message })
  })
}

test('the age of a cookie is a text, or milliseconds of at least a day', () => {
  assert.equal(setCookie('id', '1', { maxAge: '1h' }), 'id=1; Max-Age=3600')
  assert.equal(setCookie('id', '1', { maxAge: 86_400_000 }), 'id=1; Max-Age=86400')
  assert.equal(setCookie('id', '1', { maxAge: 0 }), 'id=1; Max-Age=0')
})

test('accepts what browsers accept', () => {
  assert.equal(setCookie('__Host-id', '1', { secure: true, path: '/' }), '__Host-id=1; Path=/; Secure')
  assert.equal(setCookie('__Secure-id', '1', { secure: true, domain: 'example.org' }), '__Secure-id=1; Domain=example.org; Secure')
  assert.equal(setCookie('id', '1', { secure: true, sameSite: 'none' }), 'id=1; Secure; SameSite=None')
  assert.equal(setCookie('__Hosted', '1'), '__Hosted=1')
})

test('a value that is missing is refused, and does not become its name', () => {
  for (const [value, kind] of [
    [undefined, 'undefined'],
    [null, 'null'],
    [{}, 'an object'],
  ])
    assert.throws(() => setCookie('id', value as unknown as string), {
      code: 'WEIR_OPTION_INVALID',
      message: new RegExp(`the value of "id" is ${kind}, not a text, such as JSON.stringify\\(value\\)$`),
    })
  assert.equal(setCookie('id', 7 as unknown as string), 'id=7')
  assert.equal(setCookie('id', ''), 'id=')
})
