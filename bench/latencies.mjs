// Latencies of one round in buckets, without allocations while it runs.

const BUCKET_MS = 0.01
const BUCKETS = 100_000 // up to a second; longer ones count as a second

export class Latencies {
  #buckets = new Uint32Array(BUCKETS)
  #total = 0

  add(ms, times) {
    const bucket = Math.min(BUCKETS - 1, Math.floor(ms / BUCKET_MS))
    this.#buckets[bucket] += times
    this.#total += times
  }

  /** In milliseconds. */
  summary() {
    return { p50: this.#percentile(0.5), p99: this.#percentile(0.99) }
  }

  #percentile(share) {
    let left = this.#total * share
    for (let i = 0; i < BUCKETS; i++) {
      left -= this.#buckets[i]
      if (left <= 0) return (i + 0.5) * BUCKET_MS
    }
    return 0
  }
}
