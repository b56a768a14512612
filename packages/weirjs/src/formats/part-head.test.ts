import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type PartHead, readPartHead } from './part-head.ts'

function disposition(parameters: string): PartHead {
  return readPartHead([`Content-Disposition: form-data; ${parameters}`])
}

const NAMES: readonly (readonly [says: string, parameters: string, name: string, fileName: string | null])[] = [
  ['a field has a name', 'name="a"', 'a', null],
  ['a name may be empty', 'name=""', '', null],
  ['a name may be a token', 'name=a', 'a', null],
  ['a file has a file name, even if it is empty', 'name="a"; filename=""', 'a', ''],
  ['parameters come in any order and case, with any blanks around semicolons', 'FileName="f" ;\tNAME="a";', 'a', 'f'],
  ['other parameters are ignored', 'name="a"; size=3; name*=x', 'a', null],
  ['a semicolon in quotes is text', 'name="a; filename=b"', 'a; filename=b', null],
  ['names are UTF-8', 'name="näme"; filename="日本.txt"', 'näme', '日本.txt'],
  ['a Windows path is not changed', 'name="a"; filename="C:\\path\\x.txt"', 'a', 'C:\\path\\x.txt'],
  ['a backslash escapes a quote and itself, nothing else', 'name="a\\"b\\\\c\\d"', 'a"b\\c\\d', null],
  ['a backslash at the end of a name is doubled by clients that escape', 'name="a\\\\"; filename="b"', 'a\\', 'b'],
  ['the three escapes of HTML are undone', 'name="a%22b%0D%0Ac"; filename="%22"', 'a"b\r\nc', '"'],
  ['no other percent sign is an escape', 'name="100%"; filename="a%20b%41%0a%2522"', '100%', 'a%20b%41%0a%2522'],
  ['names that objects inherit are names', 'name="__proto__"; filename="constructor"', '__proto__', 'constructor'],
  ['filename* is honoured', 'name="a"; filename*=UTF-8\'\'na%C3%AFve%20x', 'a', 'naïve x'],
  ['filename* takes precedence over filename', 'name="a"; filename="plain"; filename*=utf-8\'en\'%e2%82%ac', 'a', '€'],
  ['filename* may be ISO-8859-1', 'name="a"; filename*=iso-8859-1\'\'%A3', 'a', '£'],
  ['a filename* that is not UTF-8 is ignored if there is a filename', 'name="a"; filename="f"; filename*=UTF-8\'\'%C3', 'a', 'f'],
  ['a filename* with a bad escape is ignored if there is a filename', 'name="a"; filename="f"; filename*=UTF-8\'\'%zz', 'a', 'f'],
  ['a filename* without charset is ignored if there is a filename', 'name="a"; filename="f"; filename*=x', 'a', 'f'],
  ['a filename* of an unknown charset is ignored if there is a filename', 'name="a"; filename="f"; filename*=koi8-r\'\'%C3', 'a', 'f'],
  ['a filename* with NUL leaves filename', 'name="a"; filename="f"; filename*=UTF-8\'\'x.exe%00.txt', 'a', 'f'],
]

for (const [says, parameters, name, fileName] of NAMES) {
  test(`${says}: ${parameters}`, () => assert.deepEqual(disposition(parameters), { name, fileName, contentType: null, charset: 'utf-8' }))
}

test('a type is returned as it was sent; other fields are ignored', () => {
  const lines = [
    'X-Other: 1',
    'content-type:  Text/Plain; charset=UTF-8\t',
    'CONTENT-DISPOSITION:FORM-DATA;name=a',
    'X-Other: 2',
    'X-Empty:',
  ]
  assert.deepEqual(readPartHead(lines), { name: 'a', fileName: null, contentType: 'Text/Plain; charset=UTF-8', charset: 'utf-8' })
  assert.equal(readPartHead([...lines.slice(2), 'Content-Type:'])?.contentType, null)
})

test('a transfer encoding that changes nothing is allowed, any other is refused', () => {
  const line = 'Content-Disposition: form-data; name=a'
  for (const encoding of ['7bit', '8Bit', 'BINARY']) assert.equal(readPartHead([line, `Content-Transfer-Encoding: ${encoding}`]).name, 'a')
  for (const encoding of ['base64', 'quoted-printable', '', 'x-7bit', '7bit, base64']) {
    assert.throws(() => readPartHead([line, `Content-Transfer-Encoding: ${encoding}`]), { code: 'WEIR_MULTIPART_ENCODING' })
  }
})

const NO_NAME = [
  [],
  ['Content-Type: text/plain'],
  ['Content-Disposition: attachment; name="a"'],
  ['Content-Disposition: form-data2; name="a"'],
  ['Content-Disposition: '],
  ['Content-Disposition: form-data'],
  ['Content-Disposition: form-data; filename="a"'],
  ["Content-Disposition: form-data; name*=UTF-8''a"],
]

for (const lines of NO_NAME) {
  test(`a part without a name is refused: ${JSON.stringify(lines)}`, () =>
    assert.throws(() => readPartHead(lines), { code: 'WEIR_MULTIPART_PART_NAME', status: 400 }))
}

const GOOD = 'Content-Disposition: form-data; name="a"'

const MALFORMED = [
  [GOOD, 'no colon'],
  [GOOD, ': no name'],
  [GOOD, 'a name: x'],
  [GOOD, 'Content-Type : text/plain'],
  [GOOD, 'Content-Typé: text/plain'],
  [GOOD, GOOD],
  [GOOD, 'Content-Type: a/b', 'content-type: a/b'],
  [GOOD, 'Content-Transfer-Encoding: binary', 'Content-Transfer-Encoding: binary'],
  [`${GOOD}; name="b"`],
  [`${GOOD}; NAME="a"`],
  [`${GOOD}; filename="a"; filename="b"`],
  [`${GOOD}; filename*=x`],
  [`${GOOD}; filename*=UTF-8''%00`],
  [`${GOOD}; filename`],
  [`${GOOD}; filename=`],
  [`${GOOD}; filename =x`],
  [`${GOOD}; filename= "x"`],
  [`${GOOD}; filename="x`],
  [`${GOOD}; filename="x\\"`],
  [`${GOOD}; filename="x"y`],
  [`${GOOD}; filename=x y`],
  [`${GOOD}; ="x"`],
  [`${GOOD}; x"y"`],
  [`${GOOD} filename="x"`],
  ['Content-Disposition: form-data, name="a"'],
]

for (const lines of MALFORMED) {
  test(`a head that does not follow its grammar is refused: ${JSON.stringify(lines)}`, () =>
    assert.throws(() => readPartHead(lines), { code: 'WEIR_MULTIPART_HEADER_SYNTAX', status: 400 }))
}
