// `@weirjs/acme`: certificates of a CA that speaks ACME (RFC 8555), obtained, used and renewed while the server runs.

import { Buffer } from 'node:buffer'
import { createPrivateKey } from 'node:crypto'

import type { HttpResponse, HttpServer, HttpSession, Module, ServerTlsOptions } from 'weirjs'
import type { HealthCheck } from 'weirjs/health'
import { type Clock, exchange, invalid, launch, option, rules, systemClock } from 'weirjs/kit'
import type { MetricFamily, MetricSource } from 'weirjs/metrics'

import { CaClient, type ExternalAccount } from './ca-client.ts'
import { Challenges, type ChallengeType } from './challenges.ts'
import { openDirectory } from './directory-store.ts'
import { HTTPS_ONLY_RULES, HttpsOnly, type HttpsOnlyOptions } from './https-only.ts'
import { challengedName, type Identifier, identifierOf } from './identifiers.ts'
import { Keeper } from './keeper.ts'
import type { AcmeStore } from './store.ts'
import { newKey, type Pair, pemOf, placeholder } from './x509.ts'

const { func, forTests, listOf, readBy, text } = option

export interface AcmeOptions {
  /**
   * The names and addresses of the certificate: `['example.org', 'www.example.org', '203.0.113.7']`. A list of lists: a certificate for each list.
   * The first is used for clients that state no name.
   */
  readonly domains: readonly string[] | readonly (readonly string[])[]
  /** The address to which the CA writes when something is wrong. By using this package, you agree to the terms of the CA. */
  readonly email?: string
  /**
   * Where account, keys and certificates are kept: a directory, which is made with the mode 700, or a store of your own. Processes that share it
   * share the certificates.
   */
  readonly store: string | AcmeStore
  /** The directory of the CA. Default: Let's Encrypt, `https://acme-v02.api.letsencrypt.org/directory`. */
  readonly directory?: string
  /** What kind of certificate, in the words of the CA: `shortlived` and `tlsserver` of Let's Encrypt. Default: the CA decides. */
  readonly profile?: string
  /** The account at the CA that certificates are for, if it wants one: the id, and the key in base64url. */
  readonly eab?: ExternalAccount
  /**
   * How the CA may check that the names lead here. The first one that both sides support is used, and after a failure the next. Default both:
   * `['http-01', 'tls-alpn-01']`. Without an endpoint for plain HTTP, `http-01` is left out.
   */
  readonly challenges?: readonly ('http-01' | 'tls-alpn-01')[]
  /**
   * Sends clients of plain HTTP to HTTPS (308), and tells browsers to begin there (HSTS), for these domains. True, or for how long and for what
   * else. Default false.
   */
  readonly httpsOnly?: boolean | HttpsOnlyOptions
  /** Used for requests to the CA. Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock
}

/** What is known about one certificate. */
export interface CertificateStatus {
  readonly domains: readonly string[]
  /** Null: there is none yet. */
  readonly notAfter: Date | null
  /** Days with a fraction; negative when it has expired. Null: there is none yet. */
  readonly daysLeft: number | null
  /** When it will be renewed, as far as that is known. */
  readonly renewal: Date | null
  /** Attempts that have failed since the program has started. */
  readonly failures: number
  /** Why the last attempt failed; null if it succeeded. */
  readonly lastError: string | null
}

/** Certificates that renew themselves: `tls` belongs to an endpoint, and the module to its server. */
export interface Acme extends Module, MetricSource {
  /** The TLS options of an endpoint. Other TLS options may be added: `{ ...certificates.tls, requestCert: true }`. */
  readonly tls: ServerTlsOptions
  /** What is known about each certificate, in the order of `domains`. */
  status(): readonly CertificateStatus[]
  /** For `health`: fails while there is no certificate, and when the last sixth of its life begins without a new one. */
  readonly check: HealthCheck
  install(server: HttpServer): void
}

const OWNER = 'acme'
const HTTPS_PORT = 443
/** The codes for a host that is not served, and for a path outside of the application's base path. */
const REFUSED_BEFORE_GATES: ReadonlySet<number> = new Set([404, 421])
const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory'
const STORE_FUNCTIONS = ['get', 'set', 'delete', 'lock', 'unlock'] as const
/** @internal */
export const ACME_RULES = rules<AcmeOptions>(OWNER)({
  domains: readBy(groupsOf),
  email: text('an address such as ops@example.org', (given) => /^[^\s@,?]+@[^\s@,?]+$/.test(given)).orNull(),
  store: readBy((given: string | AcmeStore) => given),
  directory: text('an https URL', (given) => URL.canParse(given)).or(LETS_ENCRYPT, "Let's Encrypt"),
  profile: text('the name of a profile', (given) => given !== '').orNull('the CA decides'),
  eab: readBy(accountOf).orNull(),
  challenges: listOf<ChallengeType>('http-01', 'tls-alpn-01').or(['http-01', 'tls-alpn-01']),
  httpsOnly: readBy((given: boolean | HttpsOnlyOptions) => given).or(false),
  fetch: func().optional("Node's own"),
  clock: forTests(),
})

/**
 * Opens the store and takes what it has. The CA is not asked before the server has started: until there is a certificate, clients get one that
 * no one trusts.
 * @throws (rejects) WEIR_OPTION_INVALID, also for a directory that others can read; what the store throws
 */
export async function acme(options: AcmeOptions): Promise<Acme> {
  const settings = ACME_RULES.read(options)
  const clock = (settings.clock as Clock | undefined) ?? systemClock
  const store = await storeOf(settings.store, clock)
  const certificates = new Certificates(settings, store, clock)
  await certificates.load()
  return certificates
}

class Certificates implements Acme {
  readonly name: string
  readonly #settings: typeof ACME_RULES.settings
  readonly #store: AcmeStore
  readonly #clock: Clock
  readonly #challenges: Challenges
  readonly #keepers: readonly Keeper[]
  readonly #httpsOnly: HttpsOnly | null
  readonly #placeholder: Pair
  #client: Promise<CaClient> | null = null
  #isInstalled = false
  /** Functions that pass new certificates to the servers. */
  readonly #reloads = new Set<() => void>()

