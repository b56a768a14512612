// Where account, certificates and orders are kept, for all processes that share them.

/**
 * Keeps texts by name: certificates with their keys, so only the program may read them. Names consist of letters, digits, `.`, `_` and `-`.
 * Processes that share a store share certificates, and one at a time has an order.
 */
export interface AcmeStore {
  /** Null if there is none. */
  get(name: string): Promise<string | null>
  /** Replaces it whole: no other process ever reads a part. */
  set(name: string, value: string): Promise<void>
  delete(name: string): Promise<void>
  /**
   * Gets a lock, or keeps it for another `ttlMs` milliseconds if `owner` has it.
   * @returns false if another owner has it, whose time is not over
   */
  lock(name: string, owner: string, ttlMs: number): Promise<boolean>
  /** Gives the lock back. Does nothing if another owner has it. */
  unlock(name: string, owner: string): Promise<void>
}
