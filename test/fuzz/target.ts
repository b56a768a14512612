// One parser under attack, and what must hold for any input.
//
// There are two checks, because second readers can cost fifty times what a parser does. The quick check runs on every input and mainly uses
// the parser itself; the full check runs on one input in many, and on each with a new outcome.

import assert from 'node:assert/strict'

import { WeirError } from '../../packages/weirjs/src/base/errors.ts'

import { Random } from './random.ts'

export interface Target {
  readonly name: string
  /** What holds for every input. */
  readonly promise: string
  /** Words of the grammar, latin1. */
  readonly dictionary: readonly string[]
  readonly maxBytes: number
  /** First inputs, in addition to those in corpus/<name>/. */
  seeds(): Iterable<Buffer>
  /**
   * Runs only the parser, twice: on the whole input, and on the same input in pieces or in another notation. Both must have the same
   * meaning, and what is thrown must be a refusal of the catalogue. It takes some microseconds, so messages are only created for failures.
   *
   * @param choices for what the check may choose freely, such as cuts and limits
   * @returns the outcome of the input, in a few words: an input with a new outcome is worth mutating further
   * @throws when the promise is broken
   */
  quickCheck(input: Buffer, choices: Random): string | Promise<string>
  /** One in this many inputs gets the full check, so that it takes no more than half of the time. */
  readonly fullCheckOneIn: number
  /**
   * Checks the rest of the promise: byte by byte, with second readers, with the grammar, and written again.
   *
   * @param choices begins like that of the quick check
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

/** Compares the results of two readings, word for word. @throws if they differ */
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

/** What `act` returns, or the code of its refusal, whose fault must be the client's. */
export function outcomeOf<T>(act: () => T): { readonly value: T; readonly error: null } | { readonly value: null; readonly error: string } {
  try {
    return { value: act(), error: null }
  } catch (error) {
    return { value: null, error: codeOf(error) }
  }
}

/** @throws anything but a refusal of something that the client did */
export function codeOf(error: unknown): string {
  if (!(error instanceof WeirError)) throw error
  if (error.fault !== 'peer' && error.fault !== 'limit') assert.fail(`${error.code} is not the client's fault`)
  return error.code
}
