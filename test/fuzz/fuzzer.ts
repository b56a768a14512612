// Runs one target on an endless number of inputs: interesting earlier ones, slightly changed. An input is interesting if its outcome is new
// or, in a guided phase, if it ran a block of packages/weirjs/src/ that no other had run before.
//
// V8 does not optimize code that it counts, nor code that was compiled while it counted. So a guided phase is slow, and an unguided one is
// fast only in a thread that has never counted; it continues with what the guided one kept.

import { Coverage } from './coverage.ts'
import { type Finding, readCorpus } from './finding.ts'
import { mutate } from './mutation.ts'
import { Random } from './random.ts'
import { checkFully, type Target } from './target.ts'

export interface FuzzOptions {
  readonly seed: string
  /** Ends when it has tried this many inputs and has run for this many seconds, whichever is later. */
  readonly inputs: number
  readonly seconds: number
  /** Ends after this many inputs in addition to those with which it began, whatever the time. Default: no such end. */
  readonly mostInputs?: number
  /** Whether coverage is read. */
  readonly isGuided: boolean
  /** Whether every input gets the full check, and not only one in as many as the target sets, and each with a new outcome. */
  readonly checksFully: boolean
  /** The earlier phases, with what they kept. Without any: the corpus and the target's own first inputs. */
  readonly after?: FuzzReport
  /** Known findings: what fails in the same way is counted, not reported. */
  readonly known?: readonly Finding[]
  /** Called with each input before it is tried, so that the watching thread knows which one hangs. */
  readonly onInput?: (input: Buffer, variant: number) => void
}

export interface FuzzReport {
  /** How many inputs got the quick check. */
  readonly inputs: number
  /** How many of them got the full check as well. */
  readonly fullChecks: number
  readonly milliseconds: number
  /** The inputs that were worth keeping. */
  readonly pool: readonly Uint8Array[]
  /** Characters of compiled source that ran; 0 for an unguided phase. */
  readonly covered: number
  /** How often each outcome occurred, including earlier phases. */
  readonly outcomes: ReadonlyMap<string, number>
  readonly findings: readonly Finding[]
  /** How many inputs failed like a known finding. */
  readonly knownFailures: number
  /** The time of the slowest quick check when it is repeated: something else may have delayed it the first time. */
  readonly slowestMs: number
}

/** Inputs between two readings of the coverage. */
const BATCH = 64
/** Most inputs are refused, and a stack trace takes longer than everything before it, so only inputs that are tried again get one. */
const TRACED_CALLS = Error.stackTraceLimit
const MOST_OUTCOMES = 3000
const MOST_FINDINGS = 20
const MINIMIZING_RUNS = 3000

export async function fuzz(target: Target, options: FuzzOptions): Promise<FuzzReport> {
  return new Fuzzer(target, options).run()
}

/** The state before the first phase. */
export const NOTHING_YET: FuzzReport = {
  inputs: 0,
  fullChecks: 0,
  milliseconds: 0,
  pool: [],
  covered: 0,
  outcomes: new Map(),
  findings: [],
  knownFailures: 0,
  slowestMs: 0,
}

/** Merges a phase and the one after it. */
export function joined(first: FuzzReport, second: FuzzReport): FuzzReport {
  return {
    inputs: first.inputs + second.inputs,
    fullChecks: first.fullChecks + second.fullChecks,
    milliseconds: first.milliseconds + second.milliseconds,
    pool: second.pool,
    covered: Math.max(first.covered, second.covered),
    outcomes: second.outcomes,
    findings: [...first.findings, ...second.findings],
    knownFailures: first.knownFailures + second.knownFailures,
    slowestMs: Math.max(first.slowestMs, second.slowestMs),
  }
}

class Fuzzer {
  readonly #target: Target
  readonly #options: FuzzOptions
  readonly #random: Random
  readonly #dictionary: readonly Buffer[]
  readonly #coverage: Coverage | null
  readonly #pool: Buffer[] = []
  readonly #outcomes: Map<string, number>
  readonly #failures = new Set<string>()
  readonly #knownFailures = new Set<string>()
  readonly #findings: Finding[] = []
  #inputs = 0
  #fullChecks = 0
  #known = 0
  #slowestMs = 0
  #slowest: readonly [input: Buffer, variant: number] | null = null

  constructor(target: Target, options: FuzzOptions) {
    this.#target = target
    this.#options = options
    this.#outcomes = new Map(options.after?.outcomes)
    this.#coverage = options.isGuided ? new Coverage() : null
    this.#random = new Random(`${options.seed} ${target.name}`)
    this.#dictionary = target.dictionary.map((token) => Buffer.from(token, 'latin1'))
  }

  async run(): Promise<FuzzReport> {
    Error.stackTraceLimit = 0
    try {
      return await this.#runPhase()
    } finally {
      Error.stackTraceLimit = TRACED_CALLS
    }
  }

