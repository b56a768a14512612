// `weirjs/sessions`: what a server remembers about a client between requests, and who has signed in.
//
// The gate opens the session of a request that has its cookie. It is written when the response is about to be sent, whatever made that response,
// and only if something has changed.

import type { Module, ModuleHost } from '../../app/module-host.ts'
import type { Policy, UsedPolicy } from '../../app/policies/policy.ts'
import type { Duration } from '../../base/duration.ts'
import { isInstance, WeirError } from '../../base/errors.ts'
import { hostName } from '../../base/host-name.ts'
import { isPromise } from '../../base/is-promise.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { duration, flag, having, list, matching, nested, object, readBy, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import type { AnySchema, StandardSchema } from '../../schema/standard.ts'
import { notePrincipalSetter } from '../auth/principal-order.ts'
import type { Scheme } from '../auth/scheme.ts'
import { type CsrfOptions, csrf } from '../csrf/csrf.ts'
import { exchange } from '../kit/exchange.ts'
import { responseHandle } from '../kit/response.ts'
import { type Keeping, type Kept, SealedKeeping, StoreKeeping } from './keeping.ts'
import { LastingResponses } from './lasting-responses.ts'
import { SealedSessions } from './sealed.ts'
import { CookieForms, endedAtIn, SESSION_COOKIE_RULES, type SessionCookieOptions, soleCookie } from './session-cookie.ts'
import { principalOf, RecordFormat, SCHEME_NAME, type SessionPrincipal } from './session-record.ts'
import type { SessionStore } from './session-store.ts'
import { type StoredObject, StoredValue } from './stored-value.ts'
import { OpenSession, type SessionSettings, type UserSession } from './user-session.ts'

export interface SessionsOptions<Data extends StoredObject = StoredObject, Claims extends StoredObject = StoredObject> {
  /** `sealed({ keys })` keeps sessions in their cookies; `redisSessions(client)`, `memorySessions()` or a store of your own keeps them on the server. */
  readonly store: SealedSessions | SessionStore
  /** The schema of `data`: synchronous, and it must accept an object without properties. Default: any object with a JSON form. */
  readonly data?: StandardSchema<unknown, Data>
  /** The schema of `principal.claims`, likewise. */
  readonly claims?: StandardSchema<unknown, Claims>
  /** The name of the cookie, after `__Host-`. Default `session`. */
  readonly name?: string
  /** Who gets the cookie: `{ sameSite, domain, path, partitioned }`. Default: this host alone, and no requests of pages on other sites but links. */
  readonly cookie?: SessionCookieOptions
  /** How long without a request until a session ends. Default 30 minutes. It is renewed when a tenth of that has passed. */
  readonly idleTimeout?: Duration
  /** How long until a session ends, counted from its beginning or the last sign-in. Default 12 hours. */
  readonly absoluteTimeout?: Duration
  /** Whether browsers keep the cookie when they are closed. Default false. */
  readonly persistent?: boolean
  /** Whether sessions also work over plain HTTP, with a cookie of another name that anyone on the way can read. Default false. */
  readonly allowInsecure?: boolean
  /**
   * Sessions that began before this moment are not accepted. A function is called for each request with a session: it can end all sessions
   * of one user. Default null.
   */
  readonly notBefore?: Date | NotBefore<Claims>
  /** Options of the policy `csrf` that is installed as well. False: none is. */
  readonly csrf?: CsrfOptions | false
}

/** Returns the moment before which sessions of this principal are not accepted; null for none. */
type NotBefore<Claims extends StoredObject = StoredObject> = (
  principal: SessionPrincipal<Claims> | null,
) => Date | null | Promise<Date | null>

/** Who signs in. */
export interface SignIn<Claims extends StoredObject = StoredObject> {
  /** Unique and stable. */
  readonly id: string
  readonly name?: string | null
  readonly roles?: readonly string[]
  readonly scopes?: readonly string[]
  /** Whatever else the session should know of the principal. It has to have a JSON form. */
  readonly claims?: Claims
}

