import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'

import { FORWARDED, X_FORWARDED_FOR } from '../../test/support/forwarded-values.ts'
import { type Judge, lastEntry, readForwarded, readXForwardedFor } from './forwarded.ts'

const judge: Judge = (address) => {
  if (isIP(address) === 0 || address.includes('%')) return 'none'
  return /^(?:(?:::ffff:)?(?:10|127)\.|::ffff:0a|::1$|fd)/.test(address) ? 'trusted' : 'other'
}

test('X-Forwarded-For names the first address from the right that is not trusted', () => {
  for (const { value, address, port = 0 } of X_FORWARDED_FOR) {
    assert.deepEqual(readXForwardedFor(value, judge), address === null ? null : { address, port }, value.slice(0, 80))
  }
})

test('Forwarded names it likewise, with the scheme and the host of the same element', () => {
  for (const { value, address, port = 0, proto = null, host = null } of FORWARDED) {
    assert.deepEqual({ ...readForwarded(value, judge) }, address === null ? {} : { address, port, proto, host }, value.slice(0, 80))
  }
})

test('an entry that is not trusted ends the walk: nothing to its left is judged', () => {
  for (const [read, last] of [
    [readXForwardedFor, '203.0.113.7'],
    [readForwarded, 'for=203.0.113.7'],
  ] as const) {
    const judged: string[] = []
    read(`10.0.0.1, for=10.0.0.1, ${last}, ${last.replace('203.0.113.7', '10.0.0.2')}`, (address) => {
      judged.push(address)
      return judge(address)
    })
    assert.deepEqual(judged, ['10.0.0.2', '203.0.113.7'])
  }
})

test('the last entry of a list is what the nearest proxy wrote', () => {
  for (const [value, last] of [
    ['https', 'https'],
    ['https, http', 'http'],
    [' https ,\thttp\t', 'http'],
    ['https,', ''],
    ['', ''],
  ] as const)
    assert.equal(lastEntry(value), last)
})
