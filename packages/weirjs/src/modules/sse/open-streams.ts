// How many streams are open on each server, for metrics.

/** By the signal of a server that stops. */
const counts = new WeakMap<AbortSignal, number>()

/** @param by 1 for a stream that begins, -1 for one that ends */
export function countStream(stopping: AbortSignal, by: 1 | -1): void {
  counts.set(stopping, (counts.get(stopping) ?? 0) + by)
}

/** How many event streams of a server are open now. @param stopping of the server */
export function openStreams(stopping: AbortSignal): number {
  return counts.get(stopping) ?? 0
}