/** A principal, or a message of the compiler for a database row that is passed unchanged. */
type PrincipalOf<P, Claims extends StoredObject> = [Exclude<keyof P, keyof SignIn>] extends [never]
  ? P extends { readonly id: number | bigint }
    ? P & 'the id is a string: write String(id)'
    : SignIn<Claims>
  : P & 'a principal is { id, name, roles, scopes, claims }: pick these from the row'

interface SessionSchemeOptions {
  /**
   * The path of the login page. A request for a page without a session is redirected there with status 303 in place of a 401, with the query
   * parameter `return`: read it with `returnPath`.
   */
  readonly login?: string
}

/** A module that opens and writes the sessions of clients. */
export interface Sessions<Data extends StoredObject = StoredObject, Claims extends StoredObject = StoredObject> extends Module {
  /** The session of the client that has sent the request. */
  of(session: HttpSession): UserSession<Data, Claims>
  /**
   * The client is this principal from now on. The session gets a new id, and begins again. Its data stays, unless it belonged to another
   * principal.
   * @throws as `UserSession.update`; WEIR_OPTION_INVALID for a principal without an id
   */
  signIn<P extends object>(session: HttpSession, principal: PrincipalOf<P, Claims>): void
  /** Ends the session: the cookie is removed and, in a store, the session. @throws WEIR_SESSION_SENT after the response has begun */
  signOut(session: HttpSession): void
  /** The principals of sessions, for `auth({ schemes: [users.scheme()] })`. */
  scheme(options?: SessionSchemeOptions): Scheme<SessionPrincipal<Claims>>
}

