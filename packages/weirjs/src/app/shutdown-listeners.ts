// Objects to stop when a server stops. All of them share one listener, so that adding and removing the thousandth stream costs no more than the
// first.

import type { HttpSession } from '../http/session.ts'

/** An object that ends its work when its server stops. */
interface ShutdownListener {
  stop(): void
}

const listenersOf = new WeakMap<AbortSignal, Set<ShutdownListener>>()

/**
 * Calls `listener.stop` when the signal aborts, unless the listener was removed before. Does nothing if the signal has already aborted.
 */
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

/**
 * Calls `stop` once when the server begins to stop; at once if it is stopping already. For work that would otherwise keep the server from stopping
 * until it is cut. The thousandth listener costs no more than the first. What `stop` throws is an uncaught exception.
 * @param of a request of the server, or `session.server.stopping`
 * @returns a function to call when the work has ended: `stop` is not called after that
 */
export function onStop(of: HttpSession | AbortSignal, stop: () => void): () => void {
  const signal = of instanceof AbortSignal ? of : of.server.stopping
  const listener = { stop }
  if (signal.aborted) stop()
  else addShutdownListener(signal, listener)
  return () => removeShutdownListener(signal, listener)
}
