// Decides which request may work on an upload. A client that has lost its connection returns on another one, often before the server knows that the
// first is dead. So a later request asks the holder to stop.

import type { Clock } from 'weirjs/kit'

/** The right to work on an upload. */
export interface UploadLock {
  /** Whether its last holder has never released it: it may still be working without knowing that it has lost the lock. */
  readonly hasTakenOver: boolean
  /** Whether it is still held for certain. To be asked before the client is told about anything that has been done. */
  isHeld(): boolean
  /** Never rejects. */
  release(): Promise<void>
}

/** Made by `memoryLocks`, `redisLocks` or `sqliteStores`. */
export interface UploadLocks {
  /**
   * Takes the lock of an upload once its holder has released it, and asks the holder to do so. Null if it does not within `waitMs`.
   * @param onWanted called when another request wants it, or when it is lost; at most once
   * @param waitMs 0: the holder is not asked
   * @param signal aborts when the client has left: then nobody needs the lock any more, and the promise may resolve with null early
   */
  acquire(id: string, onWanted: () => void, waitMs: number, clock: Clock, signal?: AbortSignal): Promise<UploadLock | null>
}
