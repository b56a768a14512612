// A server with sessions for tests: sealed, and in a store that counts its calls.

import { createHash } from 'node:crypto'
import type { InjectResponse } from '../../src/index.ts'
import { HttpServer, t as schema } from '../../src/index.ts'
import {
  memorySessions,
  type SessionStore,
  type Sessions,
  type SessionsOptions,
  sealed,
  sessions,
} from '../../src/modules/sessions/index.ts'

export const SECURE_PEER = { address: '203.0.113.7', isSecure: true }
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

/** The same key for the same word. */
export function keyOf(word: string): Uint8Array {
  return createHash('sha256').update(word).digest()
}

/** What the sessions of these tests hold. */
export const DATA = schema.object({ count: schema.int.default(0), note: schema.string.default(''), theme: schema.string.optional() })
export const CLAIMS = schema.object({ team: schema.string.optional() })
export type Data = { count: number; note: string; theme?: string | undefined }
export type TestSessions = Sessions<Data, { team?: string | undefined }>

/** A store that records its calls, and can fail. */
export class WatchedStore implements SessionStore {
  readonly calls: string[] = []
  readonly texts = new Map<string, string>()
  failure: Error | null = null
  /** Runs before each replacement. */
  onReplace: (() => unknown) | null = null
  readonly #inner = memorySessions()

  async read(key: string): Promise<string | null> {
    this.#note('read')
    return this.#inner.read(key)
  }
  async write(key: string, text: string, ttlMs: number): Promise<void> {
    this.#note('write')
    this.texts.set(key, text)
    await this.#inner.write(key, text, ttlMs)
  }
  async replace(key: string, expected: string, text: string, ttlMs: number): Promise<boolean> {
    this.#note('replace')
    await this.onReplace?.()
    const replaced = await this.#inner.replace(key, expected, text, ttlMs)
    if (replaced) this.texts.set(key, text)
    return replaced
  }
  async delete(key: string): Promise<void> {
    this.#note('delete')
    this.texts.delete(key)
    await this.#inner.delete(key)
  }
  #note(call: string): void {
    this.calls.push(call)
    if (this.failure !== null) throw this.failure
  }
}

/** Both ways to keep sessions. */
export const PLACES = {
  sealed: (): SessionsOptions['store'] => sealed({ keys: [keyOf('one')] }),
  'in a store': (): SessionsOptions['store'] => memorySessions(),
} as const

export interface SessionServer {
  readonly server: HttpServer
  readonly users: TestSessions
  readonly logged: unknown[]
}

/** A server whose routes show and change the session. */
export function sessionServer(
  store: SessionsOptions['store'],
  options: Partial<SessionsOptions<Data, { team?: string | undefined }>> = {},
): SessionServer {
  const logged: unknown[] = []
  const server = new HttpServer({
    timeouts: { keepAliveTimeout: 100 * HOUR },
    logger: { error: (message, detail) => void logged.push(message, detail) },
  })
  const users = sessions({ store, data: DATA, claims: CLAIMS, ...options })
  server.use(users)
  server.mapGet('/plain', () => 'plain')
  server.mapGet('/see', (_, session) => {
    const { principal, data, exists } = users.of(session)
    return { principal, data, exists, known: session.principal !== null }
  })
  server.mapGet('/count', (_, session) => {
    const visit = users.of(session)
    visit.update({ count: visit.data.count + 1 })
    return { count: visit.data.count }
  })
  server.mapGet('/note/:text', ({ text }, session) => {
    users.of(session).update({ note: text })
    return { text }
  })
  server.mapPost('/login/:id', ({ id }, session) => {
    users.signIn(session, { id, name: id.toUpperCase(), roles: ['reader'], claims: { team: 'blue' } })
    return { id }
  })
  server.mapPost('/logout', (_, session) => {
    users.signOut(session)
    return { left: true }
  })
  return { server, users, logged }
}

/** The Set-Cookie fields of a response. */
export function setCookies(response: InjectResponse): readonly string[] {
  return response.headers.getSetCookie()
}

/** The pair of the only Set-Cookie field, for a Cookie field. */
export function cookieOf(response: InjectResponse): string {
  const [cookie, ...others] = setCookies(response)
  if (cookie === undefined || others.length > 0) throw new Error(`the response sets ${setCookies(response).length} cookies`)
  return cookie.slice(0, cookie.indexOf(';'))
}
