// safeFileName: whatever a client calls its file, the result is a plain name in one directory, on any common file system.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { safeFileName } from '../../src/index.ts'

const rows: [hostile: string | null | undefined, safe: string][] = [
  // Valid names stay unchanged.
  ['report.pdf', 'report.pdf'],
  ['Übersicht 2024 (Kopie).tar.gz', 'Übersicht 2024 (Kopie).tar.gz'],
  ['日本語.txt', '日本語.txt'],
  ['👩‍👩‍👧.png', '👩‍👩‍👧.png'],
  ['no extension', 'no extension'],
  ["it's & that.txt", "it's & that.txt"],
  // Nothing is left.
  [null, 'upload.bin'],
  [undefined, 'upload.bin'],
  ['', 'upload.bin'],
  ['.', 'upload.bin'],
  ['..', 'upload.bin'],
  ['...', 'upload.bin'],
  ['   ', 'upload.bin'],
  ['\u00a0\u2003', 'upload.bin'],
  ['???', 'upload.bin'],
  ['\0', 'upload.bin'],
  ['/', 'upload.bin'],
  ['a/', 'upload.bin'],
  ['a\\', 'upload.bin'],
  ['../', 'upload.bin'],
  // Only the last segment.
  ['/etc/passwd', 'passwd'],
  ['../../etc/passwd', 'passwd'],
  ['..\\..\\windows\\win.ini', 'win.ini'],
  ['C:\\fakepath\\me.png', 'me.png'],
  ['C:me.png', 'C_me.png'],
  ['\\\\server\\share\\x.txt', 'x.txt'],
  ['a/b\\c.txt', 'c.txt'],
  ['a\\b/c.txt', 'c.txt'],
  ['....//x', 'x'],
  ['%2e%2e%2fx', '%2e%2e%2fx'],
  ['..\0/x', 'x'],
  // No hidden files, and no characters at the edges that Windows drops.
  ['.htaccess', 'htaccess'],
  ['..x', 'x'],
  [' x ', 'x'],
  ['x.', 'x'],
  ['x. . .', 'x'],
  ['x.php.', 'x.php'],
  ['x.php ', 'x.php'],
  ['.. /x.. ', 'x'],
  // Controls, streams, wildcards, directions.
  ['x.php\0.png', 'x.php_.png'],
  ['a\r\nb.txt', 'a__b.txt'],
  ['a\tb', 'a_b'],
  ['a\x7f\x85b', 'a__b'],
  ['x.txt::$DATA', 'x.txt__$DATA'],
  ['a<b>c"d|e?f*g', 'a_b_c_d_e_f_g'],
  ['invoice\u202efdp.exe', 'invoice_fdp.exe'],
  ['a\u2066b\u2069\u200ec\u200fd', 'a_b__c_d'],
  ['a\ud800b\udc00', 'a_b_'],
  // Devices of Windows, whatever their extension.
  ['CON', '_CON'],
  ['con.txt', '_con.txt'],
  ['Nul.tar.gz', '_Nul.tar.gz'],
  ['aux .txt', '_aux .txt'],
  ['COM1', '_COM1'],
  ['com¹.log', '_com¹.log'],
  ['LPT9.x', '_LPT9.x'],
  ['CONIN$', '_CONIN$'],
  ['prn ', '_prn'],
  ['console.txt', 'console.txt'],
  ['com10', 'com10'],
  ['auxiliary', 'auxiliary'],
  // Two encodings of one name become one.
  ['e\u0301.txt', '\u00e9.txt'],
]
for (const [hostile, safe] of rows) {
  test(`${JSON.stringify(hostile)} becomes ${JSON.stringify(safe)}`, () => assert.equal(safeFileName(hostile), safe))
}

test('a custom fallback', () => {
  assert.deepEqual([safeFileName('..', 'file'), safeFileName(null, 'file'), safeFileName('x', 'file')], ['file', 'file', 'x'])
})

describe('long names', () => {
  const bytes = (name: string): number => Buffer.byteLength(name)

  test('223 bytes are kept, longer names are shortened, and the extension is kept', () => {
    assert.equal(safeFileName('x'.repeat(223)), 'x'.repeat(223))
    assert.equal(safeFileName('x'.repeat(224)), 'x'.repeat(223))
    assert.equal(safeFileName(`${'x'.repeat(300)}.jpeg`), `${'x'.repeat(218)}.jpeg`)
    assert.equal(safeFileName(`${'x'.repeat(300)}.${'y'.repeat(300)}`), 'x'.repeat(223), 'a very long extension does not count as one')
  })

  test('no character is split', () => {
    for (const character of ['ü', '日', '👧']) {
      for (const before of ['', 'a', 'ab', 'abc']) {
        const name = safeFileName(`${before}${character.repeat(300)}.txt`)
        assert.match(name, new RegExp(`^${before}(?:${character})+\\.txt$`, 'u'))
        assert.ok(bytes(name) > 223 - 4 && bytes(name) <= 223, `${bytes(name)} bytes`)
      }
    }
  })

  test('a shortened name does not end with a blank or dot', () => {
    assert.equal(safeFileName(`${'x'.repeat(200)}${' .'.repeat(100)}${'y'.repeat(20)}`), 'x'.repeat(200))
    assert.equal(safeFileName(`${'x'.repeat(200)}${' .'.repeat(100)}y.txt`), `${'x'.repeat(200)}.txt`)
  })

  // Each of these once took quadratic time: minutes and more. The time limit of the test run fails what is not linear.
  const length = 2_000_000
  for (const [what, hostile, safe] of [
    ['letters', 'x'.repeat(length), 'x'.repeat(223)],
    ['characters of four bytes', '👧'.repeat(length), '👧'.repeat(55)],
    ['blanks inside', `x${' '.repeat(length)}x`, 'x'],
    ['blanks at the beginning', `${' '.repeat(length)}x`, 'x'],
    ['dots', `x${'.'.repeat(length)}x`, 'x.x'],
    ['separators', '/\\'.repeat(length), 'upload.bin'],
    ['underscores', `${'?'.repeat(length)}x`, '_'.repeat(223)],
    ['marks', `a${'\u0301'.repeat(length / 2)}${'\u0316'.repeat(length / 2)}${'x'.repeat(64)}.txt`, `\u00e1${'\u0301'.repeat(108)}.txt`],
  ] as const) {
    test(`a name of two million ${what} takes no longer than reading it`, () => assert.equal(safeFileName(hostile), safe))
  }
})

test('any name becomes a safe one, and a safe one is unchanged', () => {
  const pieces = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.constantFrom(
      '/',
      '\\',
      '..',
      '.',
      ' ',
      '\0',
      'con',
      'nul',
      'com1',
      ':',
      '\ud800',
      '\udc00',
      '\u202e',
      'x'.repeat(220),
      '👧'.repeat(56),
      '.txt',
    ),
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
      const name = safeFileName(parts.join(''))
      assert.ok(name.length > 0 && Buffer.byteLength(name) <= 223)
      assert.doesNotMatch(name, /[/\\<>:"|?*\p{Cc}\p{Cs}]/u)
      assert.doesNotMatch(name, /^[\s.]|[\s.]$/)
      assert.doesNotMatch(name, /^(?:con|prn|aux|nul|com\d|lpt\d) *(?:\.|$)/i)
      assert.equal(safeFileName(name), name)
    }),
    { numRuns: 3000 },
  )
})
