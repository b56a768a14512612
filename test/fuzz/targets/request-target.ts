// Request targets: the input is a method, a blank and a target.

import assert from 'node:assert/strict'

import { isAuthority, readTarget } from '../../../packages/weirjs/src/wire/head/target.ts'
import { assertSameWords, outcomeOf, type Target } from '../target.ts'

/** The bytes that the reader of the head allows. */
const JUDGED = /^([!#$%&'*+.^_`|~\w-]+) ([!"$-[\]-~]+)$/

export const requestTargetTarget: Target = {
  name: 'target',
  promise:
    'there is one path: decoded once, no dot segments, NUL or broken UTF-8 in it, as many segments as were sent, and the one that a URL parser sees',
  dictionary: [
    ...[
      '/',
      '//',
      '/.',
      '/..',
      '/../',
      '/./',
      '...',
      '%2e',
      '%2E%2e',
      '%2F',
      '%2f',
      '%5c',
      '\\',
      '%00',
      '%',
      '%zz',
      '%ff',
      '%C3%A9',
      '%25',
      '%252e',
    ],
    ...[
      '?',
      '??',
      '#',
      '*',
      'http://',
      'https://',
      'HTTP://',
      'ftp://',
      '@',
      'a@b',
      ':',
      ':80',
      ':99999',
      ':65536',
      '[::1]',
      '[',
      ']',
      '[v1.a]',
      'a',
    ],
    ...[
      'CONNECT ',
      'OPTIONS ',
      'GET ',
      ';',
      '=',
      '&',
      '+',
      '%ed%a0%80',
      '%f0%9f%98%80',
      '%c0%ae',
      '127.0.0.1',
      'xn--a',
      '%41',
      '"',
      '<',
      '^',
      '`',
    ],
  ],
  maxBytes: 300,
  seeds: () =>
    [
      ...[
        'GET /',
        'GET /a/b?c=d',
        'GET /a%20b/%C3%A9?x',
        'GET http://a.b:80/c?d',
        'GET http://a?b',
        'OPTIONS *',
        'CONNECT a:443',
        'GET /%2F/%2f',
      ],
      ...['GET /a/../b', 'GET /a/%2e%2e/b', 'GET http://[::1]:8080/', 'GET //a/b', 'GET /a?/../b', 'GET https://u@h/', 'GET http://a%41/'],
    ].map((text) => Buffer.from(text, 'latin1')),
  quickCheck(bytes) {
    const parts = JUDGED.exec(bytes.toString('latin1'))
    if (parts === null) return 'no target'
    const [, method, text] = parts as unknown as [string, string, string]
    const { value: target, error } = outcomeOf(() => readTarget(method, text))
    if (method !== 'CONNECT' && text.startsWith('/')) {
      const absolute = outcomeOf(() => readTarget(method, `http://h${text}`))
      assertSameWords([absolute.error, absolute.value?.path, absolute.value?.url], [error, target?.path, target?.url], 'in absolute form')
    }
    if (target === null) return error
    const { rawPath, path, queryString, authority } = target
    if (slashesIn(path) !== slashesIn(rawPath)) assert.fail(`${path} and ${rawPath} have other segments`)
    if (path.includes('\0')) assert.fail('NUL in the path')
    const form = rawPath === '*' ? 'asterisk' : authority === null ? 'origin' : 'absolute'
    return `${form}${path === rawPath ? '' : ' decoded'}${queryString === '' ? '' : ' query'}${path.includes('%') ? ' escape' : ''}`
  },
  fullCheckOneIn: 8,
  fullCheck(bytes) {
    const parts = JUDGED.exec(bytes.toString('latin1'))
    if (parts === null) return
    const [, method, text] = parts as unknown as [string, string, string]
    const { value: target } = outcomeOf(() => readTarget(method, text))
    checkAuthority(text)
    if (target === null) return
    const { rawPath, path, queryString, url, authority } = target
    assert.equal(url, rawPath + url.slice(rawPath.length))
    assert.equal(url.slice(rawPath.length), url.includes('?') ? `?${queryString}` : '')
    assert.ok(text.endsWith(url) || (url.startsWith('/') && text.endsWith(url.slice(1))), 'path and query are as sent')
    if (rawPath === '*') return
    checkPath(rawPath, path)
    assert.ok(!rawPath.includes('\\'), 'a raw backslash in the path, which a URL parser reads as a slash')
    const seen = new URL(`http://h${url}`)
    assert.equal(decoded(seen.pathname), decoded(rawPath), 'a URL parser sees another path')
    if (authority !== null) assert.ok(!authority.includes('@') && !authority.includes('/'))
  },
}

function slashesIn(text: string): number {
  let count = 0
  for (let at = text.indexOf('/'); at !== -1; at = text.indexOf('/', at + 1)) count++
  return count
}

function checkPath(rawPath: string, path: string): void {
  const segments = path.split('/')
  const raw = rawPath.split('/')
  assert.equal(segments.length, raw.length, 'as many segments as were sent')
  assert.ok(!/\0|\p{Surrogate}/u.test(path))
  for (const [i, segment] of segments.entries()) {
    assert.ok(segment !== '.' && segment !== '..', 'a dot segment')
    const bySegment = raw[i]!.split(/%2f/i).map((piece) => decodeURIComponent(piece))
    assert.equal(segment, bySegment.join('%2F'), 'decoded once')
  }
}

function decoded(path: string): string {
  return path.split(/%2f/i).map(decodeURIComponent).join('%2F')
}

/**
 * What weir accepts as a host, a URL parser accepts as well, except for an impossible port, for what it would have to decode, and for
 * IPvFuture.
 */
function checkAuthority(text: string): void {
  if (!isAuthority(text)) return
  assert.doesNotMatch(text, /[/?#@\\\s"<>^`{|}]/)
  if (/^\[(?!v)/i.test(text)) assert.ok(URL.canParse(`http://${text.slice(0, text.indexOf(']') + 1)}/`))
}
