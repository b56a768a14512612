import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Mismatch } from './mismatch.ts'
import { t } from './t.ts'

const label = 'a'.repeat(63)

const EMAILS = [
  'a@b',
  'ada@example.com',
  'ada.lovelace+notes@mail.example.co.uk',
  "!#$%&'*+/=?^_`{|}~-@example.com",
  '.a..b.@example.com', // the grammar of HTML allows dots anywhere
  '1@2.3',
  'a@x-y.de',
  'a@xn--bcher-kva.example',
  `a@${label}.de`,
  `${'a'.repeat(250)}@b.c`,
]

const NOT_EMAILS = [
  '',
  'ada',
  '@example.com',
  'ada@',
  'ada@@example.com',
  'a b@example.com',
  'ada@example.com ',
  '\nada@example.com',
  'ada@example.com\n',
  'ada@.com',
  'ada@example..com',
  'ada@example.com.',
  'ada@-example.com',
  'ada@example-.com',
  'ada@ex_ample.com',
  `ada@${label}a.de`,
  '"ada lovelace"@example.com',
  'ada@[127.0.0.1]',
  'Ada <ada@example.com>',
  'ada@example.com,bob@example.com',
  'mailto:ada@example.com',
  'ädä@example.com',
  'ada@exämple.com',
  `${'a'.repeat(251)}@b.c`,
]

const URLS = [
  'http://example.com',
  'https://example.com/',
  'HTTPS://EXAMPLE.COM',
  'https://example.com:8443/a/b;c?d=e&f#g',
  'https://example.com?a@b',
  'https://example.com/@ada',
  'http://127.0.0.1:3000/',
  'http://[::1]/',
  'http://localhost',
  'https://exämple.com/ä?ö#ü',
  `https://example.com/${'x'.repeat(7_980)}`,
  `https://${'a'.repeat(255)}:65535/`,
]

const NOT_URLS = [
  '',
  'example.com',
  '//example.com',
  '/path',
  'https:example.com',
  'https:/example.com',
  'https:///example.com',
  'https://',
  'https://?x',
  'javascript:alert(1)',
  'data:text/html,x',
  'ftp://example.com',
  'mailto:ada@example.com',
  'file:///etc/passwd',
  ' https://example.com',
  'https://example.com ',
  'https://exa mple.com',
  'https://example.com/a b',
  'https://example.com/\n',
  'java\nscript:alert(1)',
  'https://example.com\\@evil.example',
  'https:\\\\example.com',
  'https://ada@example.com',
  'https://ada:secret@example.com',
  'https://example.com%40evil.example',
  'https://example.com:99999',
  'https://example.com:x',
  'https://a..b%00',
  'https://[::1',
  'https://256.256.256.256',
  'https://example.com/\ud800',
  `https://example.com/${'x'.repeat(7_981)}`,
  `https://${'a'.repeat(262)}/`,
]

test('an email address follows the grammar of HTML', () => {
  for (const text of EMAILS) assert.equal(t.email.fromText(text), text)
  for (const text of NOT_EMAILS) assert.ok(t.email.fromText(text) instanceof Mismatch, text)
  assert.deepEqual(t.email.fromValue('ada'), new Mismatch('an email address', '"ada"'))
  assert.ok(t.email.fromValue(5) instanceof Mismatch)
  assert.deepEqual(t.email.jsonSchema(), { type: 'string', format: 'email', maxLength: 254 })
})

test('a URL is absolute, of http or https, without a user, and needs no repair', () => {
  for (const text of URLS) assert.equal(t.url.fromText(text), text)
  for (const text of NOT_URLS) assert.ok(t.url.fromText(text) instanceof Mismatch, JSON.stringify(text))
  assert.deepEqual(t.url.fromValue(5), new Mismatch('a URL like https://example.com/path', '5'))
  assert.deepEqual(t.url.jsonSchema(), { type: 'string', format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://', maxLength: 8_000 })
})

test('the URL parser reads what is accepted as the host that the text shows', () => {
  for (const text of URLS) {
    const { username, password, protocol, host } = new URL(text)
    assert.deepEqual([username, password, /^https?:$/.test(protocol)], ['', '', true])
    assert.equal(host, new URL(`${protocol}//${/^https?:\/\/([^/?#]*)/i.exec(text)![1]}`).host)
  }
})

test('presence and messages work as in every schema', () => {
  assert.equal(t.email.optional().absent(), undefined)
  assert.equal(t.url.nullable().fromValue(null), null)
  assert.deepEqual(t.email.message('an address that we can write to').fromText('x'), new Mismatch('an address that we can write to', 'x'))
})
