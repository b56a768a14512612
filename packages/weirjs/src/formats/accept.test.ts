import assert from 'node:assert/strict'
import { test } from 'node:test'

import { qualityOf } from './accept.ts'

test('the most specific range decides', () => {
  const cases: readonly (readonly [accept: string, quality: number])[] = [
    ['text/html', 1],
    ['TEXT/HTML ; Q=0.5', 0.5],
    ['text/*;q=0.4, */*;q=0.9', 0.4],
    ['*/*;q=0.9, text/html;q=0.1, text/*', 0.1],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 1],
    ['*/*', 1],
    ['application/json', 0],
    ['', 0],
    ['text/html;q=0', 0],
    ['text/html;q=1.5', 0],
    ['text/html;q=', 0],
    ['text/html;level=1;q=0.3, text/html;q=0.7', 0.7],
    [' , ,;,text/html', 1],
    ['text', 0],
    ['text/html2', 0],
  ]
  for (const [accept, quality] of cases) assert.equal(qualityOf(accept, 'text/html'), quality, accept)
})

test('a range that cannot match costs no more than a look at each character', (t) => {
  const reads = t.mock.method(String.prototype, 'toLowerCase')
  for (const value of [','.repeat(65_000), 'a,'.repeat(30_000), `text/xml${';'.repeat(65_000)}`, `text/html${';'.repeat(65_000)}q=0.5`])
    assert.equal(qualityOf(value, 'text/html'), value.endsWith('q=0.5') ? 0.5 : 0)
  assert.ok(reads.mock.callCount() < 10, `${reads.mock.callCount()} calls`)
})

test('a hostile field takes time in proportion to its length', () => {
  const entry = `${'\t '.repeat(20)}text/html;q=0.5${' '.repeat(20)},`
  assert.equal(qualityOf(entry.repeat(1_000), 'text/html'), 0.5)
  assert.equal(qualityOf(`a${' '.repeat(60_000)}b`, 'text/html'), 0)
})
