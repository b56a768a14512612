/** Whether `value` is a promise, or anything else that can be awaited. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise || (typeof value === 'object' && value !== null && typeof (value as Promise<unknown>).then === 'function')
}
