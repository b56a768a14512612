import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { Matcher } from './matcher.ts'
import { missOf, segmentsOf } from './miss.ts'
import { Template } from './template.ts'

test('says why a template does not match a path', () => {
  const cases: readonly (readonly [template: string, path: string, miss: string])[] = [
    ['/users', '/users', 'null'],
    ['/users/:id', '/users/7', 'null'],
    ['/files/*path', '/files/a/b', 'null'],
    ['/users', '/usres', 'text 0 2'],
    ['/users', '/user', 'text 0 1'],
    ['/abc', '/xyc', 'text 0'],
    ['/users', '/orders', 'text 0'],
    ['/users/:id/posts', '/users/7/comments', 'text 2'],
    ['/users/:id', '/Users/7', 'case 0 0'],
    ['/users', '/users/', 'slash 1 0'],
    ['/users/', '/users', 'slash 1 0'],
    ['/users/:id', '/users', 'short 1'],
    ['/users/:id', '/users/', 'empty 1 0'],
    ['/users/:id/posts', '/users//posts', 'empty 1'],
    ['/users', '/users/7', 'long 1'],
    ['/files/*path', '/files//a', 'empty 1 0'],
    ['/', '/x', 'text 0'],
    ['/x%2Fy', '/x/y', 'text 0'],
  ]
  for (const [template, path, expected] of cases) {
    const miss = missOf(new Template(template), segmentsOf(path))
    const found = miss === null ? 'null' : `${miss.kind} ${miss.segmentIndex}${miss.edits === null ? '' : ` ${miss.edits}`}`
    assert.equal(found, expected, `${template} and ${path}`)
  }
})

const part = fc.constantFrom('', 'a', 'A', 'ab', 'b', 'x%2Fy', ':p', '*r', 'ä')

test('a template matches exactly where the matcher finds it', () => {
  const templates = fc
    .array(part, { minLength: 1, maxLength: 4 })
    .map((parts) => `/${parts.map((one, i) => one.replace(/^:p/, `:p${i}`)).join('/')}`)
  const paths = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => `/${parts.join('/')}`)
  fc.assert(
    fc.property(templates, paths, (text, path) => {
      let template: Template
      try {
        template = new Template(text)
      } catch {
        return // a rest or an empty segment in the middle
      }
      const matcher = new Matcher<{ source: string }>()
      matcher.add('GET', template, null, { source: 'test' })
      assert.equal(missOf(template, segmentsOf(path)) === null, matcher.find('GET', path, '') !== null)
    }),
    { numRuns: 2_000 },
  )
})
