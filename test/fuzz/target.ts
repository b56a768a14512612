// One parser under attack, and what must hold whatever it is given.
//
// There are two checks, because second readers can cost fifty times what a parser does. The quick one is made of every input and asks mainly
// the parser itself; the full one is made of one input in so many, and of each that came to a new outcome.

import assert from 'node:assert/strict'

import { WeirError } from '../../src/base/errors.ts'

import { Random } from './random.ts'

export interface Target {
  readonly name: string
  /** What holds for every input. */
  readonly promise: string
  /** Words of the grammar, latin1. */
  readonly dictionary: readonly string[]
  readonly maxBytes: number
  /** First inputs, beside those in corpus/<name>/. */
  seeds(): Iterable<Buffer>
  /**
   * The parser alone, asked twice: on the whole input, and on the same cut in pieces or said in another way. Both must mean the same, and
   * what is thrown must be a refusal of the catalogue. Some microseconds: a message is made only for what is broken.
   *
   * @param choices what the check may choose freely, such as cuts and limits
   * @returns what became of the input, in a few words: an input with an outcome of its own is worth mutating further
   * @throws when the promise is broken
   */
  quickCheck(input: Buffer, choices: Random): string | Promise<string>
  /** Of how many inputs one has the full check, so that it takes no more than half of the time. */
  readonly fullCheckOneIn: number
  /**
   * All else that the promise says: byte by byte, by second readers, by the grammar, written again.
   *
   * @param choices begins as those of the quick check did
   * @throws when the promise is broken
   */
  fullCheck(input: Buffer, choices: Random): void | Promise<void>
}

/** Both checks, as a finding is tried again. @throws when the promise is broken */
export async function checkFully(target: Target, input: Buffer, variant: number): Promise<void> {
  await target.quickCheck(input, new Random(variant))
  await target.fullCheck(input, new Random(variant))
}

/** Two places at which a quick check cuts `length` bytes: three pieces, of which some may be empty. Then the end. */
export function cutTwice(length: number, choices: Random): readonly number[] {
  const first = choices.below(length + 1)
  return [first, first + choices.below(length - first + 1), length]
}

/** What two ways of reading came to, word for word. @throws when they are not the same */
export function assertSameWords(actual: readonly unknown[], expected: readonly unknown[], how: string): void {
  let at = actual.length === expected.length ? 0 : -1
  while (at >= 0 && at < actual.length && actual[at] === expected[at]) at++
  if (at !== actual.length) assert.deepEqual(actual, expected, how)
}

/** `bytes` cut at up to `most` places. */
export function cutRandomly(bytes: Buffer, choices: Random, most = 8): Buffer[] {
  const places = Array.from({ length: 1 + choices.below(most) }, () => choices.below(bytes.length + 1))
  const ends = [...new Set(places), bytes.length].sort((a, b) => a - b)
  return ends.map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end)).filter((part) => part.length > 0)
}

/** What `act` gives, or the code of its refusal, whose fault must be the client's. */
export function outcomeOf<T>(act: () => T): { readonly value: T; readonly error: null } | { readonly value: null; readonly error: string } {
  try {
    return { value: act(), error: null }
  } catch (error) {
    return { value: null, error: codeOf(error) }
  }
}

/** @throws what is no refusal of something that the client did */
export function codeOf(error: unknown): string {
  if (!(error instanceof WeirError)) throw error
  if (error.fault !== 'peer' && error.fault !== 'limit') assert.fail(`${error.code} is not the client's fault`)
  return error.code
}
