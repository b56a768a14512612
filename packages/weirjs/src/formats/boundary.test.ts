import assert from 'node:assert/strict'
import { test } from 'node:test'

import { boundaryOf } from './boundary.ts'

const GIVEN: readonly (readonly [contentType: string, boundary: string])[] = [
  ['multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW', '----WebKitFormBoundary7MA4YWxkTrZu0gW'],
  ['Multipart/Form-Data;BOUNDARY=aB', 'aB'],
  ['multipart/form-data; charset=utf-8; boundary="a b:(c)/=?,\'+_."', "a b:(c)/=?,'+_."],
  ['multipart/form-data; boundary="\\a"', 'a'],
  ['multipart/form-data; boundary=a*b', 'a*b'],
  ["multipart/form-data; boundary=!#$%&'*+-.^_`|~", "!#$%&'*+-.^_`|~"],
  ['multipart/form-data; boundary="!#$%&*^`|~ ()=?/,:"', '!#$%&*^`|~ ()=?/,:'],
  [`multipart/form-data; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
]

for (const [contentType, boundary] of GIVEN)
  test(`finds the boundary of ${contentType}`, () => assert.equal(boundaryOf(contentType), boundary))

const REFUSED = [
  '',
  'text/plain; boundary=a',
  'multipart/mixed; boundary=a',
  'multipart/form-datax; boundary=a',
  'multipart/form-data',
  'multipart/form-data; boundary',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=""',
  'multipart/form-data; boundary=a; boundary=a',
  'multipart/form-data; boundary=a; Boundary=b',
  'multipart/form-data; boundary=a, multipart/form-data; boundary=b',
  'multipart/form-data; boundary=a=b',
  'multipart/form-data; boundary=a@b',
  'multipart/form-data; boundary="a@b"',
  'multipart/form-data; boundary="a\\"b"',
  'multipart/form-data; boundary="a\\\\b"',
  'multipart/form-data; boundary="a\t"',
  'multipart/form-data; boundary="a "',
  'multipart/form-data; boundary="ä"',
  'multipart/form-data; boundary=a b',
  `multipart/form-data; boundary=${'x'.repeat(71)}`,
]

for (const contentType of REFUSED)
  test(`finds no boundary in ${JSON.stringify(contentType)}`, () => assert.equal(boundaryOf(contentType), null))
