// `@weirjs/jwt`: bearer tokens (RFC 6750) that are signed JSON Web Tokens (RFC 7519), verified as RFC 8725 demands. The package `jose` does the
// cryptography.

import type { KeyObject } from 'node:crypto'
import type * as Jose from 'jose'
import type { Duration, Size } from 'weirjs'
import { CredentialsError, challengeOf, credentialsOf, type Principal, type Scheme } from 'weirjs/auth'
import { type ExchangeHandle, exchange, FairQueue, invalid, isSecureUrl, networkOf, option, rules } from 'weirjs/kit'

import { ALGORITHMS, checkAlgorithms, checkPublicKey, checkSecret, type Jwk, type JwtAlgorithm } from './algorithms.ts'
import { type ClaimMapping, type JwtClaims, type Mappings, principalOf } from './claims.ts'
import { checkToken } from './compact-token.ts'
import { setFetcher } from './fetch-set.ts'
import { FetchedKeys, FixedKeys, type KeySource, type VerifyingKey } from './keys.ts'
import { digestOf, VerifiedTokens } from './verified-tokens.ts'

const { anything, count, duration, func, matching, readBy, size, text } = option

/**
 * Bounds how many signatures are checked at a time. Each check waits for a thread of the pool, which files and DNS names use too, and clients
 * decide how many tokens need one: thousands would be ready in one turn of the event loop, whose other clients would wait for all of them. So
 * many are enough for all threads of the pool, and take the main thread about 0.2 ms each.
 */
const checks = FairQueue.semaphore(16)

export interface JwtOptions<N extends string = string> {
  /** The issuer of the tokens: exactly their `iss`. */
  readonly issuer: string
  /** The audience of tokens: `aud` of a token must be this value, or contain it. With a list, one of its values. */
  readonly audience: string | readonly string[]
  /** The algorithms that the issuer signs with, such as `['RS256']`. The algorithm that a token states is only compared with them. */
  readonly algorithms: readonly JwtAlgorithm[]
  /** The https URL where the issuer publishes its keys, or the keys themselves. One of `jwks`, `publicKey` and `secret` is needed. */
  readonly jwks?: string | URL | JwtKeySet
  /** A single public key: PEM, a KeyObject or a JWK. */
  readonly publicKey?: string | KeyObject | Jwk
  /** The secret for HS256, HS384 or HS512: at least 32, 48 or 64 bytes. */
  readonly secret?: Uint8Array
  /** The type that tokens must have: `at+jwt` for access tokens of RFC 9068. Default: any. */
  readonly typ?: string
  /** How far the clocks of the issuer and of this server may differ. Default 5 s; at most 60 s. */
  readonly clockTolerance?: Duration
  /** The claim for `id` of principals, or a function. Default `sub`. A token without it is refused. */
  readonly id?: ClaimMapping<string>
  /** The claim for `name` of principals, or a function. Default `name`. */
  readonly principalName?: ClaimMapping<string | null>
  /** The claim for roles, a list of texts or a text; or a function. Default `roles`. */
  readonly roles?: ClaimMapping<readonly string[]>
  /** The claim for scopes, a list of texts or a text with spaces between them; or a function. Default `scope`. */
  readonly scopes?: ClaimMapping<readonly string[]>
  /** Sent in challenges. Default `api`. */
  readonly realm?: string
  /** The URL of the metadata of RFC 9728, sent in challenges: `url` of `protectedResource`. Default none. */
  readonly resourceMetadata?: string
  /** The longest token, in characters. Default 8,192. When exceeded: 401. */
  readonly maxTokenLength?: number
  /** How many verified tokens are remembered. Default 10,000; 0: none. When exceeded: the oldest is forgotten. */
  readonly maxCachedTokens?: number
  /** How long fetching `jwks` may take. Default 5 s. */
  readonly jwksTimeout?: Duration
  /** The largest `jwks`. Default 512 KiB. */
  readonly maxJwksSize?: Size
  /** Used to fetch `jwks`. Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch
  /** Called when `jwks` could not be fetched. The last keys are used for up to an hour; after that, requests get 503. */
  readonly onJwksError?: (error: unknown) => void
  /** The name of the scheme. Default `jwt`. */
  readonly name?: N
}

