// Collects uncaught errors while it is active, in place of all other listeners: a test runner would fail the test immediately.

type Listener = (...args: unknown[]) => void

const EVENTS = ['uncaughtException', 'unhandledRejection'] as const

/** Only one instance may be active at a time. */
export class Accidents {
  readonly #others: readonly (readonly [event: string, listeners: readonly Listener[]])[]
  readonly #found: unknown[] = []
  readonly #listener = (error: unknown): void => {
    this.#found.push(error)
  }

  constructor() {
    this.#others = EVENTS.map((event) => [event, process.listeners(event as never) as unknown as Listener[]])
    for (const event of EVENTS) process.removeAllListeners(event).on(event, this.#listener)
  }

  /** The errors since the last call. */
  take(): readonly unknown[] {
    return this.#found.splice(0)
  }

  /** Restores the listeners that were there before. */
  stop(): void {
    for (const event of EVENTS) process.off(event, this.#listener)
    for (const [event, listeners] of this.#others) for (const listener of listeners) process.on(event, listener)
  }
}
