// Runs one target on inputs without end: old ones that were interesting, changed a little. Interesting is what ran a block of src/ that
// nothing had run before, or came to an outcome that is new.

import { Coverage } from './coverage.ts'
import { type Finding, readCorpus } from './finding.ts'
import { mutate } from './mutation.ts'
import { Random } from './random.ts'
import type { Target } from './target.ts'

export interface FuzzOptions {
  readonly seed: string
  /** Ends after so many inputs or seconds, whichever comes first. */
  readonly inputs: number
  readonly seconds: number
  /** Findings that are known already: what is broken in the same way is counted, not reported. */
  readonly known?: readonly Finding[]
  /** Told of each input before it is tried: whoever watches knows which one hangs. */
  readonly onInput?: (input: Buffer, variant: number) => void
}

export interface FuzzReport {
  readonly inputs: number
  readonly milliseconds: number
  /** How many inputs were worth keeping. */
  readonly kept: number
  /** Characters of compiled source that ran. */
  readonly covered: number
  /** How often each outcome came. */
  readonly outcomes: ReadonlyMap<string, number>
  readonly findings: readonly Finding[]
  /** How many inputs failed as a known finding does. */
  readonly knownFailures: number
  /** What the input that took longest takes, tried again: at its first time something else may have been in the way. */
  readonly slowestMs: number
}

/** Inputs between two looks at the coverage. */
const BATCH = 64
const MOST_OUTCOMES = 3000
const MOST_FINDINGS = 20
const MINIMIZING_RUNS = 3000

export async function fuzz(target: Target, options: FuzzOptions): Promise<FuzzReport> {
  return new Fuzzer(target, options).run()
}

class Fuzzer {
  readonly #target: Target
  readonly #options: FuzzOptions
  readonly #random: Random
  readonly #dictionary: readonly Buffer[]
  readonly #coverage = new Coverage()
  readonly #pool: Buffer[] = []
  readonly #outcomes = new Map<string, number>()
  readonly #failures = new Set<string>()
  readonly #knownFailures = new Set<string>()
  readonly #findings: Finding[] = []
  #inputs = 0
  #known = 0
  #slowestMs = 0
  #slowest: readonly [input: Buffer, variant: number] | null = null

  constructor(target: Target, options: FuzzOptions) {
    this.#target = target
    this.#options = options
    this.#random = new Random(`${options.seed} ${target.name}`)
    this.#dictionary = target.dictionary.map((token) => Buffer.from(token, 'latin1'))
  }

