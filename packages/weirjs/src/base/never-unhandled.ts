/** A client must not be able to end the process by making a promise reject that the handler awaits later, or never. */
export function neverUnhandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}
