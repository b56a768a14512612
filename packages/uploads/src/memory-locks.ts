// The locks of one process.

import { type Clock, FairQueue } from 'weirjs/kit'
import type { UploadLock, UploadLocks } from './upload-locks.ts'

/** The holder of the lock of an upload, and the requests that wait for it. */
interface Place {
  onWanted: (() => void) | null
  /** In order of arrival, because all of them count as one sender. */
  readonly waiting: FairQueue<Waiter>
}

interface Waiter {
  readonly onWanted: () => void
  readonly end: (lock: UploadLock | null) => void
}

/** Locks for a single process. Servers of one process that use the same storage share one object. Several processes need the locks of `sqliteStores`, or `redisLocks`. */
export function memoryLocks(): UploadLocks {
  return new MemoryLocks()
}

export class MemoryLocks implements UploadLocks {
  readonly #places = new Map<string, Place>()
  readonly #mostWaiting: number

  /** @param mostWaiting how many requests may wait for one upload: then the oldest gets nothing, because the newest has it in the end */
  constructor(mostWaiting: number = Number.POSITIVE_INFINITY) {
    this.#mostWaiting = mostWaiting
  }

  acquire(id: string, onWanted: () => void, waitMs: number, clock: Clock, signal?: AbortSignal): Promise<UploadLock | null> {
    const place = this.#places.get(id)
    if (place === undefined) {
      this.#places.set(id, { onWanted, waiting: new FairQueue() })
      return Promise.resolve(this.#lockOf(id))
    }
    if (waitMs === 0 || signal?.aborted === true) return Promise.resolve(null)
    return new Promise((resolve) => {
      const leave = (): void => {
        place.waiting.delete('', waiter)
        waiter.end(null)
      }
      const stopTimer = clock.every(waitMs, leave)
      const waiter: Waiter = {
        onWanted,
        end(lock) {
          stopTimer()
          signal?.removeEventListener('abort', leave)
          resolve(lock)
        },
      }
      signal?.addEventListener('abort', leave)
      if (place.waiting.length === this.#mostWaiting) place.waiting.next()!.end(null)
      place.waiting.add('', waiter)
      ask(place)
    })
  }

  #lockOf(id: string): UploadLock {
    let isHeld = true
    return {
      hasTakenOver: false,
      isHeld: () => isHeld,
      release: () => {
        if (isHeld) this.#pass(id)
        isHeld = false
        return Promise.resolve()
      },
    }
  }

  #pass(id: string): void {
    const place = this.#places.get(id)!
    const next = place.waiting.next()
    if (next === null) {
      this.#places.delete(id)
      return
    }
    place.onWanted = next.onWanted
    next.end(this.#lockOf(id))
    if (place.waiting.length > 0) queueMicrotask(() => ask(place)) // the newest has it in the end
  }
}

/** Asks the holder once. */
function ask(place: Place): void {
  const { onWanted } = place
  place.onWanted = null
  onWanted?.()
}
