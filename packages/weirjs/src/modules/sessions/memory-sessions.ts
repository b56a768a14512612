// Sessions in the memory of one process, for development, for tests, and for programs that run once.

import { type Clock, systemClock } from '../../base/clock.ts'
import { count } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'

import type { SessionStore } from './session-store.ts'

export interface MemorySessionsOptions {
  /** The most sessions. Default 10,000. When exceeded, the session that was written the longest time ago ends. */
  readonly maxSessions?: number
}

const OWNER = 'memorySessions()'
/** @internal */
export const MEMORY_SESSIONS_RULES = rules<MemorySessionsOptions>(OWNER)({ maxSessions: count({ least: 1 }).or(10_000) })

/**
 * Returns a store in memory. Its sessions end with the process, and other processes do not see them.
 * @throws WEIR_OPTION_INVALID
 */
export function memorySessions(options: MemorySessionsOptions = {}): SessionStore {
  return new MemorySessions(MEMORY_SESSIONS_RULES.read(options).maxSessions, systemClock)
}

interface Kept {
  readonly text: string
  /** By the clock's `now`. */
  readonly endsAt: number
}

class MemorySessions implements SessionStore {
  readonly #maxSessions: number
  readonly #clock: Clock
  /** Recently written sessions are at the end. */
  readonly #kept = new Map<string, Kept>()

  constructor(maxSessions: number, clock: Clock) {
    this.#maxSessions = maxSessions
    this.#clock = clock
  }

  async read(key: string): Promise<string | null> {
    return this.#read(key)
  }

  async write(key: string, text: string, ttlMs: number): Promise<void> {
    this.#write(key, text, ttlMs)
  }

  async replace(key: string, expected: string, text: string, ttlMs: number): Promise<boolean> {
    if (this.#read(key) !== expected) return false
    this.#write(key, text, ttlMs)
    return true
  }

  async delete(key: string): Promise<void> {
    this.#kept.delete(key)
  }

  #read(key: string): string | null {
    const kept = this.#kept.get(key)
    if (kept === undefined) return null
    if (kept.endsAt > this.#clock.now()) return kept.text
    this.#kept.delete(key)
    return null
  }

  #write(key: string, text: string, ttlMs: number): void {
    const now = this.#clock.now()
    this.#kept.delete(key)
    this.#kept.set(key, { text, endsAt: now + ttlMs })
    for (const [oldest, { endsAt }] of this.#kept) {
      if (endsAt > now && this.#kept.size <= this.#maxSessions) break
      this.#kept.delete(oldest)
    }
  }
}
