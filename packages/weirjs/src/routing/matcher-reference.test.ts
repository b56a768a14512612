// Compares the matcher with one that is too simple to be wrong: it tries every route and sorts those that match.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { Matcher } from './matcher.ts'
import { Template } from './template.ts'

interface TestRoute {
  readonly source: string
  readonly method: string | null
  readonly host: string | null
  readonly template: Template
}

const piece = fc.constantFrom('a', 'b', 'ab', 'abc', 'abcde', 'abcdx', 'ä', '日', 'x%2Fy')
const parameter = fc.constant(':')
const segments = fc.tuple(fc.array(fc.oneof(piece, parameter), { maxLength: 4 }), fc.constantFrom('', '', '/', '/*rest'))
const templates = segments.map(([parts, end]) => {
  const path = parts.map((part, i) => (part === ':' ? `/:p${i}` : `/${part}`)).join('') + end
  return new Template(path === '' ? '/' : path)
})
const routes: fc.Arbitrary<TestRoute> = fc
  .record({
    method: fc.constantFrom('GET', 'HEAD', 'POST', null),
    host: fc.constantFrom(null, null, null, 'x.de', 'www.x.de', '*.x.de', '*.de'),
    template: templates,
  })
  .map((route) => ({ ...route, source: `${route.method} ${route.host} ${route.template.text}` }))

const requests = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT'),
  host: fc.constantFrom('', 'x.de', 'www.x.de', 'a.b.x.de', 'y.de', 'de', '.de'),
  path: fc.array(fc.oneof(piece, fc.constantFrom('', 'abcd', 'q')), { maxLength: 5 }).map((parts) => `/${parts.join('/')}`),
})

test('the matcher finds the same route as trying every route', () => {
  fc.assert(
    fc.property(fc.array(routes, { maxLength: 30 }), fc.array(requests, { minLength: 1, maxLength: 30 }), (candidates, asked) => {
      const matcher = new Matcher<TestRoute>()
      const known: TestRoute[] = []
      for (const route of candidates) {
        if (known.some((other) => claimOf(other) === claimOf(route))) {
          assert.throws(() => matcher.add(route.method, route.template, route.host, route), { code: 'WEIR_ROUTE_CLASH' })
        } else {
          matcher.add(route.method, route.template, route.host, route)
          known.push(route)
        }
      }
      for (const { method, path, host } of asked) {
        const match = matcher.find(method, path, host)
        const expected = best(known, method, path, host)
        assert.equal(match?.route.source, expected?.source, `${method} ${host}${path}`)
        if (match !== null && expected !== undefined) assert.deepEqual(match.values, valuesOf(expected.template, path))
        const matching = known.filter((route) => hostRank(route.host, host) !== null && valuesOf(route.template, path) !== null)
        assert.deepEqual(matcher.methodsFor(path, host), methodsOf(matching))
      }
    }),
    { numRuns: 500 },
  )
})

function claimOf({ method, host, template }: TestRoute): string {
  return `${method} ${host} ${template.segments.map((segment) => (segment.kind === 'text' ? `=${segment.text}` : segment.kind)).join('/')}`
}

function best(known: readonly TestRoute[], method: string, path: string, host: string): TestRoute | undefined {
  const ranked = known.flatMap((route) => {
    const rank = [hostRank(route.host, host), shapeRank(route.template, path), methodRank(route.method, method)]
    return rank.includes(null) ? [] : [{ route, rank: rank.join(' ') }]
  })
  return ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1))[0]?.route
}

/** The smaller, the more exact: an exact host ranks 000, and a `*.` host ranks better the longer it is. */
function hostRank(bound: string | null, host: string): string | null {
  if (bound === null) return '999'
  if (!bound.startsWith('*')) return bound === host ? '000' : null
  const end = bound.slice(1)
  return host.endsWith(end) && host.length > end.length && !host.startsWith('.') ? String(900 - end.length) : null
}

/** One digit for each segment: text before parameter before rest. */
function shapeRank(template: Template, path: string): string | null {
  if (valuesOf(template, path) === null) return null
  return template.segments.map(({ kind }) => ['text', 'parameter', 'rest'].indexOf(kind)).join('')
}

function methodRank(own: string | null, asked: string): string | null {
  if (own === asked) return '0'
  if (asked === 'HEAD' && own === 'GET') return '1'
  return own === null ? '2' : null
}

function valuesOf({ segments: wanted }: Template, path: string): string[] | null {
  const came = path.slice(1).split('/')
  const values: string[] = []
  for (const [i, segment] of wanted.entries()) {
    const part = came[i]
    if (part === undefined) return null
    if (segment.kind === 'text') {
      if (part !== segment.text) return null
      continue
    }
    if (part === '') return null
    if (segment.kind === 'rest') return [...values, came.slice(i).join('/')]
    values.push(part)
  }
  return came.length === wanted.length ? values : null
}

function methodsOf(matching: readonly TestRoute[]): string[] {
  const methods = new Set(matching.flatMap(({ method }) => (method === null ? [] : [method])))
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].sort()
}
