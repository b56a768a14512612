// How long it takes to find secrets grows with the length of a text, and not with its square: clients choose these texts. If it grew with the
// square, each of these tests would take many minutes.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { fieldSecrets } from '../../src/formats/masking/contents.ts'
import { masked, urlSecrets } from '../../src/formats/masking/ranges.ts'
import { refusedHeadSecrets } from '../../src/formats/masking/refused-head.ts'
import { repeatable, withoutRepeated } from '../../src/formats/masking/repeated.ts'
import { SecretSegments } from '../../src/formats/masking/secret-segments.ts'
import { SecretNames } from '../../src/formats/masking/secret-words.ts'
import { HttpServer } from '../../src/index.ts'
import { bodySecrets } from '../../src/modules/kit/body-secrets.ts'
import { masking } from '../../src/modules/kit/masking.ts'
import { Redaction } from '../../src/modules/kit/redaction.ts'

const LENGTH = 1024 * 1024
const PUMPED_LENGTH = LENGTH / 4

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

const PUMPED = [
  'password=',
  'password:',
  'password: \\',
  'password="',
  '<password>',
  '<a',
  '>',
  '=',
  ':',
  'a',
  ' ',
  '\t',
  '\\"',
  ';',
  '\r',
  '\n',
  '--b\n',
  'a: 1\n',
  'name=',
  'name=password',
  'value=',
  'value=name=password',
  'value="name":"token"',
  'key:',
  '<a><',
  '<token><',
  '<![CDATA[',
  '<token><![CDATA[',
  "token='''",
  '"token",',
  '"',
  '"a',
  '"/*',
  '"//',
  '"%',
  '"\\u',
  '"\\\\',
  "'",
  '%25',
  '%253d',
  '\\u003d',
  'bearer ',
  'basic a',
  '//a@',
  '//',
  '@',
  '?a=/',
  '&next=/reset/',
  '/reset',
  '/app/reset',
  '//reset/',
  '/reset;',
  '%2f',
  '; name*0=a',
  'password: |\n\n',
  '\ncontent-disposition:',
  '\ncontent-disposition: a; name=token\n\n',
  '\ncontent-disposition: a; name=token\r\r--',
  '\0',
  '<key>token</key>',
  '<value>a</value>',
  'token: \\"\\"\\"',
  '"\0:',
  ',',
  '",',
  ',""',
  '"","',
  ',"""',
  ',token\n"',
  'cGFzc3dvcmQ9',
  'cGFzc3dvcmQ9\n',
  'cGFzc3dvcmQ9\n--',
  'cGFz/',
  '%2b',
  '\\/',
  'eyJwYXNzd29yZCI6IiI=',
]

for (const piece of PUMPED)
  test(`a body, and a head that was refused, of many ${JSON.stringify(piece)}`, () => {
    const names = new SecretNames()
    const segments = new SecretSegments('/app')
    for (const template of ['/reset/:token', '/reset/*token', '/:any/reset/:token', '/reset/reset/:token'])
      segments.add(template, ['token'])
    for (const text of [
      piece.repeat(PUMPED_LENGTH / piece.length),
      `password${piece.repeat(PUMPED_LENGTH / piece.length)}`,
      `GET /${piece.repeat(PUMPED_LENGTH / piece.length)}`,
    ]) {
      for (const type of [null, 'text/csv']) assert.equal(masked(text, bodySecrets(text, type, names)).length, text.length)
      assert.equal(masked(text, refusedHeadSecrets(text, names, segments)).length, text.length)
      assert.equal(masked(text, fieldSecrets('x-note', text, names, segments)).length, text.length)
      assert.equal(masked(text, [...urlSecrets(text, names), ...segments.in(text)]).length, text.length)
    }
  })

test('a link of many segments, where many routes have secrets', () => {
  const segments = new SecretSegments('')
  for (let i = 0; i < 5_000; i++) segments.add(`/reset${i}/:token`, ['token'])
  for (const piece of ['/a', '/a;', '/%61']) assert.deepEqual(segments.inLink(piece.repeat(PUMPED_LENGTH / piece.length)), [])
  const link = `${'/a;'.repeat(1_000)}/reset4999/`
  assert.equal(masked(`${link}abc`, segments.inLink(`${link}abc`)), `${link}xxx`)
})

for (const [name, make] of Object.entries<(i: number) => string>({
  'differ at their beginning': (i) => `${'a'.repeat(4 + i)}b${'a'.repeat(40_000)}`,
  'differ in the middle': (i) => `${'a'.repeat(20_000)}${'b'.repeat(1 + i)}${'a'.repeat(20_000)}`,
  'differ at their end': (i) => `${'a'.repeat(40_000)}${'b'.repeat(1 + i)}`,
  'repeat two characters': (i) => `${'ab'.repeat(2 + i)}b${'ab'.repeat(20_000)}`,
}))
  test(`long secrets that ${name}, looked for in a text that is almost like them`, () => {
    const secrets = Array.from({ length: 20 }, (_, i) => make(i))
    for (const text of ['a'.repeat(LENGTH), 'ab'.repeat(LENGTH / 2)]) {
      assert.equal(withoutRepeated(text, secrets), text)
      const last = secrets.at(-1)!
      assert.equal(
        withoutRepeated(`${text}c${last}c${last}${last}`, [last]),
        `${text}c${'x'.repeat(last.length)}c${'x'.repeat(2 * last.length)}`,
      )
    }
  })

test('many short secrets do not crowd out one that is repeated', () => {
  const text = JSON.stringify({ pins: Array.from({ length: 200 }, (_, i) => i), token: 'hunter2SECRET' })
  assert.ok(repeatable(text, bodySecrets(text, null, new SecretNames(['pins']))).includes('hunter2SECRET'))
})

test('a recorded body of many chunks with many secrets', () => {
  const body = 'pin=1&'.repeat(40_000)
  const chunks = [...body].map((char) => `1\r\n${char}\r\n`).join('')
  const text = `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`
  const recorded = masking(new HttpServer(), []).request(text.replaceAll('1\r\n1\r\n', '1\r\n7\r\n'), false)!
  assert.ok(recorded.text.length === text.length && !recorded.text.includes('7'))
})
