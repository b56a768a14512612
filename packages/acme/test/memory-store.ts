import type { Clock } from 'weirjs/kit'

import type { AcmeStore } from '../src/index.ts'

/** The store that several processes of a test share. Each has a clock of its own. */
export class MemoryStore {
  readonly texts = new Map<string, string>()
  readonly #locks = new Map<string, { readonly owner: string; readonly until: number }>()

  for(clock: Clock): AcmeStore {
    return {
      get: (name) => Promise.resolve(this.texts.get(name) ?? null),
      set: (name, value) => Promise.resolve(void this.texts.set(name, value)),
      delete: (name) => Promise.resolve(void this.texts.delete(name)),
      lock: (name, owner, ttlMs) => {
        const held = this.#locks.get(name)
        const isFree = held === undefined || held.owner === owner || held.until <= clock.wallTime()
        if (isFree) this.#locks.set(name, { owner, until: clock.wallTime() + ttlMs })
        return Promise.resolve(isFree)
      },
      unlock: (name, owner) => {
        if (this.#locks.get(name)?.owner === owner) this.#locks.delete(name)
        return Promise.resolve()
      },
    }
  }
}
