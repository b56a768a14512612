// How a server runs and stops: the options of `run` and `stop`, and their checks.

import { shown } from '../../base/kind-of.ts'
import { checkNames, invalid, listOf, namesOf } from '../../base/options.ts'

export interface StopOptions {
  /** How long requests in flight may take to finish, in milliseconds. Default 10 s. */
  readonly graceMs?: number
  /**
   * How long the stop is delayed after `isReady` has become false, in milliseconds, so that a load balancer notices. Connections are
   * accepted in that time. Default 0.
   */
  readonly readyDelayMs?: number
}

export interface RunOptions extends StopOptions {
  /** Signals on which to stop gracefully; a second one ends everything immediately. Without this option, no signal is handled. */
  readonly signals?: readonly NodeJS.Signals[]
}

export interface StopReport {
  /** How many connections still had a request in flight at the deadline, and were aborted. */
  readonly aborted: number
}

const RUN_OPTION_NAMES = namesOf<RunOptions>()(['signals', 'graceMs', 'readyDelayMs'])
const STOP_OPTION_NAMES = namesOf<StopOptions>()(['graceMs', 'readyDelayMs'])

/** @throws WEIR_OPTION_INVALID */
export function checkStopOptions(options: StopOptions): void {
  checkNames('stop()', options, STOP_OPTION_NAMES)
  checkTimes('stop()', options)
}

/** @throws WEIR_OPTION_INVALID */
export function checkRunOptions(options: RunOptions): void {
  checkNames('run()', options, RUN_OPTION_NAMES)
  checkSignals(options.signals ?? [])
  checkTimes('run()', options)
}

function checkTimes(owner: string, { graceMs, readyDelayMs }: StopOptions): void {
  for (const [name, value] of Object.entries({ graceMs, readyDelayMs })) {
    if (value !== undefined && !(typeof value === 'number' && value >= 0))
      throw invalid(owner, `${name} is ${shown(value)}, not a number of milliseconds of at least 0`)
  }
}

/** Otherwise, a name that the system does not have, or does not let a process handle, would fail only after the server has started. */
function checkSignals(signals: readonly NodeJS.Signals[]): void {
  if (listOf('run()', 'signals', signals).length === 0) return
  const known = process.getBuiltinModule('node:os').constants.signals
  for (const name of signals as readonly unknown[]) {
    if (name === 'SIGKILL' || name === 'SIGSTOP') throw invalid('run()', `signals: a process cannot handle ${name}`)
    if (typeof name !== 'string' || !Object.hasOwn(known, name))
      throw invalid('run()', `signals: ${JSON.stringify(name)} is not a signal of this system`)
  }
}
