// What the program has been given promises of: the body of a request, as a whole or as a form, and the files of a form that it saves.

import { WatchedPromise } from '../../base/watched-promise.ts'

export class Reads {
  readonly #reads: { readonly member: string; readonly promise: WatchedPromise<unknown> }[] = []

  /** @param member the call that began the work @returns what the program gets */
  watch<T>(member: string, work: Promise<T>): Promise<T> {
    const promise = WatchedPromise.of(work)
    this.#reads.push({ member, promise })
    return promise
  }

  /** A call that goes on, or for which nothing waits; null if there is none. */
  get unawaited(): string | null {
    return this.#reads.find(({ promise }) => !promise.isAwaited || !promise.isSettled)?.member ?? null
  }
}