const OWNER = 'sessions()'
const NOT_INSTALLED = `the scheme "${SCHEME_NAME}" is of a sessions() that no server uses, so nobody can sign in: add server.use(…) with what sessions() has returned`
const OPEN_TO_SITES = "sameSite is 'none', so pages of every site send the cookie along: it needs csrf, which refuses their requests"
const MINUTE_MS = 60_000
/** Ten years. */
const MOST_MS = 3_660 * 86_400_000
/** @internal */
export const SESSIONS_RULES = rules<SessionsOptions>(OWNER)({
  store: readBy((store: SealedSessions | SessionStore) => ({ keeping: keepingOf(store), given: store })),
  data: readBy(stored).or(undefined, 'any object'),
  claims: readBy(stored).or(undefined, 'any object'),
  name: text().or('session'),
  cookie: nested(SESSION_COOKIE_RULES).or({}, '{}'),
  idleTimeout: duration({ leastNumber: MINUTE_MS, most: MOST_MS }).or('30m'),
  absoluteTimeout: duration({ leastNumber: MINUTE_MS, most: MOST_MS }).or('12h'),
  persistent: flag(false),
  allowInsecure: flag(false),
  notBefore: matching<Date | NotBefore>('a valid Date or a function', isMoment).orNull(),
  csrf: readBy((given: CsrfOptions | false) => (given === false ? null : csrf(given))).or({}, '{}'),
})
const NAMES = list<string>('a string', (one) => typeof one === 'string').or([])
/** @internal */
export const SIGN_IN_RULES = rules<SignIn>('signIn()')({
  id: text('a string that identifies the principal', (id) => id !== ''),
  name: text().nullable().or(null),
  roles: NAMES,
  scopes: NAMES,
  claims: object().or({}),
})
/** @internal */
export const SESSION_SCHEME_RULES = rules<SessionSchemeOptions>('scheme()')({
  login: text('a path', (path) => /^\/(?!\/)[^\\?#]*$/.test(path)).optional(),
})

/**
 * Returns a module: `server.use(sessions({ store: sealed({ keys }) }))`. It installs a policy called `sessions` and, unless told
 * otherwise, `csrf`: on a group or a route, each replaces the outer one.
 * @throws WEIR_OPTION_INVALID
 */
export function sessions<Data extends StoredObject = StoredObject, Claims extends StoredObject = StoredObject>(
  options: SessionsOptions<Data, Claims>,
): Sessions<Data, Claims> {
  return new SessionsModule(options as unknown as SessionsOptions) as unknown as Sessions<Data, Claims>
}

/** @internal The sessions of a module, for other modules. */
export class SessionsModule implements Sessions {
  readonly name: string
  readonly #settings: SessionSettings
  readonly #sealing: SealedSessions | null
  readonly #notBefore: NotBefore | null
  readonly #csrf: Policy | null
  readonly #sameSite: 'lax' | 'strict' | 'none'
  #warn: ((message: string) => void) | null = null
  /** The domain of the cookie; null without one, and once a warning was logged. */
  #domain: string | null
  #isInstalled = false
  /** By request: after a `requestTimeout`, hooks get another session. */
  readonly #open = new WeakMap<HttpRequest, OpenSession>()

  constructor(options: SessionsOptions) {
    const settings = SESSIONS_RULES.read(options)
    const { store, data, claims, name, idleTimeout, absoluteTimeout, persistent, allowInsecure, notBefore, cookie } = settings
    this.#sealing = store.given instanceof SealedSessions ? store.given : null
    this.#settings = {
      keeping: store.keeping,
      forms: new CookieForms(OWNER, name, allowInsecure, cookie),
      format: new RecordFormat(data, claims),
      idleTimeout,
      absoluteTimeout,
      persistent,
      lasting: new LastingResponses(),
    }
    this.#notBefore = notBefore instanceof Date ? () => notBefore : notBefore
    this.#csrf = settings.csrf
    this.#sameSite = cookie.sameSite
    this.#domain = cookie.domain?.toLowerCase() ?? null
    this.name = `sessions ${name}`
  }

  /** Null if the sessions are kept in a store. */
  get sealing(): SealedSessions | null {
    return this.#sealing
  }

  /** Null if the sessions are sealed. */
  get store(): SessionStore | null {
    return this.#settings.keeping.store
  }

  /** Whether `csrf` is installed as well. */
  get protects(): boolean {
    return this.#csrf !== null
  }

  install(host: ModuleHost): void {
    this.#isInstalled = true
    if (this.#csrf !== null) host.use(this.#csrf)
    const { idleTimeout, absoluteTimeout, forms } = this.#settings
    this.#warn = (message) => host.logger?.warn?.(message)
    const description = Object.freeze({ cookie: forms.secure.name, idleTimeout, absoluteTimeout })
    notePrincipalSetter(description, 'sessions')
    host.use({
      name: 'sessions',
      gate: (session) => {
        const entered = this.#enter(session, true)
        return isPromise(entered) ? entered.then(() => undefined) : undefined
      },
      beforeSend: (session, response) => {
        const open = this.#open.get(session.request)
        if (open === undefined) return undefined
        const outgoing = responseHandle(response)
        const finish = (): undefined => {
          open.settle(outgoing)
          open.describeIn(outgoing)
        }
        const committing = open.commit()
        return committing === undefined ? finish() : committing.then(finish)
      },
      describe: () => description,
      check: (policies, where) => {
        const lack = this.#lackOf(policies)
        if (lack !== null) throw invalid(OWNER, `${where}: ${lack}`)
      },
    })
  }

  /** What is missing on a route that reads the cookie. */
  #lackOf(policies: readonly UsedPolicy[]): string | null {
    const isSafe = this.#sameSite !== 'none' || policies.some(({ name, description: mode }) => name === 'csrf' && mode !== 'report')
    return isSafe ? null : OPEN_TO_SITES
  }

  of(session: HttpSession): OpenSession {
    exchange(session).markPersonal('session')
    const open = this.#open.get(session.request)
    if (open !== undefined) return open
    // A request that was refused before any gate ran has no session, as far as `onError` can tell.
    if (exchange(session).failure !== null) return new OpenSession(this.#settings, session)
    throw new WeirError(
      'WEIR_SERVER_STATE',
      `${session.route ?? 'this level'} does not use the policy "sessions", or has not reached it yet: install it with use(), before what reads it`,
    )
  }

  /** @param extra what the module that has signed the principal in keeps with it */
  signIn(session: HttpSession, principal: SignIn, extra?: StoredObject): void {
    const accepted = checkedPrincipal(principal)
    const open = this.of(session)
    open.signIn(accepted, extra)
    session.principal = open.principal
    this.#warnOfOtherDomain(session)
    this.#warnOfOtherSite(session)
  }

  /** Warns once about a login at a host for which browsers refuse the cookie. */
  #warnOfOtherDomain(session: HttpSession): void {
    const host = hostName(exchange(session).host)
    const domain = this.#domain
    if (domain === null || host === domain || host.endsWith(`.${domain}`)) return
    this.#warn?.(
      `weir: a client has signed in at ${JSON.stringify(host.slice(0, 100))}, and browsers ignore a cookie there whose domain is ${domain}: write cookie: { domain } for sessions() with a domain of the host, or leave it out (docs/guide/sessions.md)`,
    )
    this.#domain = null
  }

  /**
   * Warns once about a login from a page whose browser will not send the cookie back, or does not keep it. A form that navigates here is not such a
   * page.
   */
  #warnOfOtherSite(session: HttpSession): void {
    const field = (name: string): string | null => exchange(session).field(name)
    const site = field('sec-fetch-site')
    const mode = field('sec-fetch-mode')
    const isOtherSite = site === 'cross-site' && mode !== 'navigate'
    // With credentials, the page could not read the response; without, its browser ignores the cookie.
    const isKeptOut = mode === 'cors' && (isOtherSite || site === 'same-site') && exchange(session).policies.some(allowsNoCredentials)
    const why =
      isOtherSite && this.#sameSite !== 'none'
        ? `its browser sends no cookie back that is SameSite=${this.#sameSite === 'lax' ? 'Lax' : 'Strict'}: serve both from one site, or write cookie: { sameSite: 'none' } for sessions() (docs/guide/sessions.md)`
        : isKeptOut
          ? "cors() lets it keep no cookie: write cors({ credentials: true }), and credentials: 'include' for its fetch (docs/guide/cors.md)"
          : null
    if (why === null || this.#warn === null) return
    this.#warn(`weir: a page of ${JSON.stringify((field('origin') ?? 'another site').slice(0, 100))} has signed in, and ${why}`)
    this.#warn = null
  }

  signOut(session: HttpSession): void {
    this.of(session).signOut()
    session.principal = null
  }

  scheme(options: SessionSchemeOptions = {}): Scheme<SessionPrincipal> {
    const { login } = SESSION_SCHEME_RULES.read(options)
    const authenticate = (session: HttpSession): SessionPrincipal | null | Promise<SessionPrincipal | null> => {
      const entered = this.#enter(session, false)
      return isPromise(entered) ? (entered as Promise<OpenSession>).then((open) => open.principal) : entered.principal
    }
    const description = { type: 'apiKey', in: 'cookie', name: this.#settings.forms.secure.name } as const
    const scheme: Scheme<SessionPrincipal> = {
      name: SCHEME_NAME,
      authenticate,
      description,
      ...(login !== undefined && { login: (session) => redirectToLogin(session, login) }),
    }
    const lack = (policies: readonly UsedPolicy[]): string | null => (this.#isInstalled ? this.#lackOf(policies) : NOT_INSTALLED)
    notePrincipalSetter(scheme, 'sessions', lack, description.name)
    return scheme
  }

  /** Opens the session of a request, once. @param isGuarded whether it is written in the end */
  #enter(session: HttpSession, isGuarded: boolean): OpenSession | Promise<OpenSession> {
    const known = this.#open.get(session.request)
    const open = known ?? new OpenSession(this.#settings, session)
    if (isGuarded) open.isGuarded = true
    if (known !== undefined) return open.entering ?? open
    this.#open.set(session.request, open)
    const cookies = exchange(session).cookies(true)
    if (cookies.length === 0) return open
    const { form } = open
    if (form !== null && this.#sealing !== null) open.noteEnd(endedAtIn(cookies, form, exchange(session).clock.wallTime()))
    const cookie = form === null ? null : soleCookie(cookies, form.name)
    if (form === null || cookie === null) return open
    const kept = this.#settings.keeping.open(form, cookie)
    const admitting = isPromise(kept)
      ? (kept as Promise<Kept | null>).then((found) => this.#admit(open, session, found))
      : this.#admit(open, session, kept)
    if (!isPromise(admitting)) return open
    open.entering = admitting.then(() => {
      open.entering = null
      return open
    })
    return open.entering
  }

  /** Continues a session that is still valid. Any other session is ignored. */
  #admit(open: OpenSession, session: HttpSession, kept: Kept | null): undefined | Promise<undefined> {
    const record = kept === null ? null : open.recordIn(kept)
    if (kept === null || record === null) return undefined
    const accept = (notBefore: Date | null): undefined => {
      if (notBefore !== null && !isInstance(notBefore, Date))
        throw invalid(OWNER, `notBefore returned ${shown(notBefore)}: return a Date, or null if all sessions count`)
      // A date that is not valid is compared as NaN: nothing began after it.
      if (notBefore !== null && !(record.startedAt >= notBefore.getTime())) return undefined
      open.adopt(record, kept)
      if (!exchange(session).isClaimed('principal')) session.principal ??= record.principal
      return undefined
    }
    if (this.#notBefore === null) return accept(null)
    const notBefore = this.#notBefore(record.principal)
    return isPromise(notBefore) ? (notBefore as Promise<Date | null>).then(accept) : accept(notBefore)
  }
}

/** Whether it is a `cors` that lets no page read responses to requests with cookies. */
function allowsNoCredentials({ name, description }: UsedPolicy): boolean {
  return name === 'cors' && (description as { readonly credentials?: boolean } | null)?.credentials === false
}

function stored(schema: StandardSchema | undefined, owner: string, option: string): StoredValue {
  return new StoredValue(owner, option, schema as AnySchema | undefined)
}

function isMoment(value: unknown): boolean {
  return typeof value === 'function' || (value instanceof Date && !Number.isNaN(value.getTime()))
}

const STORE = having(['read', 'write', 'replace', 'delete'], 'for a client of Redis, write redisSessions(client)')

function keepingOf(store: unknown): Keeping {
  if (store instanceof SealedSessions) return new SealedKeeping(store.ring)
  if (typeof store !== 'object' || store === null) throw invalid(OWNER, `store is ${kindOf(store)}, not sealed({ keys }) or a store`)
  STORE.read(store, { owner: OWNER, option: 'store' })
  return new StoreKeeping(store as SessionStore)
}

/** @throws WEIR_OPTION_INVALID */
function checkedPrincipal(principal: SignIn): SessionPrincipal {
  const { id, name, roles, scopes, claims } = SIGN_IN_RULES.read(principal)
  return principalOf(id, name, roles, scopes, claims as StoredObject)
}

/**
 * Only for clients that show the page: a script gets the 401.
 * @throws WEIR_AUTH_SETUP for the login page: no one could log in, and a browser would be redirected to it without end
 */
function redirectToLogin(session: HttpSession, login: string): HttpResponse | undefined {
  const { request, response, route } = session
  const isPage = (request.method === 'GET' || request.method === 'HEAD') && exchange(session).prefersHtml
  if (request.path === login && (isPage || route !== null)) throw closedLogin(login, route)
  if (!isPage) return undefined
  return response.header('Cache-Control', 'no-store').redirect(`${login}?return=${encodeURIComponent(request.url)}`, 303)
}

function closedLogin(login: string, route: string | null): WeirError {
  if (route === null) return new WeirError('WEIR_AUTH_SETUP', `no route matches the login page ${login}`)
  return new WeirError('WEIR_AUTH_SETUP', `${route} is the login page, but requires a login: give it { use: [auth.open] }`)
}
