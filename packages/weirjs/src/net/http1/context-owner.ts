// The events of a transport that another protocol has taken over, in the asynchronous context of the code that the protocol belongs to.

import type { AsyncResource } from 'node:async_hooks'
import type { TransportOwner } from '../transport/transport.ts'

export class ContextOwner implements TransportOwner {
  readonly #context: AsyncResource
  readonly #owner: TransportOwner

  constructor(context: AsyncResource, owner: TransportOwner) {
    this.#context = context
    this.#owner = owner
  }

  onBytes(buffer: Buffer, length: number, borrowed: boolean): void {
    this.#context.runInAsyncScope(this.#owner.onBytes, this.#owner, buffer, length, borrowed)
  }

  onEnd(): void {
    this.#context.runInAsyncScope(this.#owner.onEnd, this.#owner)
  }

  onDrain(): void {
    this.#context.runInAsyncScope(this.#owner.onDrain, this.#owner)
  }

  onClose(failure?: Error | null): void {
    this.#context.runInAsyncScope(this.#owner.onClose, this.#owner, failure)
  }
}
