// `@weirjs/oidc`: login at an identity provider, with the authorization code flow of OpenID Connect as RFC 9700 (OAuth 2.0 Security) demands: PKCE,
// a state and a nonce for each login, and the issuer of each response checked (RFC 9207).

import { hash } from 'node:crypto'
import { type Duration, type HttpSession, type Module, type ModuleHost, type Policy, type Usable, WeirError } from 'weirjs'
import { accessOf } from 'weirjs/auth'
import { csrf } from 'weirjs/csrf'
import { type Clock, exchange, FairQueue, invalid, isLocalName, kindOf, networkOf, option, rules, shown } from 'weirjs/kit'
import {
  returnPath,
  type SealingKey,
  type Sessions,
  type SessionsHandle,
  type SignIn,
  type StoredObject,
  sessionsHandle,
} from 'weirjs/sessions'

import { type ClientAuthentication, type Grant, type IdClaims, Provider, type UserInfo } from './provider.ts'
import { idTokenIn, keptTokens, TokenKeeper, type Tokens } from './tokens.ts'
import { MAX_LOGIN_MS, Transactions } from './transactions.ts'
import { UsedLogins } from './used-logins.ts'

export interface OidcOptions<Claims extends StoredObject = StoredObject> {
  /** The sessions that logins begin. They have to be installed on the same server, before. */
  readonly sessions: Pick<Sessions<StoredObject, Claims>, 'signIn' | 'signOut' | 'scheme'>
  /** The issuer identifier of the provider. It begins with `https://`, unless it is on the same machine. */
  readonly issuer: string
  readonly clientId: string
  /**
   * Sent as RFC 6749 §2.3.1 says, by Basic authentication. Null for a public client, which has none. Required without
   * `clientAuthentication`: a secret that is missing from the environment does not make a client public.
   */
  readonly clientSecret?: string | null
  /** Another way to authenticate, of `openid-client`: `PrivateKeyJwt(key)`. */
  readonly clientAuthentication?: ClientAuthentication
  /**
   * Whether the signature of ID tokens is checked, with the keys of the provider. Default true for a public client and for an issuer that begins with
   * `http://`. Otherwise TLS proves where the token comes from.
   */
  readonly checkSignature?: boolean
  /** Default `openid profile email`. */
  readonly scope?: string
  /** The path of the routes, after the prefix of a group. Default `/auth`: `/auth/login`, `/auth/callback` and `/auth/logout`. */
  readonly path?: string
  /**
   * Scheme and host of this server, as the provider knows them. Without it and `hosts`, only browsers on the same machine can log in, because the
   * client would choose the host.
   */
  readonly origin?: string
  /**
   * For a server with several names, in place of `origin`: the hosts that clients may use, such as `['shop.example.com', 'shop.example.org']`, each
   * with its port unless that is the default. The provider then returns to `session.origin`. A login with another host is answered with 421.
   */
  readonly hosts?: readonly string[]
  /**
   * Who signs in, by the claims of the ID token. Default `sub` as `id`, and `name`. Required if another provider signs people in to the same
   * sessions: only the program can make their ids differ.
   */
  readonly principal?: (claims: IdClaims, more: LoginDetails) => SignIn<Claims> | Promise<SignIn<Claims>>
  /** Whether tokens are kept with the session, for `tokens`. Only for sessions in a store. Default false. */
  readonly keepTokens?: boolean
  /** Keys that seal logins in progress, as in `sealed`. Required for sessions in a store. Default: the keys of the sealed sessions. */
  readonly keys?: readonly SealingKey[]
  /** Additional parameters of the authorization request, such as `{ prompt: 'select_account' }`. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Where a client goes after a logout. Default `/`. */
  readonly afterLogout?: string
  /** How long the provider has for each request. Default 5 s. When exceeded: 503. */
  readonly timeout?: Duration
  /** @deprecated another name of `timeout` */
  readonly timeoutMs?: Duration
  /** Policies of the routes, such as `auth.open` on a server with `auth`. */
  readonly use?: readonly Usable[]
}

/** Details of a login beyond its ID token. */
export interface LoginDetails {
  readonly accessToken: string
  readonly scopes: readonly string[]
  /** Asks the provider for the claims of its UserInfo endpoint. */
  userInfo(): Promise<UserInfo>
}

