// The events of a stream that speaks another protocol, in the asynchronous context of the code that the protocol belongs to. Other streams of the
// connection may be those of other clients.

import type { AsyncResource } from 'node:async_hooks'
import type { StreamEvents } from './tunnel.ts'

export class ContextUser implements StreamEvents {
  readonly #context: AsyncResource
  readonly #user: StreamEvents

  constructor(context: AsyncResource, user: StreamEvents) {
    this.#context = context
    this.#user = user
  }

  onData(buffer: Buffer, start: number, end: number, isBorrowed: boolean): void {
    this.#context.runInAsyncScope(this.#user.onData, this.#user, buffer, start, end, isBorrowed)
  }

  onEnd(): void {
    this.#context.runInAsyncScope(this.#user.onEnd, this.#user)
  }

  onClose(): void {
    this.#context.runInAsyncScope(this.#user.onClose, this.#user)
  }

  settle(): boolean {
    return this.#context.runInAsyncScope(this.#user.settle, this.#user)
  }
}
