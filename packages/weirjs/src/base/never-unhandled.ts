/** Marks a promise as handled. Without this, a client could end the process by making a promise reject that the handler awaits late or never. */
export function neverUnhandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}