  constructor(settings: typeof ACME_RULES.settings, store: AcmeStore, clock: Clock) {
    this.#settings = settings
    this.#store = store
    this.#clock = clock
    const groups = settings.domains as readonly (readonly Identifier[])[]
    const all = groups.flat().map(({ value }) => value)
    this.name = `acme: ${all[0]}`
    this.#placeholder = placeholder(clock.wallTime())
    const { httpsOnly } = settings
    this.#httpsOnly =
      httpsOnly === false ? null : new HttpsOnly(all, HTTPS_ONLY_RULES.read(httpsOnly === true ? {} : httpsOnly, OWNER, 'httpsOnly'))
    const ca = fileNameOf(new URL(settings.directory).host)
    this.#challenges = new Challenges(store, clock, `${ca}.challenges`)
    this.#keepers = groups.map(
      (identifiers) =>
        new Keeper({
          identifiers,
          profile: settings.profile,
          store,
          name: `${ca}-${fileNameOf(identifiers[0]!.value)}.pem`,
          lockName: `${ca}.lock`,
          challenges: this.#challenges,
          clock,
          client: () => this.#clientOf(`${ca}.account`),
          onChange: () => {
            for (const reload of this.#reloads) reload()
          },
        }),
    )
  }

  async load(): Promise<void> {
    for (const keeper of this.#keepers) await keeper.load()
  }

  get tls(): ServerTlsOptions {
    const pairs = this.#keepers.map((keeper): [Keeper, Pair] => [keeper, keeper.current?.pair ?? this.#placeholder])
    const sni = pairs.flatMap(([{ identifiers }, pair]) => identifiers.map((one): [string, Pair] => [challengedName(one), pair]))
    return { ...pairs[0]![1], ...(pairs.length === 1 ? {} : { sni: Object.fromEntries(sni) }), acmeChallenge: this.#challenges.contextFor }
  }

  status(): readonly CertificateStatus[] {
    return this.#keepers.map((keeper) => ({
      domains: keeper.identifiers.map(({ value }) => value),
      notAfter: dateOf(keeper.current?.notAfter ?? null),
      daysLeft: keeper.daysLeft,
      renewal: dateOf(keeper.renewAt),
      failures: keeper.failures,
      lastError: keeper.lastError,
    }))
  }

  readonly check = (): void => {
    const troubles = this.#keepers.map(({ trouble }) => trouble).filter((trouble) => trouble !== null)
    if (troubles.length > 0) throw new Error(troubles.join('; '))
  };

