// Whatever path a client sends, code that is mounted beside other routes reads no path that `otherReadings` has not looked at.

import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { test } from 'node:test'

import fc from 'fast-check'

import { otherReadings } from '../../src/routing/other-readings.ts'
import { readTarget } from '../../src/wire/head/target.ts'
import { thinned } from '../support/thinned.ts'

const PIECES = '/ // %2F %2f %5C \\ a b . .. %2E %23 %3F %20 %09 %0a %01 %25 %252F ; @'.split(' ')
const BASE = 'http://host.example'

/** `/` for what is no URL. */
function parsed(path: string): string {
  const url = path.replaceAll('%', '%25')
  return URL.canParse(url, BASE) ? decodeURI(new URL(url, BASE).pathname) : '/'
}

/** No route has an empty segment. */
const single = (path: string): string => path.replace(/\/+/g, '/')
const withSlashes = (path: string): string => path.replaceAll('\\', '/')
/** Of what has been decoded. */
const READERS: Record<string, (path: string) => string> = {
  'a file system': (path) => posix.normalize(path),
  'a file system of Windows': (path) => posix.normalize(withSlashes(path)),
  'code that ends it at a query': (path) => posix.normalize(path.replace(/[?#].*/s, '')),
  'a URL parser': parsed,
  'a file system after a URL parser': (path) => posix.normalize(parsed(path)),
}

/** Null for a target that no route gets. */
function pathOf(target: string): string | null {
  try {
    return readTarget('GET', target).path
  } catch {
    return null
  }
}

const target = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 9 }).map((pieces) => `/${pieces.join('')}`)

for (const prefix of ['', '/old'])
  for (const [title, read] of Object.entries(READERS))
    test(`${title} ${prefix === '' ? '' : 'below a prefix '}reads no path that is not looked at`, () => {
      let others = 0
      fc.assert(
        fc.property(target, (rest) => {
          const raw = prefix + rest
          const path = pathOf(raw)
          const seen = single(prefix + read(decodeURIComponent(rest)))
          if (path === null || seen === path || seen === `${prefix}/`) return
          others++
          const readings = otherReadings(raw, prefix === '' ? 0 : 1).map(single)
          assert.ok(readings.includes(seen), `${raw} as ${seen}, not ${readings.join(' ')}`)
        }),
        { numRuns: thinned(20_000) },
      )
      assert.ok(others > 100, `${others} other readings`)
    })
