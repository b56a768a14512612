// The session of one client during one exchange, with the changes of the program.

import { randomBytes } from 'node:crypto'
import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'
import { notePrincipalSetter } from '../auth/principal-order.ts'
import { exchange } from '../kit/exchange.ts'
import type { ResponseHandle } from '../kit/response.ts'

import type { Keeping, Kept } from './keeping.ts'
import type { LastingResponses } from './lasting-responses.ts'
import { type CookieForm, type CookieForms, clearCookieText, endedForm, insecureSession, setCookieText } from './session-cookie.ts'
import { NO_EXTRA, type RecordFormat, type SessionPrincipal, type SessionRecord } from './session-record.ts'
import type { SessionStore } from './session-store.ts'
import type { StoredObject } from './stored-value.ts'

/** The session of the client that has sent a request. It begins with the first `update` or `signIn`. */
export interface UserSession<Data extends StoredObject = StoredObject, Claims extends StoredObject = StoredObject> {
  /** Who has signed in; null if the client has not. */
  readonly principal: SessionPrincipal<Claims> | null
  /** Frozen. Call `update` to change it. Without a session: what the schema makes of an object without properties. */
  readonly data: Readonly<Data>
  /** Whether there is a session, perhaps one that has just begun. */
  readonly exists: boolean
  /** When the session began, or the principal has signed in; null without a session. */
  readonly startedAt: Date | null
  /**
   * Replaces these properties of `data`; undefined removes one. Begins a session if there is none. It is written when the response begins. If
   * another request changes the same session in a store at the same time, the properties that each has changed are kept, and the last
   * one wins where both have changed the same.
   * @throws WEIR_SESSION_DATA, WEIR_SESSION_TOO_LARGE, and then nothing has changed; WEIR_SESSION_SENT after the response has begun;
   *   WEIR_SESSION_INSECURE over plain HTTP
   */
  update(changes: { readonly [K in keyof Data]?: Data[K] | undefined }): void
}

/** What all sessions of a module have in common. */
export interface SessionSettings {
  readonly keeping: Keeping
  readonly forms: CookieForms
  readonly format: RecordFormat
  readonly idleTimeout: number
  readonly absoluteTimeout: number
  readonly persistent: boolean
  readonly lasting: LastingResponses
}

/** A session as it was received. */
interface Loaded {
  readonly record: SessionRecord
  readonly kept: Kept
}

/** A session as it will be kept. */
interface Written {
  readonly record: SessionRecord
  readonly text: string
}

type State = Omit<SessionRecord, 'renewedAt'>

/** A session is renewed once this part of its idle time has passed, not with each request. */
const RENEWED_AFTER = 0.1
const MOST_ATTEMPTS = 10
const ID_BYTES = 8

/** What the module does with a session; a handler only sees a `UserSession`. */
export class OpenSession implements UserSession {
  readonly #settings: SessionSettings
  readonly #session: HttpSession
  /** `givenUp` of `lasting` before the session was looked for. */
  readonly #since: number
  #form: CookieForm | null | undefined
  /** The received session; null if there is no valid one. */
  #loaded: Loaded | null = null
  /** The current state. */
  #state: State | null = null
  /** The form to write, since the last change. */
  #written: Written | null = null
  /** Whether it gets a new id. */
  #isReplaced = false
  /** Whether the received session ends. It goes on under its new id if only the same user has signed in again. */
  #isOver = false
  /** Whether its id is given up, and nothing has failed. */
  #isGivenUp = false
  /** The id that the client has after the response; null without a session, and for one that cannot be told from others. */
  #id: string | null = null
  /** Names of properties of the data; null for none. */
  #changed: Set<string> | null = null
  #isCommitted = false
  #setCookies: readonly string[] | null = null
  /** When the session of the client has ended, if it has no store that knows. A session that began before has ended, too. */
  #endedAt: number | null = null
  /** Whether a session has ended in this exchange. */
  #isEnded = false
  /** While it is being opened. */
  entering: Promise<OpenSession> | null = null
  /** Whether the policy runs for this route, so that changes are written. */
  isGuarded = false
  /** Whether the response may depend on it. */
  wasRead = false

  constructor(settings: SessionSettings, session: HttpSession) {
    this.#settings = settings
    this.#session = session
    this.#since = settings.lasting.givenUp
  }

