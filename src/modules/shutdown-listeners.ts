// Who has to be told that a server stops: one listener for all, so that the thousandth stream comes and goes as cheaply as the first.

/** Something that ends itself when its server stops. */
export interface ShutdownListener {
  stop(): void
}

const listenersOf = new WeakMap<AbortSignal, Set<ShutdownListener>>()

/** Calls `listener.stop` when the signal aborts, unless it was removed before. Not if it has aborted already. */
export function addShutdownListener(signal: AbortSignal, listener: ShutdownListener): void {
  let all = listenersOf.get(signal)
  if (all === undefined) {
    const told = new Set<ShutdownListener>()
    listenersOf.set(signal, told)
    signal.addEventListener('abort', () => {
      for (const one of told) one.stop()
      told.clear()
    })
    all = told
  }
  all.add(listener)
}

export function removeShutdownListener(signal: AbortSignal, listener: ShutdownListener): void {
  listenersOf.get(signal)?.delete(listener)
}
