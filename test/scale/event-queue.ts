// What is due when, in the model of many machines: a binary heap in typed arrays, because a million clients wait in it at once.

const FIRST_CAPACITY = 1024

/** Things of one number each, in the order of their times. Of two with the same time, the one that was added first is first. */
export class EventQueue {
  #times = new Float64Array(FIRST_CAPACITY)
  #orders = new Float64Array(FIRST_CAPACITY)
  #things = new Float64Array(FIRST_CAPACITY)
  #size = 0
  #added = 0

  get size(): number {
    return this.#size
  }

  /** When the first thing is due; Infinity if nothing is. */
  get nextTime(): number {
    return this.#size === 0 ? Infinity : this.#times[0]!
  }

  add(time: number, thing: number): void {
    if (this.#size === this.#times.length) this.#grow()
    let at = this.#size++
    const order = this.#added++
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isEarlier(time, order, parent)) break
      this.#move(parent, at)
      at = parent
    }
    this.#put(at, time, order, thing)
  }

  /** Removes what is due first. @returns NaN if there is nothing */
  take(): number {
    if (this.#size === 0) return Number.NaN
    const first = this.#things[0]!
    const last = --this.#size
    const time = this.#times[last]!
    const order = this.#orders[last]!
    const thing = this.#things[last]!
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= last) break
      if (child + 1 < last && this.#isEarlier(this.#times[child + 1]!, this.#orders[child + 1]!, child)) child++
      if (this.#isEarlier(time, order, child)) break
      this.#move(child, at)
      at = child
    }
    this.#put(at, time, order, thing)
    return first
  }

  #isEarlier(time: number, order: number, than: number): boolean {
    const other = this.#times[than]!
    return time < other || (time === other && order < this.#orders[than]!)
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#times[from]!, this.#orders[from]!, this.#things[from]!)
  }

  #put(at: number, time: number, order: number, thing: number): void {
    this.#times[at] = time
    this.#orders[at] = order
    this.#things[at] = thing
  }

  #grow(): void {
    const larger = (values: Float64Array): Float64Array<ArrayBuffer> => {
      const copy = new Float64Array(values.length * 2)
      copy.set(values)
      return copy
    }
    this.#times = larger(this.#times)
    this.#orders = larger(this.#orders)
    this.#things = larger(this.#things)
  }
}
