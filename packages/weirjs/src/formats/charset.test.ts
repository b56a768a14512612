import assert from 'node:assert/strict'
import { test } from 'node:test'

import { charsetOf, decodeText } from './charset.ts'

const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

test('only the labels of UTF-8 and windows-1252 are known, in any case', () => {
  for (const label of [undefined, 'utf-8', 'UTF-8', 'utf8']) assert.equal(charsetOf(label), 'utf-8')
  for (const label of ['ISO-8859-1', 'iso8859-1', 'Latin1', 'US-ASCII', 'windows-1252', 'CP1252'])
    assert.equal(charsetOf(label), 'windows-1252')
  for (const label of ['', 'utf-16', 'utf-16le', 'utf-7', 'ibm037', 'ISO-8859-15', 'shift_jis', 'iso-2022-jp', 'constructor', ' utf-8'])
    assert.equal(charsetOf(label), null)
})

test('windows-1252 is Latin-1 except for 0x80 to 0x9F, which the Encoding standard defines', () => {
  const text = decodeText(every, 0, 256, 'windows-1252')
  assert.equal(text.length, 256)
  const expected =
    '20ac 81 201a 192 201e 2026 2020 2021 2c6 2030 160 2039 152 8d 17d 8f 90 2018 2019 201c 201d 2022 2013 2014 2dc 2122 161 203a 153 9d 17e 178'
  assert.deepEqual(
    [...text.slice(0x80, 0xa0)].map((one) => one.charCodeAt(0).toString(16)),
    expected.split(' '),
  )
  for (let byte = 0; byte < 256; byte++) if (byte < 0x80 || byte > 0x9f) assert.equal(text.charCodeAt(byte), byte)
})

test('UTF-8 is decoded unchanged', () => {
  const bytes = Buffer.from('xJürgenx')
  assert.equal(decodeText(bytes, 1, bytes.length - 1, 'utf-8'), 'Jürgen')
  assert.equal(decodeText(every, 0xfc, 0xfd, 'utf-8'), '\ufffd')
})