/** A module that maps the routes of a login. */
export interface Oidc extends Module {
  /** The path of the login: link to it, with `?return=/path` for where to go afterwards. Includes the prefix of a group once it is installed. */
  readonly loginPath: string
  /** The path to which a form posts to log out. */
  readonly logoutPath: string
  /**
   * The tokens of the session that has sent the request. An access token that expires within 30 seconds is refreshed first, once for all requests
   * that wait, in whichever process. After a failure, the next refresh of the session is at least 5 s later; until then, the old token is used as
   * long as it is valid. Null if there are no tokens any more: the client has to log in again.
   * @throws (rejects) WEIR_OIDC_UNAVAILABLE, also if the refresh of another process takes longer than twice `timeout`; WEIR_STORE_UNAVAILABLE;
   *   WEIR_SERVER_STATE without `keepTokens`; the reason of `session.signal` if that aborts while the request waits for a refresh
   */
  tokens(session: HttpSession): Promise<Tokens | null>
}

const OWNER = 'oidc()'
const { alias, anything, duration, flag, func, list, readBy, secret, text, texts } = option
const isHost = (host: string): boolean => URL.canParse(`http://${host}`) && /^[\w.:[\]-]+$/.test(host) && host === host.toLowerCase()
const isOrigin = (origin: string): boolean => URL.canParse(origin) && new URL(origin).origin === origin && /^https?:/.test(origin)
/** @internal */
export const OIDC_RULES = rules<OidcOptions>(OWNER)(
  {
    sessions: readBy(handleOf),
    issuer: readBy((issuer: string) => issuer), // the provider checks it
    clientId: text('the id of a client', (id) => id !== ''),
    clientSecret: secret(
      'a string that is not empty: a public client has { clientSecret: null }',
      (given) => given === null || (typeof given === 'string' && given !== ''),
    ).optional('required'),
    clientAuthentication: func().orNull(),
    checkSignature: flag(false).optional('see below'),
    scope: text('scopes with "openid"', (scope) => scope.split(' ').includes('openid')).or('openid profile email'),
    path: text('a path such as "/auth"', (path) => /^(?:\/[\w.~-]+)+$/.test(path)).or('/auth'),
    origin: text('an origin such as "https://app.example.com"', isOrigin).optional(),
    hosts: texts('a host such as "shop.example.com" or "localhost:8080"', isHost).filled().optional(),
    principal: func().optional('sub and name'),
    keepTokens: flag(false),
    keys: anything().optional('the keys of sealed sessions'), // checked where they are used
    parameters: readBy(checkedParameters).or({}, 'none'),
    afterLogout: text().or('/'),
    timeout: duration().or('5s'),
    use: list<Usable>().or([]),
    timeoutMs: alias('timeout'),
  },
  { excludes: [['origin', 'hosts']] },
)
/** Parameters that a login sets itself. */
const OWN_PARAMETERS = [
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'redirect_uri',
  'response_mode',
  'response_type',
  'scope',
  'state',
]
/** A longer address is not returned to, because it is in a cookie. */
const MAX_RETURN_CHARACTERS = 1_000
/** The most characters of a Host in an error. */
const MAX_SHOWN_ORIGIN = 200
/**
 * Codes that are exchanged at the provider at the same time. Each takes a connection to it for as long as it takes to answer, and anyone who has begun
 * a login can bring back a wrong code, a hundred times on one connection.
 */
const EXCHANGES_AT_ONCE = 16
/** The providers that sign people in to the same sessions. */
const INSTALLED = new WeakMap<object, readonly OidcOptions[]>()
/**
 * Returns a module that logs clients in at an identity provider: `server.use(oidc({ sessions: users, … }))`. The provider is asked for
 * its configuration with the first login. While it is away, logins are answered with 503, and everything else works.
 * @throws WEIR_OPTION_INVALID
 */
export function oidc<Claims extends StoredObject = StoredObject>(options: OidcOptions<Claims>): Oidc {
  return new OidcModule(options as unknown as OidcOptions)
}

class OidcModule implements Oidc {
  readonly name: string
  readonly #options: OidcOptions
  readonly #sessions: SessionsHandle
  readonly #provider: Provider
  readonly #transactions: Transactions
  readonly #usedLogins: UsedLogins
  readonly #exchanges = FairQueue.semaphore(EXCHANGES_AT_ONCE)
  readonly #keeper: TokenKeeper | null
  /** The issuer and the client id of the logins. */
  readonly #client: string
  readonly #path: string
  readonly #scope: string
  readonly #afterLogout: string
  #prefix = ''