  /** The cookie that the client may have; null for none. */
  get form(): CookieForm | null {
    if (this.#form === undefined) this.#form = this.#settings.forms.formFor(this.#session)
    return this.#form
  }

  get #now(): number {
    return exchange(this.#session).clock.wallTime()
  }

  /** The client says when it has signed out. */
  noteEnd(endedAt: number | null): void {
    this.#endedAt = endedAt
  }

  /** @returns null if the text is no session, or its time is over */
  recordIn({ text }: Kept): SessionRecord | null {
    const record = this.#settings.format.read(text)
    return record !== null && this.#msLeft(record) > 0 && record.order >= (this.#endedAt ?? 0) ? record : null
  }

  /** The place of a session that begins now: not before the last one has ended, by the clock of another server perhaps, or as the client makes up. */
  get #order(): number {
    return Math.max(this.#now, this.#endedAt ?? 0)
  }

  #newId(): string {
    return this.#settings.keeping.store === null ? randomBytes(ID_BYTES).toString('base64url') : ''
  }

  /** Continues what the client has. */
  adopt(record: SessionRecord, kept: Kept): void {
    this.#loaded = { record, kept }
    this.#state = record
    this.#id = idOf(kept.key, record)
    if (record.principal !== null) this.#notePrincipal(record.principal)
  }

  #notePrincipal(principal: SessionPrincipal): void {
    notePrincipalSetter(principal, 'sessions', null, this.#settings.forms.secure.name)
  }

  get principal(): SessionPrincipal | null {
    this.wasRead = true
    return this.#state?.principal ?? null
  }

  get data(): StoredObject {
    this.wasRead = true
    return this.#state?.data ?? this.#settings.format.data.empty
  }

  get exists(): boolean {
    this.wasRead = true
    return this.#state !== null
  }

  get startedAt(): Date | null {
    this.wasRead = true
    return this.#state === null ? null : new Date(this.#state.startedAt)
  }

  /** The same without counting as read. */
  get principalForGate(): SessionPrincipal | null {
    return this.#state?.principal ?? null
  }

  update(changes: object): void {
    if (typeof changes !== 'object') throw invalid('update()', `changes is ${kindOf(changes)}, not an object of the properties that change`)
    const data = this.#settings.format.data.rehearse({ ...this.#state?.data, ...changes })
    const begun = this.#state ?? { startedAt: this.#now, order: this.#order, id: this.#newId(), principal: null, extra: NO_EXTRA }
    this.#change({ ...begun, data })
    this.#changed ??= new Set()
    for (const name of Object.keys(changes)) this.#changed.add(name)
  }

