// docs/http.md and the conformance table agree: each case has its sentence, and each refusal has the code that the page names.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { loadConformanceCases } from './cases.ts'
import { loadHttp2Cases, refusalsOf } from './http2-cases.ts'

const cases = loadConformanceCases()
const http2Cases = loadHttp2Cases()
const lines = readFileSync('docs/http.md', 'utf8').split('\n')
/** Rows that name the code of a refusal. */
const isRefusal = (line: string): boolean => line.startsWith('|') && line.includes('`WEIR_')

/** The ids in a text: `LEN-01`, `LEN-01–03, 07`. */
function idsIn(text: string): string[] {
  return [...text.matchAll(/\b([A-Z]{2,})-(\d\d(?:–\d\d)?(?:, \d\d(?:–\d\d)?)*)/g)].flatMap(([, group, numbers]) =>
    numbers!.split(', ').flatMap((range) => {
      const [first, last = first] = range.split('–').map(Number)
      return Array.from({ length: last! - first! + 1 }, (_, i) => `${group}-${`${first! + i}`.padStart(2, '0')}`)
    }),
  )
}

const documented = (wanted: (line: string) => boolean): Set<string> => new Set(lines.filter(wanted).flatMap(idsIn))

test('the page names every case, and every id on it is a case', () => {
  assert.deepEqual([...documented(() => true)].sort(), [...cases, ...http2Cases].map(({ id }) => id).sort())
})

test('whatever the page lists as refused is refused, with the code of its row', () => {
  const wrong = lines.filter(isRefusal).flatMap((line) => {
    const codes = [...line.matchAll(/`(WEIR_\w+)`/g)].map(([, code]) => code!)
    const named = cases.filter(({ id }) => idsIn(line).includes(id))
    const strangers = named
      .filter(({ refusal }) => refusal === null || !codes.includes(refusal))
      .map(({ id, refusal }) => `${id}: ${refusal}`)
    const unused = codes.filter((code) => !named.some(({ refusal }) => refusal === code)).map((code) => `${code} has no case`)
    return [...strangers, ...unused]
  })
  assert.deepEqual(wrong, [])
})

test('cases in a table of refusals are refused, and no others', () => {
  const refused = documented(isRefusal)
  const wrong = cases.filter(({ id, refusal }) => refused.has(id) !== (refusal !== null && refusal !== 'WEIR_ROUTE_NOT_FOUND'))
  assert.deepEqual(
    wrong.map(({ id }) => id),
    [],
  )
})

test('a refusal by weir in HTTP/2 has the code of its sentence', () => {
  // A sentence is one or more lines after a dash.
  const sentences = lines.join('\n').split(/\n(?=- |\n)/)
  const wrong = http2Cases.flatMap((one) => {
    const sentence = sentences.find((text) => idsIn(text).includes(one.id))!
    return refusalsOf(one).flatMap((code) => (sentence.includes(`\`${code}\``) ? [] : [`${one.id}: ${code}`]))
  })
  assert.deepEqual(wrong, [])
})
