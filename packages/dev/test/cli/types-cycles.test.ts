// Schemas that refer to each other, in numbers that would end a recursive or quadratic search.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { cyclesIn } from '../../src/cli/types/cycles-in.ts'
import { declarationsOf } from '../../src/cli/types/declarations.ts'

function documentOf(schemas: Record<string, unknown>): string {
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'Cycles', version: '1' }, paths: {}, components: { schemas } })
}

const COUNT = 20_000
const ref = (i: number): object => ({ $ref: `#/components/schemas/A${i % COUNT}` })

test('a chain of 20,000 references, and one that is a circle', () => {
  const names = Array.from({ length: COUNT }, (_, i) => i)
  const chain = Object.fromEntries(names.map((i) => [`A${i}`, i + 1 < COUNT ? ref(i + 1) : { type: 'string' }]))
  const text = declarationsOf(documentOf(chain))
  assert.match(text, /^export type A0 = A1;$/m)
  assert.match(text, /^export type A19999 = string;$/m)

  const circle = declarationsOf(documentOf(Object.fromEntries(names.map((i) => [`A${i}`, ref(i + 1)]))))
  assert.match(circle, /^export type A0 = unknown;$/m)
})

test('each schema looks at its references once', () => {
  const graph = new Map([
    ['a', ['b', 'c']],
    ['b', ['a']],
    ['c', ['d', 'c']],
    ['d', ['e']],
    ['e', ['c', 'f']],
    ['f', []],
  ])
  const looked: string[] = []
  const cycles = cyclesIn(graph.keys(), (node) => {
    looked.push(node)
    return graph.get(node)!
  })
  assert.deepEqual(looked.sort(), ['a', 'b', 'c', 'd', 'e', 'f'])
  const same = (one: string, other: string): boolean => cycles.get(one) === cycles.get(other)
  assert.deepEqual([same('a', 'b'), same('c', 'd'), same('d', 'e'), same('a', 'c'), same('e', 'f')], [true, true, true, false, false])
})
