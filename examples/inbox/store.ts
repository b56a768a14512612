// Accounts, sessions and messages. They are in memory: in production, this class would use a database.

import { createHash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { promisify } from 'node:util'

import { HttpError, type OutputOf, t } from 'weir'

export const Name = t.string.pattern(/^[a-z][a-z0-9-]{2,23}$/).message('3 to 24 of a-z, 0-9 and -, beginning with a letter')
export const Text = t.string.min(1).max(2000)
export const User = t.named('User', t.object({ name: Name, role: t.enum('user', 'admin'), createdAt: t.dateTime }))
const Attachment = t.object({ fileName: t.string, size: t.int })
const parts = { id: t.int, from: Name, to: Name, text: t.string, sentAt: t.dateTime, attachment: Attachment.nullable() }
export const Message = t.named('Message', t.object(parts))

export type Attachment = OutputOf<typeof Attachment>
export type Message = OutputOf<typeof Message>
export interface Account extends OutputOf<typeof User> {
  readonly passwordHash: string
  readonly inbox: Message[]
}

export const SESSION_SECONDS = 7 * 24 * 3600
const COST: ScryptOptions = { N: 2 ** 14, r: 8, p: 5 } // as OWASP recommends
const derive = promisify<string, string, number, ScryptOptions, Buffer>(scrypt)
const digest = (token: string): string => createHash('sha256').update(token).digest('base64url')

async function hash(password: string, salt = randomBytes(16).toString('base64url')): Promise<string> {
  return `${salt}.${(await derive(password, salt, 32, COST)).toString('base64url')}`
}

/** Compared with if there is no such account, so that the response takes as long. */
const NOBODY = hash('nobody')

/** Emits `message` when one was posted to an account, and `revoked` when sessions of an account have ended. */
export class Store extends EventEmitter<{ message: [Message, Account]; revoked: [Account] }> {
  readonly accounts = new Map<string, Account>()
  /** By the digest of the token: who can read a database must not find tokens in it. */
  readonly #sessions = new Map<string, { readonly account: Account; readonly expiresAt: number }>()
  #lastId = 0

  find(name: string): Account {
    const account = this.accounts.get(name)
    if (account === undefined) throw new HttpError(404, 'There is no user with this name.')
    return account
  }

  async add(name: string, password: string, role: Account['role'] = 'user'): Promise<Account> {
    const account: Account = { name, role, createdAt: new Date(), passwordHash: await hash(password), inbox: [] }
    if (this.accounts.has(name)) throw new HttpError(409, 'The name is taken.')
    this.accounts.set(name, account)
    return account
  }

  delete(account: Account): void {
    this.accounts.delete(account.name)
    for (const [key, session] of this.#sessions) if (session.account === account) this.#sessions.delete(key)
    this.emit('revoked', account)
  }

  async check(name: string, password: string): Promise<Account> {
    const stored = this.accounts.get(name)?.passwordHash ?? (await NOBODY)
    const isRight = timingSafeEqual(Buffer.from(stored), Buffer.from(await hash(password, stored.split('.')[0])))
    const account = this.accounts.get(name)
    if (!isRight || account?.passwordHash !== stored) throw new HttpError(401, 'Wrong name or password.')
    return account
  }

  /** @returns the token of a new session */
  signIn(account: Account): string {
    const token = randomBytes(32).toString('base64url')
    this.#sessions.set(digest(token), { account, expiresAt: Date.now() + SESSION_SECONDS * 1000 })
    return token
  }

  signOut(account: Account, token: string): void {
    this.#sessions.delete(digest(token))
    this.emit('revoked', account)
  }

  /** The account to which the session belongs, or null. */
  sender(token: string): Account | null {
    const session = this.#sessions.get(digest(token))
    return session !== undefined && session.expiresAt > Date.now() ? session.account : null
  }

  post(from: Account, to: Account, text: string, attachment: Attachment | null = null): Message {
    const message: Message = { id: ++this.#lastId, from: from.name, to: to.name, text, sentAt: new Date(), attachment }
    to.inbox.push(message)
    this.emit('message', message, to)
    return message
  }
}
