// `npm run fuzz -- [--target name] [--seed text] [--seconds n] [--inputs n]`: attacks the parsers, one after the other, each for at least
// this many seconds and at least this many inputs; 60 seconds if neither is set.
//
// Guided and unguided phases alternate, each in a separate thread: the next begins with what one has kept.
//
// An input that fails is minimized and saved in test/fuzz/findings/, and test/fuzz.test.ts tries it again each time. An input that never
// ends is noticed from outside: the thread announces what it is about to try, and this one checks whether it continues.

import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

import { type Finding, readFindings, saveFinding } from './finding.ts'
import { type FuzzOptions, type FuzzReport, fuzz, joined, NOTHING_YET } from './fuzzer.ts'
import { Random } from './random.ts'
import { TARGETS } from './targets.ts'

/** An input that takes longer than this hangs. */
const PATIENCE_MS = 10_000
/** Where the thread writes what it is about to try: the number of inputs before this one, its variant, its length; then the bytes. */
const COUNT = 0
const VARIANT = 1
const LENGTH = 2
const WORDS = 3
const MOST_BYTES = 1 << 20

/** Inputs of a guided phase, and of the unguided one after it. */
const GUIDED_INPUTS = 20_000
const UNGUIDED_INPUTS = 1_000_000

interface Order {
  readonly name: string
  readonly options: FuzzOptions
  readonly shared: SharedArrayBuffer
}

if (isMainThread) await runAll()
else parentPort!.postMessage(await runOne(workerData as Order))

async function runAll(): Promise<void> {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', multiple: true },
      seed: { type: 'string' },
      seconds: { type: 'string' },
      inputs: { type: 'string' },
    },
  })
  const names = values.target ?? TARGETS.map(({ name }) => name)
  const unknown = names.filter((name) => !TARGETS.some((target) => target.name === name))
  if (unknown.length > 0) throw new Error(`no target ${unknown.join(', ')}; there are ${TARGETS.map(({ name }) => name).join(', ')}`)
  const seed = values.seed ?? String(Date.now())
  console.log(`seed ${seed}, Node ${process.version}`)
  const inputs = Number(values.inputs ?? 0)
  const seconds = Number(values.seconds ?? (inputs === 0 ? 60 : 0))
  for (const name of names) {
    const report = await runTarget(name, seed, inputs, seconds)
    console.log(describe(name, report))
    if (report.findings.length > 0) process.exitCode = 1
  }
}

/** Runs phase after phase until both are reached, or until one has found an input that never ends. */
async function runTarget(name: string, seed: string, inputs: number, seconds: number): Promise<FuzzReport> {
  const known = readFindings().filter(({ target }) => target === name)
  let total = NOTHING_YET
  for (let phase = 0; total.inputs < inputs || total.milliseconds < seconds * 1000; phase++) {
    const isGuided = phase % 2 === 0
    const options = {
      seed: `${seed} ${phase}`,
      inputs: inputs - total.inputs,
      seconds: seconds - total.milliseconds / 1000,
      mostInputs: isGuided ? GUIDED_INPUTS : UNGUIDED_INPUTS,
      isGuided,
      checksFully: false,
      known: [...known, ...total.findings],
      after: total,
    }
    const outcome = await watch({ name, options, shared: new SharedArrayBuffer(4 * WORDS + MOST_BYTES) })
    const isHung = !('findings' in outcome)
    const findings = isHung ? [outcome] : outcome.findings
    for (const finding of findings) {
      const path = saveFinding({ ...finding, input: Buffer.from(finding.input) })
      console.log(`  FOUND ${path}: ${finding.what.split('\n')[0]}`)
    }
    if (isHung) return { ...total, findings: [...total.findings, outcome] }
    total = joined(total, outcome)
  }
  return total
}

/** The report of the thread, or the input at which it hung or crashed. */
function watch(order: Order): Promise<FuzzReport | Finding> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: order })
    const words = new Uint32Array(order.shared, 0, WORDS)
    let last = -1
    const timer = setInterval(() => {
      if (words[COUNT] === last) void end(`no end after ${PATIENCE_MS} ms`)
      last = words[COUNT]!
    }, PATIENCE_MS)
    const end = async (what: string): Promise<void> => {
      clearInterval(timer)
      await worker.terminate()
      const input = Buffer.from(Buffer.from(order.shared, 4 * WORDS, words[LENGTH]))
      const name = `${order.name}-${new Random(input.toString('latin1')).next().toString(16)}`
      resolve({ name, target: order.name, variant: words[VARIANT]!, input, what, todo: null })
    }
    worker.on('message', (report: FuzzReport) => {
      clearInterval(timer)
      resolve(report)
    })
    worker.on('error', (error) => (words[COUNT] === 0 ? reject(error) : void end(String(error))))
  })
}

async function runOne({ name, options, shared }: Order): Promise<FuzzReport> {
  const words = new Uint32Array(shared, 0, WORDS)
  const bytes = Buffer.from(shared, 4 * WORDS)
  const target = TARGETS.find((one) => one.name === name)!
  return fuzz(target, {
    ...options,
    known: options.known!.map((finding) => ({ ...finding, input: Buffer.from(finding.input) })), // a Buffer becomes a Uint8Array on its way here
    onInput: (input, variant) => {
      input.copy(bytes)
      words[LENGTH] = input.length
      words[VARIANT] = variant
      words[COUNT]!++
    },
  })
}

function describe(name: string, report: FuzzReport): string {
  const { inputs, fullChecks, milliseconds, pool, covered, outcomes, findings, knownFailures, slowestMs } = report
  const rate = Math.round(inputs / Math.max(1, milliseconds / 1000))
  const known = knownFailures === 0 ? '' : `, ${knownFailures} inputs as known findings`
  return `${name}: ${inputs} inputs in ${Math.round(milliseconds / 1000)} s, ${rate}/s, ${inputs} quick and ${fullChecks} full checks, ${pool.length} kept, ${outcomes.size} outcomes, ${covered} characters of code, slowest ${slowestMs.toFixed(1)} ms, ${findings.length} findings${known}`
}
