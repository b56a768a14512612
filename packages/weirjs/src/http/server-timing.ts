// How long parts of the work on a request took, for the field Server-Timing (W3C Server Timing).

import { isToken } from '../base/ascii.ts'
import { isPromise } from '../base/is-promise.ts'
import { shown } from '../base/kind-of.ts'
import { checkFunction, invalid } from '../base/options.ts'

/** The most names that the field has, so that it cannot outgrow what clients accept. */
const MAX_NAMES = 32

export class ServerTiming {
  /** Milliseconds by name, in the order in which the names were first used. */
  readonly #times = new Map<string, number>()

  /**
   * Runs `work`, and adds the time until it has returned, or until its promise has settled.
   * @throws WEIR_OPTION_INVALID for a name that is not a token; what `work` throws
   */
  time<T>(name: string, work: () => T): T {
    if (typeof name !== 'string' || !isToken(name)) throw invalid('time()', `the name is ${shown(name)}, not a token such as "db"`)
    if (work === undefined) throw invalid('time()', `a function is needed: write time(${JSON.stringify(name)}, () => …)`)
    checkFunction('time()', 'the second argument', work)
    const startedAt = performance.now()
    let result: T
    try {
      result = work()
    } catch (error) {
      this.#add(name, startedAt)
      throw error
    }
    // Another promise than that of `work`: when it resolves, the time has been added.
    if (isPromise(result)) return this.#await(name, startedAt, result) as T
    this.#add(name, startedAt)
    return result
  }

  async #await(name: string, startedAt: number, running: PromiseLike<unknown>): Promise<unknown> {
    try {
      return await running
    } finally {
      this.#add(name, startedAt)
    }
  }

  #add(name: string, startedAt: number): void {
    const before = this.#times.get(name)
    if (before === undefined && this.#times.size >= MAX_NAMES) return
    this.#times.set(name, (before ?? 0) + performance.now() - startedAt)
  }

  /** The times so far, to which nothing is added that has not ended. */
  copy(): ServerTiming {
    const copy = new ServerTiming()
    for (const [name, ms] of this.#times) copy.#times.set(name, ms)
    return copy
  }

  /** The value of the field; empty if nothing has been measured to its end. */
  get field(): string {
    return [...this.#times].map(([name, ms]) => `${name};dur=${Number(ms.toFixed(2))}`).join(', ')
  }
}