/** A set of public keys (RFC 7517 §5). */
export interface JwtKeySet {
  readonly keys: readonly Jwk[]
}

const LONGEST_TOLERANCE_MS = 60_000
const GIVEN = anything().optional()
const mapping = matching<string | ((claims: never) => unknown)>(
  'the name of a claim, or a function',
  (one) => typeof one === 'string' || typeof one === 'function',
)
/** @internal Keys are checked with each other, and messages do not repeat them. */
export const JWT_RULES = rules<JwtOptions>('jwt')(
  {
    issuer: text('a string: exactly "iss" of the tokens', (issuer) => issuer !== ''),
    audience: readBy(audiencesOf),
    algorithms: ALGORITHMS,
    jwks: GIVEN,
    publicKey: GIVEN,
    secret: GIVEN,
    typ: text().optional('any'),
    clockTolerance: duration({ least: 0, leastNumber: 1_000, most: LONGEST_TOLERANCE_MS }).or('5s'),
    id: mapping.or('sub'),
    principalName: mapping.or('name'),
    roles: mapping.or('roles'),
    scopes: mapping.or('scope'),
    realm: text().or('api'),
    resourceMetadata: text().orNull(),
    maxTokenLength: count().also(Number.POSITIVE_INFINITY).or(8_192),
    maxCachedTokens: count().or(10_000),
    jwksTimeout: duration().or('5s'),
    maxJwksSize: size({ least: 1 }).or('512KiB'),
    fetch: func().optional("Node's own"),
    onJwksError: func().optional(),
    name: text().or('jwt'),
  },
  { needs: { jwksTimeout: 'jwks', maxJwksSize: 'jwks', fetch: 'jwks', onJwksError: 'jwks' } },
)
type Settings = typeof JWT_RULES.settings

