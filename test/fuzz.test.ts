// Attacks the parsers briefly and always in the same way; `npm run fuzz` does it for longer. It also repeats everything that was ever
// found.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { thinned } from '../packages/weirjs/test/support/thinned.ts'

import { bytesOf, parseFinding, readCorpus, readFindings, textOf } from './fuzz/finding.ts'
import { fuzz } from './fuzz/fuzzer.ts'
import { checkFully, type Target } from './fuzz/target.ts'
import { TARGETS } from './fuzz/targets.ts'

/** Inputs of one target, its seeds included: about a second when all are tried. */
const INPUTS: Readonly<Record<string, number>> = { head: 1500, chunked: 1500, multipart: 1000, server: 1000 }
const MOST_INPUTS = 5000
/** Everything: every input is guided by coverage and checked fully. */
const BRIEFLY = { seed: 'test', seconds: 0, isGuided: true, checksFully: true }

const findings = readFindings()

for (const target of TARGETS) {
  test(`${target.name}: ${target.promise}`, async () => {
    const known = findings.filter((finding) => finding.target === target.name)
    const inputs = thinned(INPUTS[target.name] ?? MOST_INPUTS)
    const report = await fuzz(target, { ...BRIEFLY, inputs, known })
    const [first] = report.findings
    assert.ok(first === undefined, first && `${first.what}\nvariant ${first.variant}\n>>>\n${textOf(first.input)}`)
    assert.ok(report.fullChecks >= inputs && report.outcomes.size > 5, `${report.inputs} inputs, ${report.outcomes.size} outcomes`)
  })
}

for (const finding of findings) {
  test(`found once: ${finding.name}`, { todo: finding.todo ?? false }, async () => {
    const target = TARGETS.find(({ name }) => name === finding.target)
    assert.ok(target !== undefined, `no target ${finding.target}`)
    await checkFully(target, finding.input, finding.variant)
  })
}

/** A target that breaks its promise if there is a `!` after an `a`. */
const brittle: Target = {
  name: 'brittle',
  promise: '',
  dictionary: ['a', '!'],
  maxBytes: 50,
  seeds: () => [Buffer.from('some text')],
  quickCheck: (bytes) => String(bytes.includes('a')),
  fullCheckOneIn: 1,
  fullCheck(bytes) {
    if (/a.*!/s.test(bytes.toString('latin1'))) throw new Error('broken')
  },
}

test('a broken promise is found once, and its input is minimized', async () => {
  const { findings } = await fuzz(brittle, { ...BRIEFLY, inputs: 3000 })
  assert.deepEqual(
    findings.map(({ input, what }) => [input.toString(), what]),
    [['a!', 'Error: broken']],
  )
})

test('the same seed leads to the same inputs, another seed to others', async () => {
  const inputsOf = async (seed: string): Promise<string[]> => {
    const inputs: string[] = []
    const quickCheck = (bytes: Buffer): string => {
      inputs.push(bytes.toString('latin1'))
      return String(bytes.length)
    }
    await fuzz({ ...brittle, quickCheck }, { ...BRIEFLY, seed, inputs: 300 })
    return inputs.slice(0, 300) // after them, the slowest is timed again
  }
  const first = await inputsOf('1')
  assert.deepEqual(await inputsOf('1'), first)
  assert.notDeepEqual(await inputsOf('2'), first)
})

test('a known finding is counted, not reported', async () => {
  const known = [{ name: 'x', target: 'brittle', variant: 1, input: Buffer.from('xa!'), what: '', todo: null }]
  const report = await fuzz(brittle, { ...BRIEFLY, inputs: 3000, known })
  assert.deepEqual(report.findings, [])
  assert.ok(report.knownFailures > 0)
})

test('an input is the same after it was written to a file', () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
  for (const bytes of [all, Buffer.alloc(0), Buffer.from(' \r\n\n x \\ \t '), Buffer.from('\n')])
    assert.deepEqual(bytesOf(textOf(bytes)), bytes)
})

test('a file that is not a finding is an error, not a missing finding', () => {
  assert.throws(() => parseFinding('f', '# a\ntarget head\n>>>\nx\n'), /f: no/)
  assert.throws(() => parseFinding('f', 'target head\nvariant 1\nx\n'), /f: no/)
  assert.throws(() => bytesOf('\\q'), /not an escape/)
})

test('there is a corpus, and it can be read', () => {
  assert.ok(TARGETS.flatMap(({ name }) => readCorpus(name)).length > 5)
})
