// Where a session is kept: in the cookie itself, sealed, or in a store, with its id in the cookie.

import { Buffer } from 'node:buffer'
import { hash, randomBytes } from 'node:crypto'
import { isInstance, LimitError, WeirError } from '../../base/errors.ts'
import { keepNewest } from '../../base/keep-newest.ts'
import { ownText } from '../../base/own-text.ts'

import { type KeyRing, type SealedBox, sealedLength } from './key-ring.ts'
import { type CookieForm, MAX_COOKIE_BYTES, setCookieText } from './session-cookie.ts'
import { MAX_STORED_BYTES, type SessionStore } from './session-store.ts'

/** The session that a cookie has led to. */
export interface Kept {
  readonly text: string
  /** In a store. Null for a sealed session. */
  readonly key: string | null
  /** It has to be written again, because it was sealed with a key that no longer seals. */
  readonly isOld: boolean
}

/** The same for sealed sessions and for those in a store. */
export interface Keeping {
  /** The store; null for sealed sessions. */
  readonly store: SessionStore | null
  /** Null if the value of the cookie is not one that was given to a client. */
  open(form: CookieForm, value: string): Kept | null | Promise<Kept | null>
  /** @param maxAge as in `setCookieText` @throws LimitError (WEIR_SESSION_TOO_LARGE) */
  checkSize(form: CookieForm, text: string, maxAge: number | null): void
  /** Keeps a session under a new id. @returns the value of its cookie, or a promise of it */
  write(form: CookieForm, text: string, ttlMs: number): string | Promise<string>
  /** Where the session is whose cookie has this value. Null for a sealed session. */
  keyOf(form: CookieForm, value: string): string | null
  /** Runs the jobs of one session one after the other, so that the requests of one process do not get in each other's way. */
  inTurn<T>(key: string, job: () => Promise<T>): Promise<T>
}

/** With both texts, at most 8 MB. */
const MAX_RECENT = 1_000

export class SealedKeeping implements Keeping {
  readonly store = null
  readonly #ring: KeyRing
  readonly #boxes = new Map<string, SealedBox>()
  /** Recently opened sessions, by the name and the value of the cookie: a browser sends the same cookie with many requests. */
  readonly #recent = new Map<string, Kept>()

  constructor(ring: KeyRing) {
    this.#ring = ring
  }

  open({ name }: CookieForm, value: string): Kept | null {
    if (value.length > MAX_COOKIE_BYTES) return null
    const cookie = `${name}=${value}`
    const known = this.#recent.get(cookie)
    if (known !== undefined) return known
    const box = this.#boxOf(name)
    const text = box.open(value)
    if (text === null) return null
    const kept: Kept = { text, key: null, isOld: box.isOld(value) }
    this.#recent.set(ownText(cookie), kept)
    keepNewest(this.#recent, MAX_RECENT)
    return kept
  }

  checkSize(form: CookieForm, text: string, maxAge: number | null): void {
    const bytes = setCookieText(form, '', maxAge).length + sealedLength(Buffer.byteLength(text))
    if (bytes > MAX_COOKIE_BYTES) throw new LimitError('WEIR_SESSION_TOO_LARGE', 'the limit of a cookie in bytes', MAX_COOKIE_BYTES, bytes)
  }

  write({ name }: CookieForm, text: string): string {
    return this.#boxOf(name).seal(text)
  }

  keyOf(): null {
    return null
  }

  inTurn<T>(_key: string, job: () => Promise<T>): Promise<T> {
    return job()
  }

  /** A cookie does not open under another name. */
  #boxOf(name: string): SealedBox {
    let box = this.#boxes.get(name)
    if (box === undefined) this.#boxes.set(name, (box = this.#ring.boxFor(`session ${name}`)))
    return box
  }
}

/** 256 random bits in base64url. */
const ID = /^[\w-]{43}$/
const ID_BYTES = 32

export class StoreKeeping implements Keeping {
  readonly store: SessionStore
  /** The last job of each session that is being changed. */
  readonly #turns = new Map<string, Promise<unknown>>()

  constructor(store: SessionStore) {
    this.store = guarded(store)
  }

  async open({ name }: CookieForm, value: string): Promise<Kept | null> {
    if (!ID.test(value)) return null
    const key = keyOf(name, value)
    const text = await this.store.read(key)
    return text === null ? null : { text, key, isOld: false }
  }

  checkSize(_form: CookieForm, text: string): void {
    const bytes = Buffer.byteLength(text)
    if (bytes > MAX_STORED_BYTES)
      throw new LimitError('WEIR_SESSION_TOO_LARGE', 'the limit of a stored session in bytes', MAX_STORED_BYTES, bytes)
  }

  async write({ name }: CookieForm, text: string, ttlMs: number): Promise<string> {
    const id = randomBytes(ID_BYTES).toString('base64url')
    await this.store.write(keyOf(name, id), text, ttlMs)
    return id
  }

  keyOf({ name }: CookieForm, value: string): string {
    return keyOf(name, value)
  }

  async inTurn<T>(key: string, job: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(key)
    const mine = before === undefined ? job() : before.then(job, job)
    this.#turns.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#turns.get(key) === mine) this.#turns.delete(key)
    }
  }
}

/** The same store, whose errors are a 503. */
function guarded(store: SessionStore): SessionStore {
  return {
    read: (key) => attempt(() => store.read(key)),
    write: (key, text, ttlMs) => attempt(() => store.write(key, text, ttlMs)),
    replace: (key, expected, text, ttlMs) => attempt(() => store.replace(key, expected, text, ttlMs)),
    delete: (key) => attempt(() => store.delete(key)),
  }
}

async function attempt<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (isInstance(error, WeirError) && error.code === 'WEIR_STORE_UNAVAILABLE') throw error
    throw new WeirError('WEIR_STORE_UNAVAILABLE', 'sessions', { cause: error })
  }
}

/** A hash, so that a reader of the store does not learn the ids of clients. An id of one cookie does not work in another. */
function keyOf(name: string, id: string): string {
  return hash('sha256', `${name} ${id}`, 'base64url')
}