  *metrics(): Iterable<MetricFamily> {
    const samples = (valueFor: (keeper: Keeper) => number | null) =>
      this.#keepers.flatMap((keeper) => {
        const value = valueFor(keeper)
        return value === null ? [] : [{ labels: { domain: keeper.identifiers[0]!.value }, value }]
      })
    yield {
      name: 'weir_acme_days_left',
      type: 'gauge',
      help: 'Days until the certificate expires.',
      samples: samples(({ daysLeft }) => daysLeft),
    }
    yield {
      name: 'weir_acme_failures_total',
      type: 'counter',
      help: 'Attempts to get or renew the certificate that have failed.',
      samples: samples(({ failures }) => failures),
    }
  }

  install(server: HttpServer): void {
    const { places } = launch.listeningPlaces(server)
    const own = places.flatMap(({ tls }, index) => (tls?.acmeChallenge === this.#challenges.contextFor ? [{ tls, index }] : []))
    if (own.length === 0) throw invalid(OWNER, 'no endpoint of this server has the certificates: give it tls: certificates.tls')
    const hasPlain = places.some(({ tls, unixSocket }) => tls === undefined && unixSocket === undefined)
    const types = this.#settings.challenges.filter((type) => type !== 'http-01' || hasPlain)
    if (types.length === 0) throw invalid(OWNER, 'challenges has only "http-01", which needs an endpoint without tls, on port 80')
    const reload = (): void => {
      // Options that the program has set in addition to `tls` stay.
      for (const { tls, index } of own) server.reloadTls({ ...tls, ...this.tls }, index)
    }
    if (this.#isInstalled) throw invalid(OWNER, 'these certificates belong to another server: call acme() for each, with the same store')
    this.#isInstalled = true
    let ending = new AbortController()
    server.observe({
      started: () => {
        ending = new AbortController()
        const { signal } = ending
        const { stopping } = server
        stopping.addEventListener('abort', () => ending.abort(stopping.reason), { once: true })
        reload() // the store may have had other certificates when the options were read
        this.#reloads.add(reload)
        if (types.includes('tls-alpn-01')) this.#challenges.watch(signal)
        for (const keeper of this.#keepers) void keeper.run({ types, logger: server.logger, signal })
      },
      end() {},
      stopped: () => {
        this.#reloads.delete(reload)
      },
    })
    launch.guard(server, {
      gate: (session) => this.#admit(session, server, own[0]!.index),
      beforeSend: (session, response) => {
        this.#httpsOnly?.addField(session, response)
        return this.#answerRefused(session, response)
      },
    })
  }

  #admit(session: HttpSession, server: HttpServer, index: number): HttpResponse | undefined | Promise<HttpResponse | undefined> {
    const { path, method } = session.request
    const found = method === 'GET' || method === 'HEAD' ? this.#challenges.textAt(path) : null
    const answer = (text: string | null): HttpResponse | undefined =>
      text === null
        ? (this.#httpsOnly?.redirect(session, server.endpoints[index]?.port ?? HTTPS_PORT) ?? undefined)
        : sendText(session.response, text)
    return found instanceof Promise ? exchange(session).inTurn(found).then(answer) : answer(found)
  }

  /**
   * Answers challenges that no gate sees: the CA may use addresses, or names that were just added, as hosts that the server does not serve, and it
   * asks at the root, which may be outside of the application's base path.
   */
  #answerRefused(session: HttpSession, response: HttpResponse): void | Promise<void> {
    const { request } = session
    if (!REFUSED_BEFORE_GATES.has(response.statusCode) || request.method !== 'GET') return undefined
    const found = this.#challenges.textAt(request.path)
    const answer = (text: string | null): void => {
      if (text !== null) sendText(response.status(200), text)
    }
    return found instanceof Promise ? exchange(session).inTurn(found).then(answer) : answer(found)
  }

  #clientOf(name: string): Promise<CaClient> {
    this.#client ??= this.#openClient(name).catch((error: unknown) => {
      this.#client = null
      throw error
    })
    return this.#client
  }

  async #openClient(name: string): Promise<CaClient> {
    const { directory, email, eab, fetch = globalThis.fetch } = this.#settings
    let key = await this.#store.get(name)
    if (key === null) {
      key = pemOf(newKey())
      await this.#store.set(name, key)
    }
    return new CaClient({ directory, email, eab, fetch: fetch as typeof globalThis.fetch, clock: this.#clock }, createPrivateKey(key))
  }
}

function sendText(response: HttpResponse, text: string): HttpResponse {
  return response.header('Cache-Control', 'no-store').body(Buffer.from(text), 'application/octet-stream')
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}

/** Letters, digits, `.` and `-` stay; other characters of an address are replaced. */
function fileNameOf(name: string): string {
  return name.replace(/[^a-z0-9.-]/gi, '_')
}

function groupsOf(domains: AcmeOptions['domains']): readonly (readonly Identifier[])[] {
  if (!Array.isArray(domains) || domains.length === 0) throw invalid(OWNER, "domains must be a list of names, such as ['example.org']")
  const groups = domains.some((one) => Array.isArray(one)) ? (domains as readonly (readonly string[])[]) : [domains as readonly string[]]
  const read = groups.map((group) => {
    if (!Array.isArray(group) || group.length === 0) throw invalid(OWNER, 'domains has both names and lists, or an empty list')
    return group.map((one) => identifierOf(one, OWNER))
  })
  const values = read.flat().map(({ value }) => value)
  const twice = values.find((value, i) => values.indexOf(value) !== i)
  if (twice !== undefined) throw invalid(OWNER, `domains has ${twice} twice: leave one out`)
  return read
}

function accountOf(given: ExternalAccount): ExternalAccount {
  const { kid, key } = Object(given) as ExternalAccount
  if (typeof kid !== 'string' || kid === '' || typeof key !== 'string' || !/^[\w-]{16,}={0,2}$/.test(key))
    throw invalid(OWNER, 'eab must be { kid, key }, with the key in base64url as the CA shows it')
  return { kid, key }
}

async function storeOf(given: string | AcmeStore, clock: Clock): Promise<AcmeStore> {
  if (typeof given === 'string' && given !== '') return openDirectory(given, clock, OWNER)
  const missing = STORE_FUNCTIONS.find((name) => typeof Object(given)[name] !== 'function')
  if (missing === undefined) return given as AcmeStore
  throw invalid(OWNER, `store is neither the path of a directory nor a store: it has no function ${missing}()`)
}
