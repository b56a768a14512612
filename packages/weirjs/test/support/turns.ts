// How much happens in one turn of the event loop, before others come first.

import type { TestContext } from 'node:test'

/** Counts what happens in each turn of the event loop. */
export class Turns {
  all = 0
  #inTurn = 0
  most = 0
  #isOver = false

  constructor(t: TestContext) {
    t.after(() => {
      this.#isOver = true
    })
    const next = (): void => {
      this.#inTurn = 0
      if (!this.#isOver) setImmediate(next)
    }
    next()
  }

  count(): void {
    this.all++
    this.most = Math.max(this.most, ++this.#inTurn)
  }
}
