import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { deflateRawSync, gzipSync } from 'node:zlib'

import fc from 'fast-check'

import { fitsTypes, isTold, SIGNATURE_BYTES, typeShown, whatIs } from './file-signatures.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')
/** How files of each type begin, as the programs write them that make most of them. */
const FILES: readonly (readonly [type: string, first: Buffer])[] = [
  ['image/png', bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR')],
  ['image/jpeg', bytes('\xff\xd8\xff\xe0\0\x10JFIF\0')],
  ['image/jpeg', bytes('\xff\xd8\xff\xe1\x1d\xfeExif\0\0')],
  ['image/gif', bytes('GIF89a\x01\0\x01\0')],
  ['image/webp', bytes('RIFF\x24\0\0\0WEBPVP8 ')],
  ['image/avif', bytes('\0\0\0\x20ftypavif\0\0\0\0avifmif1')],
  ['image/heic', bytes('\0\0\0\x24ftypheic\0\0\0\0mif1heic')],
  ['image/heif', bytes('\0\0\0\x18ftypmif1\0\0\0\0mif1')],
  ['image/bmp', bytes('BM\x46\0\0\0\0\0\0\0\x36\0\0\0')],
  ['image/tiff', bytes('II*\0\x08\0\0\0')],
  ['image/x-icon', bytes('\0\0\x01\0\x01\0\x10\x10')],
  ['image/jxl', bytes('\xff\x0a\xf0\x8c')],
  ['application/pdf', bytes('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n')],
  ['application/zip', bytes('PK\x03\x04\x14\0\0\0\x08\0')],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', bytes('PK\x03\x04\x14\0\x06\0\x08\0')],
  ['application/vnd.oasis.opendocument.text', bytes('PK\x03\x04\x14\0\0\x08\0\0')],
  ['application/msword', bytes('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0')],
  ['application/gzip', gzipSync('text')],
  ['application/x-7z-compressed', bytes("7z\xbc\xaf'\x1c\0\x04")],
  ['video/mp4', bytes('\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41')],
  ['audio/mp4', bytes('\0\0\0\x1cftypM4A \0\0\0\0M4A mp42isom')],
  ['video/quicktime', bytes('\0\0\0\x14ftypqt  \0\0\x02\0qt  ')],
  ['video/webm', bytes('\x1a\x45\xdf\xa3\x9f\x42\x86\x81')],
  ['video/x-msvideo', bytes('RIFF\x24\0\0\0AVI LIST')],
  ['audio/wav', bytes('RIFF\x24\0\0\0WAVEfmt ')],
  ['audio/mpeg', bytes('ID3\x04\0\0\0\0\0\x23TSSE')],
  ['audio/mpeg', bytes('\xff\xfb\x90\x64\0\0')],
  ['audio/flac', bytes('fLaC\0\0\0\x22')],
  ['audio/ogg', bytes('OggS\0\x02\0\0')],
  ['font/woff2', bytes('wOF2\0\x01\0\0\0')],
]

describe('the first bytes of a file', () => {
  for (const [type, first] of FILES) {
    test(`${type}: ${JSON.stringify(first.toString('latin1').slice(0, 14))}`, () => {
      const group = `${type.split('/')[0]}/*`
      for (const types of [[type], [group], ['*/*'], ['text/csv', type]])
        for (const stated of [type, null, 'application/octet-stream', 'image/svg+xml'])
          assert.ok(fitsTypes(first, types, stated), `${types}, ${stated}`)
      for (const other of ['image/png', 'application/pdf', 'video/mp4', 'font/woff'].filter(
        (one) => one !== type && one.split('/')[0] !== type.split('/')[0],
      ))
        for (const stated of [type, other, null]) assert.ok(!fitsTypes(first, [other], stated), `${other}, ${stated}`)
      assert.ok(isTold(type))
      assert.ok(!fitsTypes(first, ['text/plain'], 'text/plain'), 'it is no text')
      for (let length = 0; length < 2; length++) assert.ok(!fitsTypes(first.subarray(0, length), [type], type), 'it is too short')
    })
  }

  const PAGE = bytes('<script>alert(1)</script>')

  test('what only claims to be an image is refused, SVG by a range too', () => {
    assert.ok(!fitsTypes(PAGE, ['image/*'], 'image/png'))
    assert.ok(!fitsTypes(PAGE, ['image/*'], 'image/svg+xml'))
    assert.ok(!fitsTypes(PAGE, ['image/*', 'application/pdf'], 'application/pdf'))
    assert.ok(!fitsTypes(PAGE, ['image/png', 'application/octet-stream'], 'image/png'))
    assert.equal(whatIs(PAGE), 'something else')
    assert.ok(fitsTypes(PAGE, ['image/svg+xml'], 'image/svg+xml'), 'named on its own, it counts as stated')
  })

  test('types that bytes cannot tell count as stated, unless the bytes are something else', () => {
    assert.ok(fitsTypes(bytes('a,b\n1,2\n'), ['text/csv'], 'text/csv'))
    assert.ok(fitsTypes(bytes('a,b\n1,2\n'), ['text/*'], 'text/csv'))
    assert.ok(!fitsTypes(FILES[0]![1], ['text/*'], 'text/csv'))
    assert.ok(fitsTypes(FILES[0]![1], ['application/octet-stream'], 'application/octet-stream'))
    assert.ok(fitsTypes(deflateRawSync('x'), ['application/vnd.own'], 'application/vnd.own'))
    assert.ok(fitsTypes(bytes('PK\x03\x04'), ['model/3mf'], 'model/3mf'), 'a format of its own inside a ZIP')
    assert.ok(!isTold('text/csv') && !isTold('text/*') && !isTold('application/*') && isTold('image/*'))
  })

  test('of formats that begin alike, the first one that is allowed counts', () => {
    const zip = bytes('PK\x03\x04')
    assert.equal(typeShown(zip, ['image/*', 'application/epub+zip']), 'application/epub+zip')
    assert.equal(typeShown(bytes('\0\0\0\x18ftypisom'), ['audio/*']), 'audio/mp4')
    for (const types of [['application/zip', 'application/epub+zip'], ['model/3mf'], []])
      assert.equal(typeShown(zip, types), 'application/zip')
    assert.equal(typeShown(bytes('a,b'), ['text/csv']), null)
  })

  test('no text in UTF-8 or UTF-16 is taken for a binary format', () => {
    const words = ['BM', 'ID3', 'true', 'GIF', 'PK', 'II*', 'MM', 'Rar', 'RIFF', 'ftyp', 'moov', '\ufeff', 'é', '中']
    const text = fc
      .array(fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'grapheme' })), { maxLength: 6 })
      .map((parts) => parts.join(' '))
    fc.assert(
      fc.property(text, fc.constantFrom('utf8' as const, 'utf16le' as const), (value, encoding) => {
        const first = Buffer.from(encoding === 'utf16le' ? `\ufeff${value}` : value, encoding).subarray(0, SIGNATURE_BYTES)
        assert.ok(fitsTypes(first, ['text/plain'], 'text/plain'), `${JSON.stringify(value)} is ${whatIs(first)}`)
      }),
      { numRuns: 2_000 },
    )
  })
})
