// No regular expression of weir takes more than a time that grows with its input, whatever it is given. Growth is measured in CPU time, which a
// busy machine does not add to, between inputs of which one is four times as long: four times is linear, sixteen times is not.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'

import { expressionsIn, type FoundExpression } from '../support/regular-expressions.ts'
import { isThinned, thinned } from '../support/thinned.ts'

const SHORT = 8_000
/** For an expression that is quadratic: with `SHORT` it would take many seconds. */
const SHORTER = 4_000
/** Below this, whatever the growth is, nobody can do harm. A quadratic expression takes ten times as long for the short input. */
const TRIFLE_MS = 5
const UNITS = [
  ...[
    'a',
    ' ',
    '\t',
    '/',
    '?',
    ',',
    ';',
    '=',
    '"',
    '\\',
    '-',
    '0',
    '\r',
    '\n',
    ':',
    '.',
    '*',
    '<',
    '&',
    '+',
    '_',
    '[',
    '{',
    '}',
    '(',
    '@',
    'é',
  ],
  ...['\0', '~', '$', '%41', 'A1', '\\"', ' ,', '\r\n', 'a=', '--', '${', ':a', '/a', 'a ', 'a,', '/*'],
]
const BEFORE = ['', 'a', '"', 'x=', '/', ' ']
const AFTER = ['', '\0', 'x', '\n']

function cpuMs(act: () => void): number {
  const start = process.cpuUsage()
  act()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}

/** What makes an expression take too long; null if nothing does. */
function pump({ pattern, flags }: FoundExpression, length = SHORT): string | null {
  const run = (before: string, unit: string, after: string, size: number) => {
    const text = before + unit.repeat(size / unit.length) + after
    return cpuMs(() => {
      text.replace(new RegExp(pattern, flags), '')
      new RegExp(pattern, flags).exec(text)
    })
  }
  for (const before of BEFORE)
    for (const unit of UNITS)
      for (const after of AFTER) {
        // Others in the process, such as the collector, take time too: only what is slow each time counts.
        const isSlow = () => {
          const short = run(before, unit, after, length)
          return short > TRIFLE_MS && run(before, unit, after, 4 * length) > 8 * short
        }
        if (isSlow() && isSlow() && isSlow()) return JSON.stringify([before, unit, after])
      }
  return null
}

test('an expression that is known to be quadratic is found', () => {
  const known = ['[ \\t]+$', '[ \\t]*,', '\\{[^}]*\\}']
  for (const pattern of known.slice(0, thinned(known.length)))
    assert.notEqual(pump({ file: '', pattern, flags: 'g' }, SHORTER), null, pattern)
})

test('no regular expression of the source grows faster than its input', () => {
  const all = readdirSync('packages').flatMap((name) => expressionsIn(`packages/${name}/src`))
  assert.ok(all.length > 300, `only ${all.length} were found`)
  const tried = all.filter((_, i) => !isThinned || i % 5 === 0)
  const slow = tried.flatMap((one) => {
    const how = pump(one)
    return how === null ? [] : [`${one.file}: /${one.pattern}/${one.flags} by ${how}`]
  })
  assert.deepEqual(slow, [])
})