  /** Data stays if the client was not signed in, or was the same principal. @param extra data that the module that has signed it in keeps with it */
  signIn(principal: SessionPrincipal, extra: StoredObject = NO_EXTRA): void {
    const { claims, data } = this.#settings.format
    const before = this.#state
    const staysWith = before !== null && (before.principal === null || before.principal.id === principal.id)
    const isSame = before?.principal?.id === principal.id
    const rehearsed = Object.freeze({ ...principal, claims: claims.rehearse(principal.claims) })
    this.#notePrincipal(rehearsed)
    // Another principal begins after the end of the session before.
    const order = before === null || staysWith ? this.#order : this.#endOf(before)
    const begun = { startedAt: this.#now, order, id: this.#newId() }
    this.#change({ ...begun, principal: rehearsed, data: staysWith ? before.data : data.empty, extra })
    if (before !== null && !staysWith) this.#rememberEnd(order)
    this.#isReplaced = true
    if (!isSame) this.#isOver = true
  }

  signOut(): void {
    this.#checkChange()
    this.#rememberEnd(this.#endOf(this.#state))
    this.#state = null
    this.#isReplaced = this.#isOver = true
    this.#changed = null
  }

  /** When a session ends, so that it and all before it have begun earlier. */
  #endOf(state: State | null): number {
    return Math.max(this.#order, (state?.order ?? 0) + 1)
  }

  /** A store knows that the session has ended. Without one, the client has to say so. */
  #rememberEnd(endedAt: number): void {
    if (this.#settings.keeping.store !== null) return
    this.#endedAt = endedAt
    this.#isEnded = true
  }

  /** @throws WEIR_SESSION_TOO_LARGE before anything has changed */
  #change(next: State): void {
    const { keeping, format } = this.#settings
    const form = this.#checkChange()
    const record = { ...next, renewedAt: this.#now }
    const text = format.write(record)
    keeping.checkSize(form, text, this.#maxAgeOf(next))
    if (this.#state === null) this.#isReplaced = true
    this.#state = next
    this.#written = { record, text }
  }

  #checkChange(): CookieForm {
    const { form } = this
    if (!this.isGuarded)
      throw new WeirError(
        'WEIR_SERVER_STATE',
        `${this.#session.route ?? 'this level'} does not use the policy "sessions": nothing would be written`,
      )
    if (this.#isCommitted) throw new WeirError('WEIR_SESSION_SENT')
    if (form === null) throw insecureSession()
    return form
  }

  /** Milliseconds until it ends, unless it is renewed. */
  #msLeft({ startedAt, renewedAt }: Pick<SessionRecord, 'startedAt' | 'renewedAt'>): number {
    const { idleTimeout, absoluteTimeout } = this.#settings
    return Math.min(renewedAt + idleTimeout, startedAt + absoluteTimeout) - this.#now
  }

  /** A handler may have worked past the end. */
  #ttlOf(record: SessionRecord): number {
    return Math.max(1, this.#msLeft(record))
  }

  #maxAgeOf({ startedAt }: State): number | null {
    const { persistent, absoluteTimeout } = this.#settings
    return persistent ? Math.ceil((startedAt + absoluteTimeout - this.#now) / 1000) : null
  }

  /** Writes what has changed, once. Later changes throw. */
  commit(): undefined | Promise<undefined> {
    if (this.#isCommitted) return undefined
    this.#isCommitted = true
    const { store } = this.#settings.keeping
    if (this.#isReplaced) return this.#replaceIn(store, this.#state)
    if (this.#loaded === null || this.#state === null) return undefined
    if (this.#changed === null && !this.#isDue(this.#loaded)) return undefined
    if (store === null) return this.#writeNew(this.#state)
    const { key } = this.#loaded.kept
    const { keeping } = this.#settings
    if (key === null) return undefined
    const [loaded, state] = [this.#loaded, this.#state]
    const updating = keeping.inTurn(key, () => this.#updateIn(store, key, loaded, state))
    // A failed renewal is no reason to lose a response: one of the next requests will renew the session.
    return this.#changed === null ? updating.catch(() => undefined) : updating
  }

  #isDue({ record, kept }: Loaded): boolean {
    return kept.isOld || this.#now - record.renewedAt >= this.#settings.idleTimeout * RENEWED_AFTER
  }

  /** With a new id. In a store, the old one still exists. */
  #writeNew(state: State | null): undefined | Promise<undefined> {
    const { keeping, format } = this.#settings
    const form = this.form!
    // As long as a session that began before could last.
    const maxAge = Math.ceil(this.#settings.absoluteTimeout / 1000)
    const ended = this.#isEnded ? [setCookieText(endedForm(form), String(this.#endedAt), maxAge)] : []
    this.#id = null
    if (state === null) {
      this.#setCookies = [clearCookieText(form), ...ended]
      return undefined
    }
    const { record, text } = this.#written ?? writtenBy(format, { ...state, renewedAt: this.#now })
    const value = keeping.write(form, text, this.#ttlOf(record))
    const finish = (written: string): undefined => {
      this.#setCookies = [setCookieText(form, written, this.#maxAgeOf(state)), ...ended]
      this.#id = idOf(keeping.keyOf(form, written), state)
    }
    return typeof value === 'string' ? finish(value) : value.then(finish)
  }

  #replaceIn(store: SessionStore | null, state: State | null): undefined | Promise<undefined> {
    const writing = this.#writeNew(state)
    if (store === null) {
      this.#isGivenUp = true
      return writing
    }
    return this.#replaceInStore(store, writing)
  }

  async #replaceInStore(store: SessionStore, writing: undefined | Promise<undefined>): Promise<undefined> {
    await writing
    const key = this.#loaded?.kept.key
    if (key != null) await store.delete(key)
    this.#isGivenUp = true
  }

  /**
   * The session is written, and `response` is about to be sent: it ends with the session, if it lasts. Responses that were opened under a session
   * that is over now end when this one is complete: a client that connects again at once would still send the old cookie.
   */
  settle(response: ResponseHandle): void {
    const { lasting } = this.#settings
    if (this.#isGivenUp && this.#loaded !== null) {
      const end = lasting.replace(idOf(this.#loaded.kept.key, this.#loaded.record), this.#isOver ? null : this.#id)
      const { kind } = response.content
      if (kind === 'stream' || kind === 'upgrade') end()
      else exchange(this.#session).onEnd(end)
    }
    const { onSignOut } = response
    if (onSignOut !== null && this.#id !== null) exchange(this.#session).onEnd(lasting.add(this.#id, this.#since, onSignOut))
  }

  /** Of the session that this request has found in the store, and has not replaced. */
  get key(): string | null {
    return this.#isReplaced ? null : (this.#loaded?.kept.key ?? null)
  }

  /** Data that a module keeps with the principal. */
  get extra(): StoredObject {
    return this.#state?.extra ?? NO_EXTRA
  }

  /**
   * Changes what a module keeps, immediately, because other requests need to know it. For a session in a store that this request has found.
   * @param change returns what is kept from now on, or undefined to change nothing. It may be called again
   * @returns what is kept in the end; null if the session has ended
   */
  async changeExtra(change: (extra: StoredObject) => StoredObject | undefined): Promise<StoredObject | null> {
    const { format, keeping } = this.#settings
    const { store } = keeping
    const { key } = this
    if (store === null || key === null) return null
    return keeping.inTurn(key, async () => {
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const text = await store.read(key)
        const record = text === null ? null : format.read(text)
        if (text === null || record === null) return null
        const extra = change(record.extra)
        if (extra === undefined) return record.extra
        const next = { ...record, extra }
        keeping.checkSize(this.form!, format.write(next), null)
        if (await store.replace(key, text, format.write(next), this.#ttlOf(next))) return extra
      }
      throw tooBusy()
    })
  }

  /** Adds what this request has changed to what other requests have. A session that has ended in the meantime stays ended. */
  async #updateIn(store: SessionStore, key: string, { record, kept }: Loaded, state: State): Promise<undefined> {
    const { format } = this.#settings
    let { text } = kept
    let found: SessionRecord = record
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const data = found === record ? state.data : this.#merge(found.data, state.data)
      const next = { ...found, data, renewedAt: this.#now }
      if (await store.replace(key, text, format.write(next), this.#ttlOf(next))) return
      const now = await store.read(key)
      const changed = now === null ? null : format.read(now)
      if (now === null || changed === null || this.#changed === null) return
      text = now
      found = changed
    }
    throw tooBusy()
  }

  /** If the merged data does not fit the schema, the data of this request counts as a whole. */
  #merge(theirs: StoredObject, ours: StoredObject): StoredObject {
    const merged: Record<string, unknown> = { ...theirs }
    for (const name of this.#changed ?? []) {
      if (Object.hasOwn(ours, name)) merged[name] = ours[name]
      else delete merged[name]
    }
    try {
      return this.#settings.format.data.rehearse(merged)
    } catch {
      return ours
    }
  }

  /** Sets the fields of a response: the cookie, and what keeps it out of shared caches. */
  describeIn(response: ResponseHandle): void {
    const isUpgrade = response.content.kind === 'upgrade'
    if (this.#setCookies !== null) {
      for (const text of this.#setCookies) if (response.fields?.includes(text) !== true) response.appendHeader('Set-Cookie', text)
      if (isUpgrade) return
      // A stored response with Set-Cookie may be used for other clients (RFC 9111 §7.3).
      if (!/(?:^|[\s,])(?:private|no-store)(?:[\s,=]|$)/i.test(response.listHeader('Cache-Control') ?? ''))
        response.header('Cache-Control', 'no-store')
      response.vary('Cookie')
      return
    }
    if (isUpgrade) return
    const isUndecided = response.getHeader('Cache-Control') === null
    if (this.wasRead || (isUndecided && this.principalForGate !== null)) response.vary('Cookie')
    if (isUndecided && this.#state !== null && (this.wasRead || this.#state.principal !== null))
      response.header('Cache-Control', 'private, no-cache')
  }

  /**
   * Always throws: it belongs to one exchange, and its data is not meant for every client.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw new WeirError('WEIR_RESULT_UNSENDABLE', 'the session of a user has no JSON form: send parts of it, such as its data')
  }
}

/** By the key in the store. A sealed session has an id in its text; null without either. */
function idOf(key: string | null, { id }: State): string | null {
  return key ?? (id === '' ? null : id)
}

function writtenBy(format: RecordFormat, record: SessionRecord): Written {
  return { record, text: format.write(record) }
}

function tooBusy(): WeirError {
  return new WeirError('WEIR_STORE_UNAVAILABLE', `other requests changed the session ${MOST_ATTEMPTS} times`)
}
