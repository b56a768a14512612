// The cache against a small model of RFC 9111, written from the text and not from the code: whatever is kept, a response that the model
// forbids is never sent.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { HttpServer } from '../../src/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { TestClock } from '../../src/testing/index.ts'
import { isThinned, thinned } from '../support/thinned.ts'

/** What a handler returned, and when. */
interface Made {
  readonly at: number
  readonly url: string
  readonly cacheControl: string | null
  readonly expires: number | null
  readonly age: number | null
  readonly vary: string | null
  readonly setsCookie: boolean
  readonly status: number
  readonly fields: Readonly<Record<string, string>>
  /** When something was changed at its path since. */
  isInvalidated: boolean
}

const EPOCH = Date.UTC(2024, 0, 1)

const number = fc.constantFrom('0', '1', '5', '10', '60', '"10"', '-1', 'x', '', '99999999999')
const directive = fc.oneof(
  fc.constantFrom(
    'no-store',
    'no-cache',
    'private',
    'public',
    'must-revalidate',
    'proxy-revalidate',
    'No-Store',
    'private="x-a, x-b"',
    'no-cache="x"',
    'ext',
    'ext="a, no-storage"',
    'immutable',
  ),
  fc
    .tuple(fc.constantFrom('max-age', 's-maxage', 'stale-while-revalidate', 'stale-if-error', 'Max-Age'), number)
    .map(([name, value]) => `${name}=${value}`),
  fc.constantFrom('max-age = 10', 'no-store=1', ';', 'max-age'),
)
const cacheControl = fc.oneof(
  { weight: 1, arbitrary: fc.constant(null) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'max-age=10',
      'max-age=60',
      'public, max-age=10',
      's-maxage=10, max-age=1',
      'max-age=10, must-revalidate',
      'max-age=5, stale-while-revalidate=20',
      'max-age=5, stale-if-error=20',
      'max-age=1, stale-while-revalidate=5, stale-if-error=60',
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .array(directive, { minLength: 1, maxLength: 4 })
      .chain((all) => fc.constantFrom(', ', ',', ' ,, ').map((comma) => all.join(comma))),
  },
)
const answer = fc.record({
  cacheControl,
  expires: fc.option(fc.constantFrom(-5, 0, 1, 5, 30), { freq: 2 }),
  age: fc.option(fc.constantFrom(0, 3, 9, 100), { freq: 5 }),
  vary: fc.option(fc.constantFrom('X-A', 'x-b', 'X-A, X-B', '*', 'X-A, *', 'Cookie'), { freq: 1 }),
  setsCookie: fc.constantFrom(true, ...new Array<boolean>(9).fill(false)),
  status: fc.constantFrom(200, 200, 200, 200, 200, 200, 404, 206, 500, 503),
})
const step = fc.oneof(
  {
    weight: 14,
    arbitrary: fc.record({
      kind: fc.constant('get' as const),
      method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD'),
      url: fc.constantFrom('/a', '/a', '/a?q', '/b'),
      fields: fc.record(
        {
          'x-a': fc.constantFrom('1', '2'),
          'x-b': fc.constantFrom('1', '2'),
          authorization: fc.constantFrom('Basic a', 'Basic b'),
          cookie: fc.constantFrom('a=1', 'a=2'),
        },
        { requiredKeys: [] },
      ),
      answer,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 999, 1_000, 4_000, 5_000, 10_000) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('post' as const), url: fc.constantFrom('/a', '/b'), status: fc.constantFrom(200, 303, 400) }),
  },
)

/** Every directive with its values. A part that is none means that nothing is certain. */
function read(text: string | null): Map<string, string[]> | null {
  const found = new Map<string, string[]>()
  for (const part of splitList(text ?? '')) {
    if (part === '') continue
    const match = /^([\w-]+)(?:=(?:([\w.-]*)|"(.*)"))?$/.exec(part)
    if (match === null) return null
    const name = match[1]!.toLowerCase()
    found.set(name, [...(found.get(name) ?? []), match[2] ?? match[3] ?? ''])
  }
  return found
}

function splitList(text: string): string[] {
  const parts: string[] = []
  let isQuoted = false
  let part = ''
  for (const char of text) {
    if (char === '"') isQuoted = !isQuoted
    if (char === ',' && !isQuoted) {
      parts.push(part.trim())
      part = ''
    } else part += char
  }
  return [...parts, part.trim()]
}

