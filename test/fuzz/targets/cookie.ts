// The Cookie header: a second reader, and cookies that weir's own responses set.

import assert from 'node:assert/strict'

import { serialize } from 'cookie'

import { parseCookies } from '../../../packages/weirjs/src/formats/cookie.ts'
import { assertSameWords, type Target } from '../target.ts'

export const cookieTarget: Target = {
  name: 'cookie',
  promise: 'cookies are the pieces between semicolons, nothing else is trimmed or decoded, and what a response sets is read back',
  dictionary: [
    ...[
      ';',
      '; ',
      '=',
      '"',
      '""',
      '%',
      '%20',
      '%3B',
      '%C3%A9',
      '%ff',
      '%zz',
      ' ',
      '\t',
      '\xa0',
      '\x85',
      '\xff',
      ',',
      '\\',
      '__Host-',
      '__proto__',
    ],
    ...['a=b', 'a="b"', ' = ', ';;', '==', '$Version=1', '%00', '%0d%0a'],
  ],
  maxBytes: 300,
  seeds: () =>
    ['', 'a=b', 'a=b; c=d; a=e', 'a="x y"; b=%C3%A9; c=%', 'novalue; =noname; x=', '\xa0__Host-id=1'].map((text) =>
      Buffer.from(text, 'latin1'),
    ),
  quickCheck(bytes, choices) {
    const header = bytes.toString('latin1')
    const cookies = parseCookies(header)
    const cut = header.indexOf(';', choices.below(header.length))
    const before = parseCookies(cut === -1 ? '' : header.slice(0, cut))
    assertSameWords(before.concat(parseCookies(header.slice(cut + 1))), cookies, 'cut between two cookies')
    let special = 0
    for (const one of cookies) special |= one === '' ? 1 : one.includes('%') ? 2 : one.includes('"') ? 4 : one.charCodeAt(0) > 0xff ? 8 : 0
    return `${Math.min(cookies.length / 2, 5)} ${special}`
  },
  fullCheckOneIn: 8,
  fullCheck(bytes) {
    const header = bytes.toString('latin1')
    const cookies = parseCookies(header)
    assert.deepEqual(cookies, bySplitting(header))
    checkRoundTrip(cookies)
  },
}

function bySplitting(header: string): string[] {
  return header.split(';').flatMap((piece) => {
    const [, name, value] = /^([^=]*)=(.*)$/s.exec(piece) ?? [piece, '', '']
    const [plainName, plainValue] = [trim(name!), trim(value!)]
    return plainName === '' ? [] : [plainName, decode(plainValue)]
  })
}

function trim(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '')
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** A valid name may be set again with that value, which is then read back. */
function checkRoundTrip(cookies: readonly string[]): void {
  for (let i = 0; i < cookies.length; i += 2) {
    const [name, value] = [cookies[i]!, cookies[i + 1]!]
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) continue
    assert.deepEqual(parseCookies(serialize(name, value)), [name, value])
  }
}
