// A promise that a program must wait for. Without `await`, its rejection would end the process, at a time that a client chooses.

export class AwaitedPromise<T> extends Promise<T> {
  #isAwaited = false

  /** `then` returns an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** @param onForgotten called if `work` rejects, and nothing has waited for that */
  constructor(work: Promise<T>, onForgotten: () => void) {
    super((resolve, reject) => {
      // `await` calls `then` a moment after it has begun to wait.
      work.then(resolve, (error: unknown) => {
        reject(error)
        setImmediate(() => {
          if (!this.#isAwaited) onForgotten()
        })
      })
    })
    super.then(undefined, () => {})
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#isAwaited = true
    return super.then(onFulfilled, onRejected)
  }
}
