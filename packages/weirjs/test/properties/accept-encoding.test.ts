// What a client prefers, compared with the package `negotiator`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import Negotiator from 'negotiator'

import { EncodingChooser } from '../../src/formats/accept-encoding.ts'

const IDENTITY = 'identity'
const CODINGS = ['zstd', 'br', 'gzip', 'deflate']

const blank = fc.constantFrom('', '', ' ', '\t', '  ')
const quality = fc.oneof(
  fc.constantFrom('0', '0.0', '0.000', '1', '1.', '1.000', '0.', '0.5'),
  fc.integer({ min: 0, max: 999 }).map((thousandths) => `0.${String(thousandths).padStart(3, '0')}`),
)
const parameter = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  {
    weight: 5,
    arbitrary: fc.tuple(blank, blank, fc.constantFrom('q', 'q', 'Q'), quality).map(([a, b, q, value]) => `${a};${b}${q}=${value}`),
  },
  { weight: 1, arbitrary: fc.constantFrom(';level=1', ';level=1;q=0.2', ';qs=0') },
)
const entry = fc
  .tuple(blank, fc.constantFrom(...CODINGS, IDENTITY, '*', 'GZIP', 'Identity', 'compress', 'x-br', 'b'), parameter, blank)
  .map((parts) => parts.join(''))
const field = fc.array(entry, { minLength: 1, maxLength: 7 }).map((entries) => entries.join(','))
const available = fc.uniqueArray(fc.constantFrom(...CODINGS), { maxLength: 4 })

interface Encodings {
  encodings(available: readonly string[], options: { readonly preferred: readonly string[] }): string[]
}

/** Codings that are at least as good as none, and whether none is acceptable. */
function byNegotiator(accept: string, codings: readonly string[]): unknown {
  const preferred = [...codings, IDENTITY]
  const negotiator = new Negotiator({ headers: { 'accept-encoding': accept } } as never) as unknown as Encodings
  const accepted = negotiator.encodings(preferred, { preferred })
  const at = accepted.indexOf(IDENTITY)
  return at === -1 ? { codings: accepted, takesIdentity: accepted.length === 0 } : { codings: accepted.slice(0, at), takesIdentity: true }
}

test('a field means what it means for negotiator', () => {
  let compressed = 0
  let refused = 0
  fc.assert(
    fc.property(field, available, (accept, codings) => {
      const choice = new EncodingChooser(codings).choose(accept)
      assert.deepEqual(choice, byNegotiator(accept, codings))
      if (choice.codings.length > 0) compressed++
      if (!choice.takesIdentity) refused++
    }),
    { numRuns: 3_000 },
  )
  assert.ok(compressed > 500 && refused > 50, `${compressed} with a coding, ${refused} without identity`)
})

test('a quality that is no number from 0 to 1 with three digits refuses its coding', () => {
  const chooser = new EncodingChooser(CODINGS)
  for (const q of ['2', '1.001', '-1', '.5', '0.1234', 'x', '', '1e0', '"1"'])
    assert.deepEqual(chooser.choose(`gzip;q=${q}`).codings, [], q)
})

test('the choice for a field is the same when it is made again, and however many fields came between', () => {
  const chooser = new EncodingChooser(CODINGS)
  const fields = Array.from({ length: 600 }, (_, i) => `gzip;q=0.${String(i).padStart(3, '0')}, br;q=0.3`)
  for (const accept of [...fields, ...fields.slice(-3), ...fields])
    assert.deepEqual(chooser.choose(accept), new EncodingChooser(CODINGS).choose(accept), accept)
})
