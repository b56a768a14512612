// Accounts and messages. They are in memory, and in a file with `executable/store.js`: with many, this class would ask a database.

import { EventEmitter } from 'node:events'

import { HttpError, type OutputOf, t } from 'weirjs'
import { hashPassword, verifyPassword } from 'weirjs/auth'

export const Name = t.string.pattern(/^[a-z][a-z0-9-]{2,23}$/).message('3 to 24 of a-z, 0-9 and -, beginning with a letter')
export const Text = t.string.min(1).max(2000)
export const User = t.named('User', t.object({ name: Name, role: t.enum('user', 'admin'), createdAt: t.dateTime }))
const Attachment = t.object({ fileName: t.string, size: t.int })
const parts = { id: t.int, from: Name, to: Name, text: t.string, sentAt: t.dateTime, attachment: Attachment.nullable() }
export const Message = t.named('Message', t.object(parts))

export type Attachment = OutputOf<typeof Attachment>
export type Message = OutputOf<typeof Message>
export type Account = OutputOf<typeof User> & { readonly passwordHash: string; readonly inbox: Message[] }

/** Emits `message` when one was posted to an account, and `revoked` when sessions of an account have ended. */
export class Store extends EventEmitter<{ message: [Message, Account]; revoked: [Account] }> {
  readonly accounts = new Map<string, Account>()
  lastId = 0
  /** Gets what is new before anybody sees it. */
  keep: (added: Account | Message) => void = () => {}

  find(name: string): Account {
    const account = this.accounts.get(name)
    if (account === undefined) throw new HttpError(404, 'There is no user with this name.')
    return account
  }

  async add(name: string, password: string, role: Account['role'] = 'user'): Promise<Account> {
    const passwordHash = await hashPassword(password)
    if (this.accounts.has(name)) throw new HttpError(409, 'The name is taken.')
    const account: Account = { name, role, createdAt: new Date(), passwordHash, inbox: [] }
    this.keep(account)
    this.accounts.set(name, account)
    return account
  }

  delete(account: Account): void {
    this.accounts.delete(account.name)
    this.emit('revoked', account)
  }

  /** @param from the address of the client: clients take turns */
  async check(name: string, password: string, from: string): Promise<Account> {
    const account = this.accounts.get(name)
    const isRight = await verifyPassword(password, account?.passwordHash ?? null, from)
    if (!isRight || account === undefined || this.accounts.get(name) !== account) throw new HttpError(401, 'Wrong name or password.')
    return account
  }

  post(from: Account, to: Account, text: string, attachment: Attachment | null = null): Message {
    const message: Message = { id: ++this.lastId, from: from.name, to: to.name, text, sentAt: new Date(), attachment }
    this.keep(message)
    to.inbox.push(message)
    this.emit('message', message, to)
    return message
  }
}
