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
  readonly grant: () => void
}

/** Locks for a single process. Servers of one process that use the same storage share one object. Several processes need the locks of `sqliteStores`, or `redisLocks`. */
export function memoryLocks(): UploadLocks {
  return new MemoryLocks()
}

class MemoryLocks implements UploadLocks {
  readonly #places = new Map<string, Place>()

  acquire(id: string, onWanted: () => void, waitMs: number, clock: Clock): Promise<UploadLock | null> {
    const place = this.#places.get(id)
    if (place === undefined) {
      this.#places.set(id, { onWanted, waiting: new FairQueue() })
      return Promise.resolve(this.#lockOf(id))
    }
    if (waitMs === 0) return Promise.resolve(null)
    return new Promise((resolve) => {
      const stopTimer = clock.every(waitMs, () => {
        stopTimer()
        place.waiting.delete('', waiter)
        resolve(null)
      })
      const waiter: Waiter = {
        onWanted,
        grant: () => {
          stopTimer()
          resolve(this.#lockOf(id))
        },
      }
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
    next.grant()
    if (place.waiting.length > 0) queueMicrotask(() => ask(place)) // the newest has it in the end
  }
}

/** Asks the holder once. */
function ask(place: Place): void {
  const { onWanted } = place
  place.onWanted = null
  onWanted?.()
}
