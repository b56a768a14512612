// Requests of a host program against its own handlers, from clients that cut, stall, leave, reset and do not read, and a look at what must
// hold for any handler: each request has one whole answer or a break, nothing is thrown where nobody catches, and when the clients have
// left, nothing is left open. Everything is drawn from a seed: the same seed gives the same run.

import { WeirError } from '../base/errors.ts'
import { checkNames, invalid, listOf, namesOf } from '../base/options.ts'
import type { ConnectionHost } from '../net/connections/connection-host.ts'
import type { InjectResponse } from '../net/inject/inject.ts'
import { requestBytes, requestOf } from '../net/inject/request-bytes.ts'
import { type HttpServer, hostOf } from '../server.ts'

import { Accidents } from './accidents.ts'
import { type ChaosRequest, ChaosRun, type Trial } from './chaos-run.ts'

export interface ChaosOptions {
  /** What the clients send: a string is a GET of that URL. */
  readonly requests: readonly (ChaosRequest | string)[]
  /** Default: another one each time. */
  readonly seed?: number
  /** How many runs, of one to three clients each; run n has the seed `seed + n`. Default 100. */
  readonly runs?: number
  /** How long an answer, or the end of a handler whose client has left, is waited for, in milliseconds of the machine. Default 2 s. */
  readonly patienceMs?: number
  /** Looks at each answer that came whole. What it throws is a failure. */
  readonly check?: (answer: InjectResponse, request: ChaosRequest) => void
}

export interface ChaosReport {
  readonly seed: number
  readonly runs: number
  /** How many answers came whole. */
  readonly answers: number
  /** How many requests the server broke off while their client was there. */
  readonly breaks: number
}

/** A handler did what none may do. The message tells all of it. */
export class ChaosError extends WeirError {
  override readonly name = 'ChaosError'
  /** The run that failed: `chaos(server, { seed, runs: 1, … })` does it again. */
  readonly seed: number
  /** What happened in that run, in order. */
  readonly story: readonly string[]

  constructor(what: string, seed: number, story: readonly string[], cause: unknown) {
    const shown = story.length > SHOWN_EVENTS ? [`… ${story.length - SHOWN_EVENTS} more`, ...story.slice(-SHOWN_EVENTS)] : story
    super('WEIR_CHAOS', `${what}\nAgain: chaos(server, { seed: ${seed}, runs: 1, requests })\n  ${shown.join('\n  ')}`, cause)
    this.seed = seed
    this.story = story
  }
}

const OPTION_NAMES = namesOf<ChaosOptions>()(['requests', 'seed', 'runs', 'patienceMs', 'check'])
const REQUEST_NAMES = namesOf<ChaosRequest>()(['method', 'url', 'headers', 'body', 'json', 'endless'])
const DEFAULT_RUNS = 100
const DEFAULT_PATIENCE_MS = 2_000
const SHOWN_EVENTS = 40

/** One chaos at a time: what is thrown while it runs is taken to be its own. */
let previous: Promise<unknown> = Promise.resolve()

/**
 * Runs `requests` against `server`, without a port. Time is that of the test for weir's timeouts; handlers run with the time of the machine.
 * @throws ChaosError for the first thing that must not be; WEIR_OPTION_INVALID for a request that no client could send
 */
export function chaos(server: HttpServer, options: ChaosOptions): Promise<ChaosReport> {
  const running = previous.then(() => runAll(hostOf(server), options))
  previous = running.catch(() => {})
  return running
}

async function runAll(host: ConnectionHost, options: ChaosOptions): Promise<ChaosReport> {
  checkNames('chaos()', options, OPTION_NAMES)
  const { runs = DEFAULT_RUNS, seed = Math.floor(Math.random() * 1e9), patienceMs = DEFAULT_PATIENCE_MS, check = () => {} } = options
  const requests = listOf('chaos()', 'requests', options.requests).map((request): ChaosRequest => requestOf(request, REQUEST_NAMES))
  if (requests.length === 0) throw invalid('chaos()', 'requests are empty: it needs one')
  const sizes: number[] = []
  for (const request of requests) {
    const { head, body } = await requestBytes(request)
    sizes.push(head.length + body.length)
  }
  const counts = { answers: 0, breaks: 0 }
  const accidents = new Accidents()
  const trial: Trial = { host, requests, sizes, patienceMs, check, counts, accidents }
  try {
    for (let n = 0; n < runs; n++) {
      const run = new ChaosRun(trial, seed + n)
      const failure = await run.play(n === runs - 1)
      if (failure !== null) throw new ChaosError(failure.what, seed + n, run.story, failure.cause)
    }
    return { seed, runs, ...counts }
  } finally {
    accidents.stop()
  }
}
