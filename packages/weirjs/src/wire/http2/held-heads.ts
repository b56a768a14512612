// Bounds the memory of the heads of requests in progress. A client can repeat a field that it has sent before with one byte, so a head of 64 KB may
// cost it 60 bytes, and an event stream or a WebSocket keeps its head for hours.

/** What each connection may keep: 64 heads of ordinary requests, or the largest one by default. */
const FREE_BYTES = 64 * 1024
/** What all connections of the thread may keep above that. */
const MOST_OF_ALL_BYTES = 128 * 1024 * 1024

let allBytes = 0

/** The heads of one connection. */
export class HeldHeads {
  #bytes = 0

  /** Whether there is room for a head of so many bytes. There always is room for one head at a time. */
  hasRoomFor(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= FREE_BYTES || allBytes + bytes <= MOST_OF_ALL_BYTES
  }

  /** @param bytes below zero for one whose request is over */
  count(bytes: number): void {
    const before = Math.max(this.#bytes, FREE_BYTES)
    this.#bytes += bytes
    allBytes += Math.max(this.#bytes, FREE_BYTES) - before
  }
}
