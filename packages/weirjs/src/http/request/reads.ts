// What the program has been given promises of: the body of a request, as a whole or as a form, and the files of a form that it saves.

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

/**
 * A promise that is given to the program, and that knows whether the program waits for it. It is never unhandled: a client must not be able to end
 * the process by making a promise reject that a handler awaits later, or never. In place of that, whoever made it can ask whether anything waits for
 * it.
 */
class WatchedPromise<T> extends Promise<T> {
  /** The promises that `then` makes are ordinary ones. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** Whether `await`, `then` or `catch` has been called on it. */
  isAwaited = false
  isSettled = false

  // biome-ignore lint/suspicious/noThenProperty: `await` calls it, because this is a class of its own
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true
    return super.then(onFulfilled, onRejected)
  }

  /** Settles as `promise` does. */
  static of<T>(promise: Promise<T>): WatchedPromise<T> {
    const one: WatchedPromise<T> = new WatchedPromise<T>((resolve, reject) => {
      const settle = (value: T): void => {
        one.isSettled = true
        resolve(value)
      }
      const fail = (reason: unknown): void => {
        one.isSettled = true
        Promise.prototype.then.call(one, undefined, ignore) // does not count
        reject(reason)
      }
      void promise.then(settle, fail)
    })
    return one
  }
}

function ignore(): void {}
