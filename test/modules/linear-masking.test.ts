// How long it takes to find secrets grows with the length of a text, and not with its square: clients choose these texts. If it grew with the
// square, each of these tests would take many minutes.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { bodySecrets } from '../../src/formats/masking/body-secrets.ts'
import { SecretNames } from '../../src/formats/masking/secret-words.ts'
import { Redaction } from '../../src/modules/redaction.ts'

const LENGTH = 1024 * 1024

for (const [name, start] of Object.entries({
  'question marks': '/=%?',
  'question marks after a parameter': '/?a=%&?',
  'number signs': '/=%#',
  ampersands: '/=%&',
  brackets: '/?a=b&[',
  plus: '/?a=b&+',
}))
  test(`a URL with many ${name}`, () => {
    const url = start + start.at(-1)!.repeat(LENGTH)
    assert.equal(new Redaction('test', 'secretQuery').query(url), url)
  })

test('a secret parameter after many question marks', () => {
  assert.equal(new Redaction('test', 'secretQuery').query('/?a??token=b&c=d'), '/?a??token=(not shown)&c=d')
})

test('a form of many delimiters without a part', () => {
  assert.deepEqual(bodySecrets('--b'.repeat(LENGTH), 'multipart/form-data; boundary=b', new SecretNames()), [])
})
