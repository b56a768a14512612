import assert from 'node:assert/strict'
import { test } from 'node:test'

import { charsetOf, decodeText } from './charset.ts'

const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

test('only the labels of UTF-8 and windows-1252 are known, in any case', () => {
  for (const label of [undefined, 'utf-8', 'UTF-8', 'utf8']) assert.equal(charsetOf(label), 'utf-8')
  const all =
    'ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252'
  for (const label of all.split(' ')) for (const one of [label, label.toUpperCase()]) assert.equal(charsetOf(one), 'windows-1252', one)
  const others =
    'utf-16 utf-16le utf-7 utf8x ibm037 iso-8859-15 iso-8859-1:1987 iso--8859-1 isolatin1 cslatin1 latin2 l11 x-ascii ibm1252 ansi_x3a4-1968 shift_jis iso-2022-jp constructor'
  for (const label of ['', ' utf-8', 'latin1\n', '\u0131so-8859-1', 'u\u017f-ascii', ...others.split(' ')])
    assert.equal(charsetOf(label), null, label)
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

test('text in any charset takes tens of milliseconds per megabyte at most, whatever its bytes are', () => {
  const bytes = 1024 * 1024
  const costOf = (work: () => unknown): number => {
    const costs = [1, 2, 3].map(() => {
      const before = process.cpuUsage()
      work()
      const { user, system } = process.cpuUsage(before)
      return user + system
    })
    return Math.min(...costs)
  }
  const json = `"${'\\n'.repeat(bytes / 2)}"`
  const most = 40 * costOf(() => JSON.parse(json))
  for (const charset of ['utf-8', 'windows-1252'] as const)
    for (const pattern of [[0x80], [0x81], [0x61, 0x99], [0x61], [0xff], every]) {
      const text = Buffer.alloc(bytes, Buffer.from(pattern))
      const cost = costOf(() => decodeText(text, 0, bytes, charset))
      assert.ok(cost <= most, `${charset} ${pattern[0]}: ${cost} µs, and at most ${most}`)
    }
})
