import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { isFieldValue } from '../../base/ascii.ts'

import { attachment } from './attachment.ts'

const CASES: readonly (readonly [says: string, name: string, value: string])[] = [
  ['a plain name is quoted', 'report 1 (final).pdf', 'attachment; filename="report 1 (final).pdf"'],
  [
    'a quote appears only in the extended form',
    'the "best".txt',
    `attachment; filename="the _best_.txt"; filename*=UTF-8''the%20%22best%22.txt`,
  ],
  [
    'and so does a percent sign, which some clients would decode',
    '100%41.txt',
    `attachment; filename="100_41.txt"; filename*=UTF-8''100%2541.txt`,
  ],
  [
    'and so do characters that are not ASCII',
    'naïve €.txt',
    `attachment; filename="na_ve _.txt"; filename*=UTF-8''na%C3%AFve%20%E2%82%AC.txt`,
  ],
  ['a character outside the BMP is one character', '😀.png', `attachment; filename="_.png"; filename*=UTF-8''%F0%9F%98%80.png`],
  [
    'the characters that only RFC 8187 encodes, and not encodeURIComponent, are encoded',
    "é'()*!~",
    `attachment; filename="_'()*!~"; filename*=UTF-8''%C3%A9%27%28%29%2A!~`,
  ],
  ['control characters are removed', 'a\r\nSet-Cookie: b\u0000\u007f\u0085\t.txt', 'attachment; filename="aSet-Cookie: b.txt"'],
  ['slashes are replaced', '../..\\etc/passwd', 'attachment; filename=".._.._etc_passwd"'],
  ['a lone surrogate becomes U+FFFD', 'a\ud800.txt', `attachment; filename="a_.txt"; filename*=UTF-8''a%EF%BF%BD.txt`],
  ['an empty name is left out', '\u0001', 'attachment'],
]

for (const [says, name, value] of CASES) {
  test(`attachment: ${says}`, () => assert.equal(attachment(name), value))
}

test('attachment: any name can be sent, and the extended form keeps all of it except controls and slashes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      const value = attachment(name)
      assert.ok(isFieldValue(value))
      const kept = name.replace(/\p{Cc}/gu, '').replace(/[/\\]/g, '_')
      const match = /^attachment(?:; filename="([ !#-$&-[\]-~]+)"(?:; filename\*=UTF-8''([\w!#$&+.^`|~%-]+))?)?$/.exec(value)
      assert.ok(match, value)
      assert.equal(match[2] === undefined ? (match[1] ?? '') : decodeURIComponent(match[2]), kept)
    }),
  )
})