  async run(): Promise<FuzzReport> {
    const start = performance.now()
    const { inputs, seconds, known = [] } = this.#options
    for (const { input, variant } of known) {
      const failure = await this.#failureOf(input, variant)
      if (failure !== null) this.#knownFailures.add(signatureOf(failure))
      else this.#pool.push(input) // where there was one mistake there may be more
    }
    for (const seed of [...readCorpus(this.#target.name), ...this.#target.seeds()]) {
      if (seed.length > this.#target.maxBytes) continue
      this.#pool.push(seed)
      await this.#try(seed, this.#random.next())
    }
    this.#coverage.newIn(this.#coverage.look(), true)
    while (this.#inputs < inputs && performance.now() - start < seconds * 1000 && this.#findings.length < MOST_FINDINGS) {
      await this.#runBatch(Math.min(BATCH, inputs - this.#inputs))
    }
    this.#coverage.close()
    return {
      inputs: this.#inputs,
      milliseconds: performance.now() - start,
      kept: this.#pool.length,
      covered: this.#coverage.covered,
      outcomes: this.#outcomes,
      findings: this.#findings,
      knownFailures: this.#known,
      slowestMs: await this.#timeSlowest(),
    }
  }

  async #timeSlowest(): Promise<number> {
    let least = this.#slowestMs
    for (let times = 0; times < 5 && this.#slowest !== null; times++) {
      const start = performance.now()
      await this.#failureOf(...this.#slowest)
      least = Math.min(least, performance.now() - start)
    }
    return least
  }

  async #runBatch(size: number): Promise<void> {
    const batch: [input: Buffer, variant: number][] = []
    for (let i = 0; i < size; i++) {
      const input = mutate(this.#choose(), this.#random.pick(this.#pool), this.#dictionary, this.#target.maxBytes, this.#random)
      const variant = this.#random.next()
      if (await this.#try(input, variant)) this.#pool.push(input)
      else batch.push([input, variant])
    }
    const look = this.#coverage.look()
    if (this.#coverage.newIn(look, false) === 0) return
    for (const [input, variant] of batch) {
      await this.#failureOf(input, variant)
      if (this.#coverage.newIn(this.#coverage.look(), true) > 0) this.#pool.push(input)
    }
    this.#coverage.newIn(look, true)
  }

  /** Half of the time one of those that were found last. */
  #choose(): Buffer {
    const { length } = this.#pool
    const at = this.#random.oneIn(2) ? this.#random.below(length) : length - 1 - this.#random.skewed(length - 1)
    return this.#pool[at]!
  }

  /** @returns whether the outcome is new */
  async #try(input: Buffer, variant: number): Promise<boolean> {
    this.#inputs++
    this.#options.onInput?.(input, variant)
    const start = performance.now()
    try {
      const made = this.#target.check(input, new Random(variant))
      const outcome = typeof made === 'string' ? made : await made
      const ms = performance.now() - start
      if (ms > this.#slowestMs) {
        this.#slowestMs = ms
        this.#slowest = [input, variant]
      }
      const times = this.#outcomes.get(outcome) ?? 0
      if (times === 0 && this.#outcomes.size >= MOST_OUTCOMES) return false
      this.#outcomes.set(outcome, times + 1)
      return times === 0
    } catch (error) {
      await this.#note(error, input, variant)
      return false
    }
  }

  async #note(error: unknown, input: Buffer, variant: number): Promise<void> {
    const signature = signatureOf(error)
    if (this.#knownFailures.has(signature)) this.#known++
    if (this.#knownFailures.has(signature) || this.#failures.has(signature)) return
    this.#failures.add(signature)
    const smallest = await this.#minimize(input, variant, signature)
    const failure = (await this.#failureOf(smallest, variant)) ?? error
    const name = `${this.#target.name}-${new Random(signature).next().toString(16).padStart(8, '0')}`
    this.#findings.push({ name, target: this.#target.name, variant, input: smallest, what: String(failure), todo: null })
  }

  /** Takes away whatever can be taken away while it still fails in the same way. */
  async #minimize(input: Buffer, variant: number, signature: string): Promise<Buffer> {
    let smallest = input
    let runs = 0
    for (let size = 2 ** Math.floor(Math.log2(input.length + 1)); size >= 1; size = Math.floor(size / 2)) {
      for (let at = 0; at < smallest.length && runs < MINIMIZING_RUNS; runs++) {
        const smaller = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)])
        const failure = await this.#failureOf(smaller, variant)
        if (failure !== null && signatureOf(failure) === signature) smallest = smaller
        else at += size
      }
    }
    return smallest
  }

  async #failureOf(input: Buffer, variant: number): Promise<unknown> {
    this.#options.onInput?.(input, variant)
    try {
      await this.#target.check(input, new Random(variant))
      return null
    } catch (error) {
      return error
    }
  }
}

/** Where it failed and with what, so that one mistake is reported once: the first line without its values, and where it came from. */
function signatureOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const code = 'code' in error ? String(error.code) : ''
  const first = error.message.split('\n')[0]!.replace(/\d+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '_')
  const frames = (error.stack ?? '').split('\n').filter((line) => /[\\/](?:src|targets)[\\/]/.test(line))
  const places = frames.slice(0, 3).map((line) => /[\w.-]+:\d+(?=:\d+\)?$)/.exec(line)?.[0])
  return `${error.name} ${code} ${first} ${places.join(' ')}`
}