/**
 * Returns the Bearer scheme (RFC 6750) for signed JSON Web Tokens in Authorization.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function jwt<const N extends string = 'jwt'>(options: JwtOptions<N>): Scheme<Principal<N, JwtClaims>> {
  const settings = JWT_RULES.read(options as JwtOptions)
  const { realm, resourceMetadata } = settings
  const name = settings.name as N
  const verifier = new Verifier(name, settings)
  return {
    name,
    authenticate(session) {
      const token = credentialsOf(session, 'Bearer')
      return token === null ? null : verifier.verify(token, exchange(session))
    },
    challenge(_, { status, error, scopes }) {
      if (status === 403 && scopes.length === 0) return null
      return challengeOf('Bearer', {
        realm,
        error: status === 403 ? 'insufficient_scope' : error === null ? null : 'invalid_token',
        error_description: error?.detail ?? null,
        scope: status === 403 ? scopes.join(' ') : null,
        resource_metadata: resourceMetadata,
      })
    },
    description: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
  }
}

class Verifier<N extends string> {
  readonly #name: N
  readonly #keys: KeySource
  readonly #algorithms: readonly JwtAlgorithm[]
  readonly #issuer: string
  readonly #checks: Jose.JWTVerifyOptions
  readonly #mappings: Mappings
  readonly #maxTokenLength: number
  readonly #verified: VerifiedTokens<Principal<N, JwtClaims>>

  constructor(name: N, options: Settings) {
    const { issuer, audience, typ, clockTolerance, id, principalName, roles, scopes } = options
    this.#name = name
    this.#algorithms = checkAlgorithms(options.algorithms, options.secret !== undefined)
    this.#keys = keysOf(options, this.#algorithms)
    this.#issuer = issuer
    this.#checks = {
      algorithms: [...this.#algorithms],
      issuer,
      audience: [...audience],
      requiredClaims: ['exp'],
      clockTolerance: clockTolerance / 1000,
      ...(typ === undefined ? {} : { typ }),
    }
    this.#mappings = { id, name: principalName, roles, scopes } as Mappings
    this.#maxTokenLength = options.maxTokenLength
    this.#verified = new VerifiedTokens(options.maxCachedTokens)
  }

  /** Synchronous for a token that has been verified before. @throws CredentialsError, WEIR_KEYS_UNAVAILABLE */
  verify(token: string, handle: ExchangeHandle): Principal<N, JwtClaims> | Promise<Principal<N, JwtClaims>> {
    if (token.length > this.#maxTokenLength) throw new CredentialsError(`the token has more than ${this.#maxTokenLength} characters`)
    const { clock } = handle
    const digest = digestOf(token)
    const known = this.#verified.get(digest, this.#keys.generation, clock.wallTime())
    return known !== null && this.#keys.prepare(clock) === undefined ? known : this.#verifyNew(token, digest, handle)
  }

  async #verifyNew(token: string, digest: string, handle: ExchangeHandle): Promise<Principal<N, JwtClaims>> {
    // Checked before any key is fetched: a token of another issuer must not cause a fetch.
    const { header, issuer } = checkToken(token, this.#algorithms)
    if (issuer !== this.#issuer) throw new CredentialsError('the token is of another issuer')
    const fetching = this.#keys.prepare(handle.clock)
    if (fetching !== undefined) await handle.inTurn(fetching)
    const { generation } = this.#keys
    const jose = await import('jose')
    const key = await this.#keys.find(header, jose, handle, fetching !== undefined)
    const claims = await checks(networkOf(handle.clientAddress), null, () => this.#claimsOf(token, key, handle, jose))
    const principal = principalOf(this.#name, claims, this.#mappings)
    this.#verified.add(digest, principal, claims.exp * 1000, generation)
    return principal
  }

  async #claimsOf(token: string, key: VerifyingKey, { clock }: ExchangeHandle, jose: typeof Jose): Promise<JwtClaims> {
    try {
      const currentDate = new Date(clock.wallTime())
      const { payload } = await jose.jwtVerify(token, key, { ...this.#checks, currentDate })
      return payload as JwtClaims
    } catch (error) {
      if (error instanceof jose.errors.JOSEError) throw new CredentialsError(reasonOf(error, jose)) // the error holds the claims, so it must not become a logged cause
      throw error
    }
  }
}

function audiencesOf(audience: string | readonly string[]): readonly string[] {
  const audiences = typeof audience === 'string' ? [audience] : audience
  if (Array.isArray(audiences) && audiences.length > 0 && audiences.every((one) => typeof one === 'string' && one !== '')) return audiences
  throw invalid('jwt', 'audience is needed: the name of this server in "aud" of the tokens')
}

function keysOf(options: Settings, algorithms: readonly JwtAlgorithm[]): KeySource {
  const { jwks, publicKey, secret, jwksTimeout: timeoutMs, maxJwksSize: maxBytes, onJwksError = () => {} } = options
  if ([jwks, publicKey, secret].filter((one) => one !== undefined).length !== 1)
    throw invalid('jwt', 'exactly one of jwks, publicKey and secret is needed')
  if (secret !== undefined) return new FixedKeys(checkSecret(secret, algorithms))
  if (publicKey !== undefined) return new FixedKeys(checkPublicKey(publicKey, algorithms))
  if (typeof jwks === 'object' && !(jwks instanceof URL)) {
    if (!Array.isArray(jwks?.keys)) throw invalid('jwt', 'jwks is neither a URL nor a set of keys')
    return new FixedKeys(structuredClone(jwks) as Jose.JSONWebKeySet)
  }
  return new FetchedKeys(setFetcher(urlOf(jwks), options.fetch ?? globalThis.fetch, { timeoutMs, maxBytes }), onJwksError)
}

/** Anyone who can change the keys on the way could sign tokens. */
function urlOf(jwks: unknown): URL {
  if (!URL.canParse(String(jwks))) throw invalid('jwt', 'jwks is neither a URL nor a set of keys')
  const url = new URL(String(jwks))
  if (!isSecureUrl(url)) throw invalid('jwt', 'jwks must be an https URL, unless it is on this machine')
  return url
}

function reasonOf(error: Jose.errors.JOSEError, { errors }: typeof Jose): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired'
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.claim === 'nbf' ? 'the token is not valid yet' : `${JSON.stringify(error.claim)} of the token is missing or wrong`
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature of the token is wrong'
  return 'the token is malformed'
}
