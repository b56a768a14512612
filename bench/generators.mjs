// The two load generators, with one interface: `open(target)`, `run(target, seconds)` → `{ requests, elapsedSeconds, busySeconds }` any
// number of times, and `close(target)` → `{ p50, p99 }`. A target is `{ port, workload }`.
import { Child } from './child.mjs'
import { LOAD_CORE } from './machine.mjs'
import { Wrk } from './wrk.mjs'

/** bench/load.mjs in its own process. */
export class OwnGenerator {
  name = 'bench/load.mjs'
  /** Turns are this short so that a disturbance of half a second affects all servers alike. */
  turnSeconds = 0.05
  #child

  constructor(pinning) {
    this.#child = new Child('load.mjs', [], { pinning, core: LOAD_CORE })
  }

  open({ port, workload }) {
    return this.#ask({ open: { port, workload: workload.id } })
  }

  run({ port }, seconds) {
    return this.#ask({ run: { port, seconds } })
  }

  close({ port }) {
    return this.#ask({ close: port })
  }

  stop() {
    return this.#child.stop()
  }

  async #ask(question) {
    const answer = await this.#child.ask(question)
    if (answer.failed !== undefined) throw new Error(answer.failed)
    return answer
  }
}

/** wrk, as a second opinion from an independent code base. It connects during the measurement, and accepts whole seconds only. */
export class WrkGenerator {
  name = 'wrk'
  turnSeconds = 1
  #wrk
  #latencies = new Map()

  constructor(pinning) {
    this.#wrk = new Wrk(pinning)
  }

  open() {}

  async run(target, seconds) {
    const { p50, p99, ...run } = await this.#wrk.run(target, seconds)
    this.#latencies.set(target.port, { p50, p99 })
    return run
  }

  /** The latencies of the last run only: wrk reports two figures for each run. */
  close({ port }) {
    return this.#latencies.get(port)
  }
}
