// One parser under attack, and what must hold whatever it is given.

import assert from 'node:assert/strict'

import { WeirError } from '../../src/base/errors.ts'

import type { Random } from './random.ts'

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
   * @param choices what the check may choose freely, such as cuts and limits
   * @returns what became of the input, in a few words: an input with an outcome of its own is worth mutating further
   * @throws when the promise is broken
   */
  check(input: Buffer, choices: Random): string | Promise<string>
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
  assert.match(error.fault, /^(?:peer|limit)$/, `${error.code} is not the client's fault`)
  return error.code
}
