import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { MAX_RANGES, multipartRanges, selectRanges } from './byte-ranges.ts'

type Selected = Awaited<ReturnType<typeof selectRanges>>

function of(...pairs: readonly (readonly [start: number, end: number])[]): Selected {
  return pairs.map(([start, end]) => ({ start, end }))
}

const CASES: readonly (readonly [says: string, range: string, size: number, selected: Selected])[] = [
  ['both ends are included', 'bytes=0-0', 10, of([0, 0])],
  ['an end after the end of the file means the end of the file', 'bytes=5-99', 10, of([5, 9])],
  ['without an end it is the rest of the file', 'bytes=5-', 10, of([5, 9])],
  ['without a start it is a suffix', 'bytes=-3', 10, of([7, 9])],
  ['a suffix longer than the file is the file', 'bytes=-11', 10, of([0, 9])],
  ['the unit is case-insensitive', 'Bytes=1-2', 10, of([1, 2])],
  ['blanks around commas are allowed', 'bytes=1-2 ,\t4-5', 10, of([1, 2], [4, 5])],
  ['the order of the client is kept', 'bytes=8-,0-1', 10, of([8, 9], [0, 1])],
  ['overlapping ranges are merged', 'bytes=4-6,0-1,5-8', 10, of([4, 8], [0, 1])],
  ['adjacent ranges are merged', 'bytes=0-1,2-3', 10, of([0, 3])],
  ['a range that the file does not have is left out', 'bytes=10-,0-1', 10, of([0, 1])],
  ['a number that is too large counts as large', `bytes=0-${'9'.repeat(400)}`, 10, of([0, 9])],
  ['a start after the end of the file cannot be satisfied', 'bytes=10-', 10, 'unsatisfiable'],
  ['an empty suffix cannot be satisfied', 'bytes=-0', 10, 'unsatisfiable'],
  ['an end before the start makes the range invalid', 'bytes=5-3', 10, null],
  ['one invalid range makes the whole field invalid', 'bytes=0-1,5-3', 10, null],
  ['an empty file has no parts', 'bytes=0-', 0, null],
  ['another unit is ignored', 'lines=0-1', 10, null],
  ['a missing unit is ignored', '0-1', 10, null],
  ['a lone dash is ignored', 'bytes=-', 10, null],
  ['a sign is ignored', 'bytes=+1-2', 10, null],
  ['a suffix with a sign is ignored', 'bytes=--1', 10, null],
  ['three numbers are ignored', 'bytes=1-2-3', 10, null],
  ['hexadecimal is ignored', 'bytes=0x1-0x2', 10, null],
  ['no range at all is ignored', 'bytes=', 10, null],
  [
    'as many ranges as are allowed',
    `bytes=${Array.from({ length: MAX_RANGES }, (_, i) => `${2 * i}-${2 * i}`).join()}`,
    100,
    of(...Array.from({ length: MAX_RANGES }, (_, i) => [2 * i, 2 * i] as const)),
  ],
  ['with one more the field is ignored', `bytes=${Array.from({ length: MAX_RANGES + 1 }, () => '0-0').join()}`, 100, null],
]

for (const [says, range, size, selected] of CASES) {
  test(`ranges: ${says}`, async () => {
    const found = await selectRanges(range, size)
    assert.deepEqual(Array.isArray(found) ? [...found] : found, selected)
  })
}

test('ranges: selected ranges are within the file, and nothing is sent twice', async () => {
  const spec = fc.tuple(fc.option(fc.nat(30), { nil: '' }), fc.option(fc.nat(30), { nil: '' })).map(([a, b]) => `${a}-${b}`)
  await fc.assert(
    fc.asyncProperty(fc.array(spec, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 20 }), async (specs, size) => {
      const found = await selectRanges(`bytes=${specs.join()}`, size)
      if (found === null || found === 'unsatisfiable') return
      const sent = new Set<number>()
      for (const { start, end } of found) {
        assert.ok(start >= 0 && end < size && start <= end)
        for (let i = start; i <= end; i++) {
          assert.ok(!sent.has(i))
          sent.add(i)
        }
      }
      // The same set, counted in the simple way.
      const asked = new Set<number>()
      for (const text of specs) {
        const [a, b] = text.split('-')
        const from = a === '' ? Math.max(0, size - Number(b)) : Number(a)
        const to = a === '' || b === '' ? size - 1 : Math.min(Number(b), size - 1)
        for (let i = from; i <= to; i++) asked.add(i)
      }
      assert.deepEqual(
        [...sent].sort((a, b) => a - b),
        [...asked].sort((a, b) => a - b),
      )
    }),
  )
})

test('ranges: an invalid field as long as a whole head is ignored', async () => {
  for (const text of ['1'.repeat(65_000), `${' '.repeat(65_000)}x`, '1-'.repeat(32_000), ','.repeat(65_000)]) {
    assert.equal(await selectRanges(`bytes=${text}`, 10), null)
  }
})

test('multipart/byteranges: every body has a different boundary', () => {
  const ranges = [
    { start: 0, end: 1 },
    { start: 4, end: 5 },
  ]
  const one = multipartRanges(ranges, 10, 'text/plain').contentType
  assert.match(one, /^multipart\/byteranges; boundary=[\w-]{36}$/)
  assert.notEqual(one, multipartRanges(ranges, 10, 'text/plain').contentType)
})
