// Where sessions are kept on the server's side.

/**
 * Keeps sessions as text by key. `memorySessions` and `redisSessions` are stores, and a program may write its own. A promise that rejects
 * becomes a 503. Keys are hashes: they do not tell what clients send.
 */
export interface SessionStore {
  /** The text; null if there is none, or its time is over. */
  read(key: string): Promise<string | null>
  /** Keeps a text for `ttlMs` milliseconds, whether or not there is one. */
  write(key: string, text: string, ttlMs: number): Promise<void>
  /** The same, but only if `expected` is the present text, which no other process can change in between. @returns whether it was */
  replace(key: string, expected: string, text: string, ttlMs: number): Promise<boolean>
  /** Does nothing if there is none. */
  delete(key: string): Promise<void>
}

/** The most bytes of one session in a store. A cookie holds less. */
export const MAX_STORED_BYTES = 65_536
