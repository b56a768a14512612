// Parameters of a query that a client has probably misspelt.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedHead, SERVER } from '../../../test/support/asked.ts'
import { setDebug } from '../debugged.ts'
import type { Step } from './binder.ts'
import { misspeltNames, warnOfMisspelt } from './misspelt-query.ts'

const stepOf = (key: string, source: Step['source'] = 'query'): Step => ({ name: key, source, index: 0, key, schema: null })

/** The parameters of `limit` and `tags` that are meant by what the query has, as `limit=lmit`. */
function meant(query: string, steps = [stepOf('limit'), stepOf('tags')]): string {
  return [...misspeltNames(steps, query)].map(([{ key }, name]) => `${key}=${name}`).join(' ')
}

test('a missing parameter is compared with the names that no parameter has', () => {
  const cases: Readonly<Record<string, string>> = {
    'lmit=5': 'limit=lmit',
    'Limit=5&tgas=a': 'limit=Limit tags=tgas',
    'tags[]=a': 'tags=tags[]',
    'limit=5&lmit=6': '',
    'utm_source=mail': '',
    '': '',
  }
  for (const [query, says] of Object.entries(cases)) assert.equal(meant(query), says, query)
  assert.equal(meant('tag=a', [stepOf('tags'), stepOf('tag')]), '', 'it is the name of another parameter')
  assert.equal(meant('lmit=5', [stepOf('limit', 'header')]), '', 'not a parameter of the query')
})

test('of a query with very many names, the first hundred are compared', () => {
  const others = (count: number): string => Array.from({ length: count }, (_, i) => `other${i}=1&`).join('')
  assert.equal(meant(`${others(99)}lmit=5`), 'limit=lmit')
  assert.equal(meant(`${others(100)}lmit=5`), '')
})

test('a long name is shown shortened', () => {
  const long = 'l'.repeat(500)
  const shown = misspeltNames([stepOf(`${long}x`)], `${long}=1`)
  assert.ok([...shown.values()][0]!.length < 200)
})

test('each parameter is warned of once', () => {
  const warned: string[] = []
  const server = { ...SERVER }
  setDebug(server, false, (mistake) => warned.push(mistake))
  const steps = [stepOf('limit'), stepOf('tags')]
  for (const query of ['lmit=5', 'limt=5', 'tgas=a'])
    warnOfMisspelt(askedExchange(askedHead(`GET /a?${query}`), undefined, { server }), 'GET /a', steps)
  assert.deepEqual(warned, [
    'weir: GET /a ignores "lmit" in the query: did the client mean "limit"?',
    'weir: GET /a ignores "tgas" in the query: did the client mean "tags"?',
  ])
})
