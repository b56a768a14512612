import { VALUE } from './message-cost.ts'
import { RpcError } from './rpc-error.ts'

/** How much a message may still cost. */
export class ValueBudget {
  readonly #maxValues: number
  /** In quarters of a value. */
  left: number

  constructor(maxValues: number) {
    this.#maxValues = maxValues
    this.left = maxValues * VALUE
  }

  /** @throws RpcError `resource_exhausted` */
  spend(cost: number): void {
    this.left -= cost
    if (this.left < 0) throw new RpcError('resource_exhausted', `a message may have at most ${this.#maxValues} values (maxValues)`)
  }
}