  constructor(options: OidcOptions) {
    const settings = OIDC_RULES.read(options)
    const { sessions, issuer, clientId, clientSecret, clientAuthentication, checkSignature, keys, path, timeout: timeoutMs } = settings
    if (clientSecret === undefined && clientAuthentication === null)
      throw invalid(OWNER, 'clientSecret is missing: a public client has { clientSecret: null }')
    this.#sessions = sessions
    const { store } = sessions
    if (settings.keepTokens && store === null)
      throw invalid(OWNER, 'keepTokens needs sessions in a store: a token must not leave the server in a sealed cookie')
    if (keys === undefined && store !== null)
      throw invalid(OWNER, 'keys is missing: they seal logins in progress where the sessions are in a store')
    this.#provider = new Provider(OWNER, {
      issuer,
      clientId,
      clientSecret: clientSecret ?? null,
      clientAuthentication,
      checkSignature,
      timeoutMs,
    })
    this.#client = `${issuer} ${clientId}`
    const purpose = `${this.#client} ${path}`
    const name = `login-${hash('sha256', purpose).slice(0, 6)}`
    this.#transactions = new Transactions(sessions.sealedCookies(OWNER, `login ${purpose}`, name, keys)!)
    this.#usedLogins = new UsedLogins(MAX_LOGIN_MS)
    this.#keeper = settings.keepTokens ? new TokenKeeper(this.#provider, this.#client, timeoutMs) : null
    this.#afterLogout = returnPath(settings.afterLogout, '')
    if (this.#afterLogout === '') throw invalid(OWNER, `afterLogout is ${shown(options.afterLogout)}, not a path of this server`)
    this.#path = path
    this.#scope = settings.scope
    this.#options = options
    this.name = `oidc ${path}`
  }

  get loginPath(): string {
    return `${this.#prefix}${this.#path}/login`
  }

  get logoutPath(): string {
    return `${this.#prefix}${this.#path}/logout`
  }

  install(host: ModuleHost): void {
    if (host.prefix.includes(':'))
      throw invalid(OWNER, `the prefix ${host.prefix} has parameters: the provider has to know the callback as one address`)
    this.#checkOtherProviders()
    this.#prefix = host.prefix
    const use = [...(this.#options.use ?? [])]
    const entry = { use: [this.#entry, ...use] }
    host.mapGet(`${this.#path}/login`, entry, (_, session) => this.#logIn(session))
    host.mapGet(`${this.#path}/callback`, entry, (_, session) => this.#callBack(session))
    const protects = this.#sessions.protects ? [] : [csrf()]
    host.map('POST', `${this.#path}/logout`, { use: [...protects, ...use] }, (_, session) => this.#logOut(session))
  }

  /** The policy of the routes that people need before they have logged in. */
  get #entry(): Policy {
    const { name: own } = this.#options.sessions.scheme()
    return {
      name: 'oidc entry',
      check(policies, where) {
        if (!policies.some(({ name }) => name === 'sessions'))
          throw invalid(OWNER, `${where} has no sessions: write server.use(…) with what sessions() has returned`)
        const access = accessOf(policies.map(({ description }) => description))
        if (access === null || access.isOpen || access.schemes.some(({ name }) => name !== own)) return
        throw invalid(OWNER, `${where} requires a login, so nobody can log in: write oidc({ …, use: [auth.open] })`)
      },
    }
  }

  /** `sub` is unique only for one issuer (OpenID Connect Core, section 2): people of two issuers could become one principal. */
  #checkOtherProviders(): void {
    const { issuer, principal } = this.#options
    const others = INSTALLED.get(this.#options.sessions) ?? []
    const other = others.find((one) => one.issuer !== issuer && (one.principal === undefined || principal === undefined))
    if (other !== undefined)
      throw invalid(
        OWNER,
        `${issuer} and ${other.issuer} sign people in to the same sessions, and may give the same sub to different people: set principal for both, with ids that differ`,
      )
    INSTALLED.set(this.#options.sessions, [...others, this.#options])
  }

  async tokens(session: HttpSession): Promise<Tokens | null> {
    if (this.#keeper === null) throw new WeirError('WEIR_SERVER_STATE', 'oidc() keeps tokens only with keepTokens: true')
    return this.#keeper.tokensOf(session, this.#sessions.of(session))
  }

  async #logIn(session: HttpSession): Promise<unknown> {
    const { request, response } = session
    this.#transactions.check(session)
    const asked = returnPath(request.query.get('return'))
    const path = asked.length > MAX_RETURN_CHARACTERS ? '/' : asked
    const secrets = this.#provider.newLogin()
    const parameters = { ...this.#options.parameters, redirect_uri: this.#callbackAddress(session), scope: this.#scope }
    // Logins wait together for the configuration of the provider. What each of them does afterwards is in its turn.
    const configuration = await exchange(session).inTurn(this.#provider.configuration(clockOf(session)))
    const address = this.#provider.loginAddress(configuration, secrets, parameters)
    this.#transactions.begin(session, { ...secrets, path }, clockOf(session).wallTime())
    return response.header('Cache-Control', 'no-store').redirect(address, 303)
  }

  async #callBack(session: HttpSession): Promise<unknown> {
    const { request, response } = session
    response.header('Cache-Control', 'no-store')
    response.header('Referrer-Policy', 'no-referrer') // this address has the code
    const states = request.query.getAll('state')
    const transaction = states.length === 1 ? this.#transactions.take(session, states[0]!) : null
    if (transaction === null) throw new WeirError('WEIR_OIDC_RESPONSE', 'this browser has no such login in progress, or it took too long')
    const address = new URL(`${this.#callbackAddress(session)}?${request.queryString.replace(/^\?/, '')}`)
    const signIn = async (): Promise<void> => {
      const grant = await this.#provider.exchange(clockOf(session), address, transaction)
      const principal = await this.#principalOf(grant)
      const now = clockOf(session).wallTime()
      this.#sessions.signIn(session, principal, this.#keeper === null ? undefined : keptTokens(this.#client, grant.tokens, now))
    }
    const client = networkOf(exchange(session).clientAddress)
    await this.#usedLogins.use(transaction.state, clockOf(session).wallTime(), () => this.#exchanges(client, session.signal, signIn))
    return response.redirect(transaction.path, 303)
  }

  async #principalOf({ claims, tokens, userInfo }: Grant): Promise<SignIn> {
    const { principal } = this.#options
    if (principal === undefined) return { id: claims.sub, name: typeof claims['name'] === 'string' ? claims['name'] : null }
    const scopes = (tokens.scope ?? this.#scope).split(' ').filter((one) => one !== '')
    return principal(claims, { accessToken: tokens.access_token, scopes, userInfo })
  }

  async #logOut(session: HttpSession): Promise<unknown> {
    const { response } = session
    const open = this.#sessions.of(session)
    const wasSignedIn = open.principal !== null
    const idToken = idTokenIn(open, this.#client)
    this.#sessions.signOut(session)
    response.header('Cache-Control', 'no-store')
    const origin = this.#originFor(session)
    if (!wasSignedIn || typeof origin !== 'string') return response.redirect(this.#afterLogout, 303)
    const configuration = await exchange(session).inTurn(this.#provider.configuration(clockOf(session)).catch(() => null))
    const parameters = {
      post_logout_redirect_uri: `${origin}${session.basePath}${this.#afterLogout}`,
      ...(idToken !== null && { id_token_hint: idToken }),
    }
    const elsewhere = configuration === null ? null : this.#provider.logoutAddress(configuration, parameters)
    return response.redirect(elsewhere ?? this.#afterLogout, 303)
  }

  /** The origin to which the provider returns the browser, or the reason for a refusal. Without `origin`, the client states it. */
  #originFor(session: HttpSession): string | WeirError {
    const { origin, hosts } = this.#options
    if (origin !== undefined) return origin
    const stated = URL.canParse(session.origin) ? new URL(session.origin) : null
    if (stated === null || (hosts !== undefined && !hosts.includes(stated.host))) return new WeirError('WEIR_MISDIRECTED')
    if (hosts !== undefined || isLocalName(stated.hostname)) return stated.origin
    const line = `origin: ${JSON.stringify(stated.origin.slice(0, MAX_SHOWN_ORIGIN))}`
    return invalid(OWNER, `origin is missing, and Host is what the client says. If it is right, write oidc({ …, ${line} })`)
  }

  #callbackAddress(session: HttpSession): string {
    const origin = this.#originFor(session)
    if (typeof origin !== 'string') throw origin
    return `${origin}${session.basePath}${this.#prefix}${this.#path}/callback`
  }
}

function clockOf(session: HttpSession): Clock {
  return exchange(session).clock
}

function handleOf(sessions: OidcOptions['sessions']): SessionsHandle {
  const handle = sessionsHandle(sessions)
  if (handle === null) throw invalid(OWNER, `sessions is ${kindOf(sessions)}, not what sessions() returns`)
  return handle
}

function checkedParameters(parameters: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(parameters)) {
    if (OWN_PARAMETERS.includes(name)) throw invalid(OWNER, `parameters has ${JSON.stringify(name)}, which a login sets itself`)
    if (typeof value !== 'string') throw invalid(OWNER, `${name} of parameters is ${shown(value)}, not a string`)
  }
  return parameters
}