/** Why RFC 9111 forbids to send `made` for a request; null if it does not. */
function whyForbidden(made: Made, url: string, fields: Readonly<Record<string, string>>, now: number): string | null {
  const control = read(made.cacheControl)
  if (control === null) return 'malformed'
  if (url !== made.url) return 'another URL (§4)'
  if (made.isInvalidated) return 'invalidated (§4.4)'
  for (const name of ['no-store', 'no-cache', 'private']) if (control.has(name)) return `${name} (§5.2.2)`
  if (made.setsCookie) return 'Set-Cookie (§7.3)'
  if (made.status === 206) return 'partial (§3.3)'
  for (const name of (made.vary ?? '').toLowerCase().split(/ *, */).filter(Boolean)) {
    if (name === '*') return 'Vary: * (§4.1)'
    if (made.fields[name] !== fields[name]) return `Vary: ${name} (§4.1)`
  }
  const isMarked = ['public', 's-maxage', 'must-revalidate'].some((name) => control.has(name))
  if (made.fields['authorization'] !== undefined && !isMarked) return 'Authorization (§3.5)'
  const seconds = (name: string): number | null => {
    const values = control.get(name)
    return values === undefined ? null : Math.min(...values.map((value) => (/^\d+$/.test(value) ? Number(value) : 0)))
  }
  const lifetime = seconds('s-maxage') ?? seconds('max-age') ?? made.expires
  if (lifetime === null) return 'no lifetime (§4.2)'
  const age = (made.age ?? 0) + (now - made.at) / 1_000
  if (age < lifetime) return null
  const isStrict = ['must-revalidate', 'proxy-revalidate', 's-maxage'].some((name) => control.has(name))
  const window = isStrict ? 0 : Math.max(seconds('stale-while-revalidate') ?? 0, seconds('stale-if-error') ?? 0)
  return age < lifetime + window ? null : 'stale (§4.2.4)'
}

test('nothing is sent that RFC 9111 forbids', async () => {
  let hits = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 25 }), async (steps) => {
      const clock = new TestClock()
      const server = new HttpServer({ logger: null })
      const all: Made[] = []
      server.use(cache({ clock }))
      for (const path of ['/a', '/b'] as const) {
        server.mapGet(path, (_, { request, response }) => {
          // The fields are those of the step: a handler that reads Cookie itself is never kept. A run in the background may come after the
          // next step has begun, so each request names its own.
          const one = steps[Number(request.headers.get('x-step'))]!
          assert.equal(one.kind, 'get')
          const { answer, fields } = one
          const { cacheControl: control, expires, age, vary, setsCookie, status } = answer
          const at = clock.now()
          all.push({ ...answer, at, url: request.url, cacheControl: control, fields, isInvalidated: false })
          if (control !== null) response.header('Cache-Control', control)
          if (expires !== null) response.header('Expires', new Date(EPOCH + at + expires * 1_000).toUTCString())
          if (age !== null) response.header('Age', age)
          if (vary !== null) response.header('Vary', vary)
          if (setsCookie) response.cookie('a', 'b')
          return response
            .status(status)
            .header('X-Made', all.length - 1)
            .text(`made ${all.length - 1}`)
        })
        server.mapPost(path, (_, { response }) => response.status(nextStatus).text('changed'))
      }
      let nextStatus = 200
      for (const [index, one] of steps.entries()) {
        if (one.kind === 'wait') await clock.advance(one.ms)
        else if (one.kind === 'post') {
          nextStatus = one.status
          await server.inject({ method: 'POST', url: one.url })
          if (one.status < 400) for (const made of all) if (made.url.startsWith(one.url)) made.isInvalidated = true
        } else {
          const before = all.length
          const sent = await server.inject({ method: one.method, url: one.url, headers: { ...one.fields, 'x-step': String(index) } })
          const id = Number(sent.headers.get('x-made'))
          if (id >= before) continue
          hits++
          const made = all[id]!
          const why = whyForbidden(made, one.url, one.fields, clock.now())
          assert.equal(why, null, `${JSON.stringify(made)} for ${JSON.stringify(one.fields)} at ${clock.now()}`)
          if (one.method === 'GET') assert.equal(sent.text(), `made ${id}`)
          assert.equal(sent.headers.get('age'), String(Math.floor((made.age ?? 0) + (clock.now() - made.at) / 1_000)))
        }
      }
    }),
    { numRuns: thinned(400) },
  )
  assert.ok(hits > (isThinned ? 1 : 50), `${hits} responses came from the cache`)
})
