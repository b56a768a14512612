// The two ways to put servers under load, with one face: `open(target)`, `run(target, seconds)` → `{ requests, elapsedSeconds,
// busySeconds }` as often as one likes, `close(target)` → `{ p50, p99 }`. A target is `{ port, workload }`.
import { Child } from './child.mjs'
import { LOAD_CORE } from './machine.mjs'
import { Wrk } from './wrk.mjs'

/** bench/load.mjs in a process of its own. */
export class OwnGenerator {
  name = 'bench/load.mjs'
  /** Turns are this short, so that what disturbs the machine for half a second disturbs all servers alike. */
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

/** wrk, a second opinion from another code base. It connects while it is measured, and takes whole seconds only. */
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

  /** Those of the last run: wrk tells no more than two figures of each. */
  close({ port }) {
    return this.#latencies.get(port)
  }
}
