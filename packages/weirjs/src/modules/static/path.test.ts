import assert from 'node:assert/strict'
import { posix, win32 } from 'node:path'
import { test } from 'node:test'

import fc from 'fast-check'

import { readStaticPath } from './path.ts'

const NONE: ReadonlySet<string> = new Set()
const read = (path: string, isWindows = false) => readStaticPath(path, '/a/', NONE, isWindows)

test('a path below the prefix is a file, and with a trailing slash a directory', () => {
  for (const name of ['', 'b.txt', 'b/c.txt', 'b/', 'ä ö.txt', 'a..b', 'b.', '100%', 'bb:c', 'con.txt'])
    assert.equal(read(`/a/${name}`), name)
  for (const path of ['/a', '/b/c', '/', '/ab/c']) assert.equal(read(path), null, path)
})

test('paths that could lead elsewhere are refused by their text', () => {
  const names = [
    '.',
    '..',
    '../b',
    'b/..',
    'b/../c',
    '/b',
    'b//c',
    'b//',
    '//evil.example',
    '\\b',
    '..\\b',
    'b\\..\\c',
    'b%2Fc',
    '..%2fc',
    'b\0',
    'C:',
    'c:/b',
    'd/C:b',
  ]
  for (const name of names) assert.equal(read(`/a/${name}`), null, name)
})

test('a name that begins with a dot is served only if it is listed', () => {
  for (const name of ['.env', '.git/config', 'b/.htpasswd', '...', '.well-known/x']) assert.equal(read(`/a/${name}`), null, name)
  const allowed = new Set(['.well-known', '..'])
  assert.equal(readStaticPath('/a/.well-known/x', '/a/', allowed, false), '.well-known/x')
  assert.equal(readStaticPath('/a/.well-known/.x', '/a/', allowed, false), null)
  assert.equal(readStaticPath('/a/../x', '/a/', allowed, false), null, 'never the parent directory')
})

test('on Windows, streams, devices, and names that end with a dot or a blank are refused', () => {
  for (const name of ['b.txt:stream', 'con', 'CON.txt', 'b/nul', 'com1.log', 'LPT9', 'conin$', 'b.txt.', 'b.txt ', 'b. /c', 'b*', 'b?']) {
    assert.equal(read(`/a/${name}`, true), null, name)
    assert.equal(read(`/a/${name}`), name, `${name} is a name like any other on other systems`)
  }
})

test('no path leads out of the root', () => {
  const piece = fc.constantFrom('..', '.', '/', '\\', 'a', 'B:', '%2f', '\0', '%2e%2e', ' ', 'con', '.x', 'ü')
  const path = fc.array(fc.oneof(piece, fc.string()), { maxLength: 12 }).map((pieces) => `/a/${pieces.join('')}`)
  fc.assert(
    fc.property(path, fc.boolean(), (asked, isWindows) => {
      const name = read(asked, isWindows)
      if (name === null) return
      const inside = posix.join('/root', name)
      assert.ok(inside === '/root' || inside.startsWith('/root/'), asked)
      const onWindows = win32.join('C:\\root', name)
      assert.ok(onWindows === 'C:\\root' || onWindows.startsWith('C:\\root\\'), asked)
      assert.ok(!`/${name}`.includes('/.'), asked)
    }),
  )
})
