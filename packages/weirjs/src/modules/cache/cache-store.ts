// Where processes share what they keep.

/**
 * Shared by processes. All functions may reject: then the process works as without a store. They must settle in a short time, because requests wait
 * for them.
 */
export interface CacheStore {
  /** Whether the store does not reply. For readiness checks. */
  readonly isDegraded: boolean
  /** The text that was written last, unless its time is over. */
  read(key: string): Promise<string | null>
  write(key: string, text: string, ttlMs: number): Promise<void>
  /**
   * Reserves a key for `leaseMs`, unless it is reserved already. With the same token, it prolongs the reservation.
   * @returns the time of the store in milliseconds, or null if another process has it
   */
  claim(key: string, token: string, leaseMs: number): Promise<number | null>
  /** Whether a process has reserved it. */
  isClaimed(key: string): Promise<boolean>
  /** Ends the reservation, if it has this token. */
  release(key: string, token: string): Promise<void>
  /** Notes the time of the store for a tag, and keeps it for `ttlMs`. */
  mark(tag: string, ttlMs: number): Promise<void>
  /** The time that was noted for a tag last; null if there is none. */
  markedAt(tag: string): Promise<number | null>
}