  async #runPhase(): Promise<FuzzReport> {
    const start = performance.now()
    const { inputs, seconds, mostInputs = Number.POSITIVE_INFINITY, known = [] } = this.#options
    for (const { input, variant } of known) {
      const failure = await this.#failureOf(input, variant)
      if (failure !== null) this.#knownFailures.add(signatureOf(failure))
      else this.#pool.push(input) // where there was one mistake, there may be more
    }
    for (const seed of this.#seeds()) {
      if (seed.length > this.#target.maxBytes) continue
      this.#pool.push(seed)
      await this.#try(seed, this.#random.next())
    }
    this.#coverage?.newIn(this.#coverage.look(), true)
    const most = this.#inputs + mostInputs
    while (this.#findings.length < MOST_FINDINGS && this.#inputs < most) {
      if (this.#inputs >= inputs && performance.now() - start >= seconds * 1000) break
      await this.#runBatch(BATCH)
    }
    this.#coverage?.close()
    return {
      inputs: this.#inputs,
      fullChecks: this.#fullChecks,
      milliseconds: performance.now() - start,
      pool: this.#pool,
      covered: this.#coverage?.covered ?? 0,
      outcomes: this.#outcomes,
      findings: this.#findings,
      knownFailures: this.#known,
      slowestMs: await this.#timeSlowest(),
    }
  }

  #seeds(): readonly Buffer[] {
    const { after = NOTHING_YET } = this.#options
    if (after.pool.length === 0) return [...readCorpus(this.#target.name), ...this.#target.seeds()]
    return after.pool.map((input) => Buffer.from(input))
  }

  async #timeSlowest(): Promise<number> {
    let least = this.#slowestMs
    for (let times = 0; times < 5 && this.#slowest !== null; times++) {
      const [input, variant] = this.#slowest
      const start = performance.now()
      await this.#target.quickCheck(input, new Random(variant))
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
      else if (this.#coverage !== null) batch.push([input, variant])
    }
    if (this.#coverage !== null) await this.#keepWhatCovers(this.#coverage, batch)
  }

  /** Finds the interesting ones among the inputs that ran since coverage was last read. */
  async #keepWhatCovers(coverage: Coverage, batch: readonly [input: Buffer, variant: number][]): Promise<void> {
    const look = coverage.look()
    if (coverage.newIn(look, false) === 0) return
    for (const [input, variant] of batch) {
      await this.#failureOf(input, variant)
      if (coverage.newIn(coverage.look(), true) > 0) this.#pool.push(input)
    }
    coverage.newIn(look, true)
  }

  /** The shorter of two: it runs faster, and is closer to what matters. */
  #choose(): Buffer {
    const [one, other] = [this.#pick(), this.#pick()]
    return one.length <= other.length ? one : other
  }

  /** Half of the time, one of those that were found last. */
  #pick(): Buffer {
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
      const made = this.#target.quickCheck(input, new Random(variant))
      const outcome = typeof made === 'string' ? made : await made
      const ms = performance.now() - start
      if (ms > this.#slowestMs) {
        this.#slowestMs = ms
        this.#slowest = [input, variant]
      }
      const isNew = this.#count(outcome)
      if (isNew || this.#options.checksFully || this.#random.oneIn(this.#target.fullCheckOneIn)) {
        this.#fullChecks++
        await this.#target.fullCheck(input, new Random(variant))
      }
      return isNew
    } catch (error) {
      await this.#note((await this.#failureOf(input, variant)) ?? error, input, variant)
      return false
    }
  }

  /** @returns whether it occurred for the first time */
  #count(outcome: string): boolean {
    const times = this.#outcomes.get(outcome) ?? 0
    if (times === 0 && this.#outcomes.size >= MOST_OUTCOMES) return false
    this.#outcomes.set(outcome, times + 1)
    return times === 0
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

  /** Removes whatever can be removed while it still fails in the same way. */
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
    Error.stackTraceLimit = TRACED_CALLS
    try {
      await checkFully(this.#target, input, variant)
      return null
    } catch (error) {
      return error
    } finally {
      Error.stackTraceLimit = 0
    }
  }
}

/** Where and how it failed, so that one mistake is reported once: the first line of the message without its values, and the place. */
function signatureOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const code = 'code' in error ? String(error.code) : ''
  const first = error.message.split('\n')[0]!.replace(/\d+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '_')
  const frames = (error.stack ?? '').split('\n').filter((line) => /[\\/](?:src|targets)[\\/]/.test(line))
  const places = frames.slice(0, 3).map((line) => /[\w.-]+:\d+(?=:\d+\)?$)/.exec(line)?.[0])
  return `${error.name} ${code} ${first} ${places.join(' ')}`
}
