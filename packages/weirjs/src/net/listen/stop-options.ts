// How a server runs and stops: the options of `run` and `stop`, and their checks.

import { alias, duration, list } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { StopOptions } from '../../http/stop-options.ts'

/**
 * @example
 * const options: RunOptions = { signals: ['SIGTERM'], grace: '30s' }
 * await server.run(options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/lifecycle.md
 */
export interface RunOptions extends StopOptions {
  /** Signals on which to stop gracefully; a second one ends everything immediately. Without this option, no signal is handled. */
  readonly signals?: readonly NodeJS.Signals[]
}

/**
 * @example
 * const report: StopReport = await server.stop()
 * console.log(report.aborted)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/lifecycle.md
 */
export interface StopReport {
  /** How many connections still had a request in flight at the deadline, and were aborted. */
  readonly aborted: number
}

/** A program may compute a time that is left, which is seldom whole. `Infinity`: until everything is done. */
const TIME = duration({ least: 0, most: Number.MAX_SAFE_INTEGER, fractions: true }).also(Number.POSITIVE_INFINITY)
const TIMES = {
  grace: TIME.optional('10 s'),
  readyDelay: TIME.optional('0'),
  graceMs: alias('grace'),
  readyDelayMs: alias('readyDelay'),
}
/** @internal */
export const STOP_RULES = rules<StopOptions>('stop()')(TIMES)
/** @internal */
export const RUN_RULES = rules<RunOptions>('run()')({ ...TIMES, signals: list<NodeJS.Signals>().or([]) })

export type StopTimes = typeof STOP_RULES.settings

/** @throws WEIR_OPTION_INVALID */
export function checkedRunOptions(options: RunOptions): typeof RUN_RULES.settings {
  const settings = RUN_RULES.read(options)
  checkSignals(settings.signals)
  return settings
}

/** Otherwise, a name that the system does not have, or does not let a process handle, would fail only after the server has started. */
function checkSignals(signals: readonly NodeJS.Signals[]): void {
  if (signals.length === 0) return
  const known = process.getBuiltinModule('node:os').constants.signals
  for (const name of signals as readonly unknown[]) {
    if (name === 'SIGKILL' || name === 'SIGSTOP') throw invalid('run()', `signals: a process cannot handle ${name}: leave it out`)
    if (typeof name !== 'string' || !Object.hasOwn(known, name))
      throw invalid('run()', `signals: ${JSON.stringify(name)} is not a signal of this system`)
  }
}
