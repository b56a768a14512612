// `chaos` sends the requests of a test to its handlers, from clients that cut short, stall, leave, reset and do not read. It checks what
// must hold for every handler: each request gets one complete response or an aborted connection, no error goes uncaught, and nothing stays
// open after the clients have left. Everything is drawn from a seed: the same seed repeats the run.

import { type Duration, type HttpServer, type InjectResponse, WeirError } from 'weirjs'
import { dev, invalid, option, rules } from 'weirjs/kit'

import { Accidents } from './accidents.ts'
import { type ChaosRequest, ChaosRun, type Trial } from './chaos-run.ts'

const { anything, count, duration, func, list } = option

export interface ChaosOptions {
  /** The requests that the clients send. A string is a GET of that URL. */
  readonly requests: readonly (ChaosRequest | string)[]
  /** The seed of the first run. Default: a new one for each call. */
  readonly seed?: number
  /** The number of runs, each with one to three clients. Run n, counted from 0, has the seed `seed + n`. Default 100. */
  readonly runs?: number
  /** How long to wait for a response, or for the end of a handler whose client has left, in real time. Default 2 s. */
  readonly patience?: Duration
  /** Called with each complete response and its request. An error that it throws is a failure. */
  readonly check?: (response: InjectResponse, request: ChaosRequest) => void
}

export interface ChaosReport {
  readonly seed: number
  readonly runs: number
  /** The number of complete responses. */
  readonly answers: number
  /** The number of requests for which the server aborted the connection while their client was waiting. */
  readonly breaks: number
}

/** A handler did something that no handler may do. The message describes it. */
export class ChaosError extends WeirError {
  override readonly name = 'ChaosError'
  /** The seed of the run that failed: `chaos(server, { seed, runs: 1, … })` repeats it. */
  readonly seed: number
  /** What happened in that run, in order. */
  readonly story: readonly string[]

  constructor(what: string, seed: number, story: readonly string[], cause: unknown) {
    const shown = story.length > SHOWN_EVENTS ? [`… ${story.length - SHOWN_EVENTS} more`, ...story.slice(-SHOWN_EVENTS)] : story
    super('WEIR_CHAOS', `${what}\nTo repeat: chaos(server, { seed: ${seed}, runs: 1, requests })\n  ${shown.join('\n  ')}`, { cause })
    this.seed = seed
    this.story = story
  }
}

/** @internal */
export const CHAOS_RULES = rules<ChaosOptions>('chaos()')({
  requests: list<ChaosRequest | string>().filled('pass at least one'),
  seed: count().optional('new for each call'),
  runs: count({ least: 1 }).or(100),
  patience: duration().or('2s'),
  check: func().optional(),
})
const { signal: _signal, ...REQUEST } = dev.REQUEST_RULES.table
/** @internal */
export const CHAOS_REQUEST_RULES = rules<ChaosRequest>('request')({
  ...REQUEST,
  endless: anything().optional(),
  messages: list<unknown>().optional(),
})
const SHOWN_EVENTS = 40
/** The bytes of a client's frame in addition to a short payload. */
const FRAME_BYTES = 6

/** Only one chaos runs at a time, because it treats every uncaught error in the meantime as its own. */
let previous: Promise<unknown> = Promise.resolve()

/**
 * Sends `requests` to `server` many times, without a port. weir's timeouts use test time; handlers use real time. While it runs, it
 * replaces all listeners for `uncaughtException` and `unhandledRejection`.
 *
 * @throws ChaosError for the first failure; WEIR_OPTION_INVALID for a request that no client could send
 */
export function chaos(server: HttpServer, options: ChaosOptions): Promise<ChaosReport> {
  const running = previous.then(() => runAll(server, options))
  previous = running.catch(() => {})
  return running
}

async function runAll(server: HttpServer, options: ChaosOptions): Promise<ChaosReport> {
  const { runs, seed = Math.floor(Math.random() * 1e9), patience, check = () => {}, ...given } = CHAOS_RULES.read(options)
  const requests = given.requests.map((request): ChaosRequest => dev.requestOf(request, CHAOS_REQUEST_RULES))
  const sizes: number[] = []
  for (const request of requests) {
    const { messages = [], endless: _, ...asked } = request
    if (request.messages !== undefined && Object.keys(asked).some((name) => name !== 'url' && name !== 'headers'))
      throw invalid('chaos()', `the WebSocket ${request.url} has messages, so it has a url and headers, and nothing else of a request`)
    const { head, body } = await dev.requestBytes(asked)
    sizes.push(head.length + body.length + messages.reduce<number>((sum, one) => sum + sizeOf(one), 0))
  }
  const counts = { answers: 0, breaks: 0 }
  const accidents = new Accidents()
  const lingerMs = dev.limitsOf(server).find(({ name }) => name === 'lingerTimeout')!.value!
  const trial: Trial = { server, lingerMs, requests, sizes, patienceMs: patience, check, counts, accidents }
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

/** About as many bytes as a message takes. */
function sizeOf(message: unknown): number {
  if (message instanceof Uint8Array) return message.length + FRAME_BYTES
  return String(typeof message === 'string' ? message : JSON.stringify(message)).length + FRAME_BYTES
}
