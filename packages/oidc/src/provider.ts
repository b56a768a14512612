// The identity provider: its configuration is read when it is first needed, and each request has a timeout. Failures become one of three errors.

import { hash } from 'node:crypto'
import * as OpenId from 'openid-client'
import { WeirError } from 'weirjs'
import type { Clock } from 'weirjs/kit'
import { invalid, isSecureUrl } from 'weirjs/kit'

/** The claims of an ID token. Each is as trustworthy as the provider. */
export interface IdClaims {
  readonly iss: string
  /** Identifies the person at this provider, forever. */
  readonly sub: string
  readonly [claim: string]: unknown
}

/** The claims of the UserInfo endpoint. */
export type UserInfo = Pick<IdClaims, 'sub'> & Readonly<Record<string, unknown>>

/** How a program proves its identity at the provider: a `ClientAuth` of `openid-client`. */
export type ClientAuthentication = (server: never, client: never, body: URLSearchParams, headers: Headers) => unknown

/** The response of the token endpoint (RFC 6749 §5.1). */
export interface TokenResponse {
  readonly access_token: string
  /** Seconds. */
  readonly expires_in?: number | undefined
  readonly scope?: string | undefined
  readonly refresh_token?: string | undefined
  readonly id_token?: string | undefined
}

/** The secrets of one login. */
export interface LoginSecrets {
  readonly state: string
  readonly nonce: string
  /** Of PKCE. */
  readonly verifier: string
}

/** The result of a login. */
export interface Grant {
  readonly claims: IdClaims
  readonly tokens: TokenResponse
  userInfo(): Promise<UserInfo>
}

interface ProviderOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | null
  readonly clientAuthentication: ClientAuthentication | null
  /** Undefined: only if the token endpoint does not itself prove the origin of the ID token. */
  readonly checkSignature: boolean | undefined
  readonly timeoutMs: number
}

/** How long the configuration of a provider is used before it is read again. */
const FRESH_MS = 24 * 3_600_000
/** Errors of RFC 6749 §4.1.2.1 that the provider reports about itself. */
const OF_THE_PROVIDER: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable'])
/** Errors of RFC 6749 §5.2 that the client of a login can cause, such as by sending the same code twice. */
const OF_THE_CODE: ReadonlySet<string> = new Set(['invalid_grant', 'invalid_request'])
/** Codes of the package for an invalid response that a browser has brought back, or an invalid ID token. */
const OF_THE_RESPONSE: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_INVALID_REQUEST',
  'OAUTH_KEY_SELECTION_FAILED',
])

export class Provider {
  readonly #openid: typeof OpenId
  readonly #options: ProviderOptions
  readonly #issuer: URL
  #found: { readonly configuration: OpenId.Configuration; readonly at: number } | null = null
  #finding: Promise<OpenId.Configuration> | null = null

  /** @throws WEIR_OPTION_INVALID */
  constructor(owner: string, options: ProviderOptions) {
    this.#options = options
    this.#issuer = issuerOf(owner, options.issuer)
    this.#openid = OpenId
  }

  newLogin(): LoginSecrets {
    const { randomNonce, randomPKCECodeVerifier, randomState } = this.#openid
    return { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
  }

  /** The address at which a person logs in. */
  loginAddress(
    configuration: OpenId.Configuration,
    { state, nonce, verifier }: LoginSecrets,
    parameters: Readonly<Record<string, string>>,
  ): string {
    const own = {
      response_type: 'code',
      state,
      nonce,
      code_challenge: hash('sha256', verifier, 'base64url'),
      code_challenge_method: 'S256',
    }
    return this.#openid.buildAuthorizationUrl(configuration, { ...parameters, ...own }).href
  }

  /**
   * Exchanges the code that a browser has brought back.
   * @param address the whole address to which the browser was sent
   * @throws (rejects) WEIR_OIDC_DENIED, WEIR_OIDC_RESPONSE, WEIR_OIDC_UNAVAILABLE
   */
  async exchange(clock: Clock, address: URL, { state, nonce, verifier }: LoginSecrets): Promise<Grant> {
    const configuration = await this.configuration(clock)
    const { authorizationCodeGrant, fetchUserInfo } = this.#openid
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
    const tokens = await this.#ask(() => authorizationCodeGrant(configuration, address, checks))
    const claims = tokens.claims()!
    return { claims, tokens, userInfo: () => this.#ask(() => fetchUserInfo(configuration, tokens.access_token, claims.sub)) }
  }

  /** @throws (rejects) WEIR_OIDC_RESPONSE if the provider refuses; WEIR_OIDC_UNAVAILABLE */
  async refresh(clock: Clock, refreshToken: string): Promise<TokenResponse> {
    const configuration = await this.configuration(clock)
    return this.#ask(() => this.#openid.refreshTokenGrant(configuration, refreshToken))
  }

  /** Where a browser ends its session at the provider. Null if that is not possible. */
  logoutAddress(configuration: OpenId.Configuration, parameters: Readonly<Record<string, string>>): string | null {
    if (configuration.serverMetadata().end_session_endpoint === undefined) return null
    return this.#openid.buildEndSessionUrl(configuration, parameters).href
  }

  /** The configuration of the provider, which many requests may await: `inTurn`. A failure is not remembered. @throws (rejects) WEIR_OIDC_UNAVAILABLE */
  configuration(clock: Clock): Promise<OpenId.Configuration> {
    if (this.#found !== null && clock.wallTime() - this.#found.at < FRESH_MS) return Promise.resolve(this.#found.configuration)
    this.#finding ??= this.#find(clock).finally(() => (this.#finding = null))
    return this.#finding
  }

  /** OpenID Connect Core, section 3.1.3.7: TLS can take the place of the signature, between a server that proves its identity and the provider. */
  get #checksSignature(): boolean {
    const { checkSignature, clientSecret, clientAuthentication } = this.#options
    return checkSignature ?? (this.#issuer.protocol === 'http:' || (clientSecret === null && clientAuthentication === null))
  }

  async #find(clock: Clock): Promise<OpenId.Configuration> {
    const { clientId, clientSecret, clientAuthentication, timeoutMs } = this.#options
    const { ClientSecretBasic, None, allowInsecureRequests, discovery, enableNonRepudiationChecks } = this.#openid
    const isInsecure = this.#issuer.protocol === 'http:'
    const authentication =
      (clientAuthentication as OpenId.ClientAuth | null) ?? (clientSecret === null ? None() : ClientSecretBasic(clientSecret))
    try {
      const configuration = await discovery(this.#issuer, clientId, clientSecret ?? undefined, authentication, {
        timeout: timeoutMs / 1000,
        execute: [...(isInsecure ? [allowInsecureRequests] : []), ...(this.#checksSignature ? [enableNonRepudiationChecks] : [])],
      })
      this.#found = { configuration, at: clock.wallTime() }
      return configuration
    } catch (error) {
      if (this.#found !== null) return this.#found.configuration
      throw unreachable(error)
    }
  }

  /** Runs a request. @throws (rejects) WEIR_OIDC_DENIED, WEIR_OIDC_RESPONSE, WEIR_OIDC_UNAVAILABLE */
  async #ask<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request()
    } catch (error) {
      throw this.#describe(error)
    }
  }

  /** No error of the package becomes a cause, because it may contain tokens, which a logger would show. */
  #describe(error: unknown): WeirError {
    const { AuthorizationResponseError, ClientError, ResponseBodyError } = this.#openid
    if (error instanceof AuthorizationResponseError) {
      const { error: code } = error
      if (code === 'access_denied') return new WeirError('WEIR_OIDC_DENIED')
      if (OF_THE_PROVIDER.has(code)) return unavailable(code)
      return new WeirError('WEIR_OIDC_RESPONSE', /^[a-z_]{1,40}$/.test(code) ? code : undefined)
    }
    if (error instanceof ResponseBodyError) {
      if (OF_THE_CODE.has(error.error)) return new WeirError('WEIR_OIDC_RESPONSE', error.error)
      return unavailable(`it answered ${error.status}, ${error.error}`)
    }
    if (error instanceof ClientError && OF_THE_RESPONSE.has(error.code ?? '')) return new WeirError('WEIR_OIDC_RESPONSE', error.message)
    return unreachable(error)
  }
}

/** @throws WEIR_OPTION_INVALID */
function issuerOf(owner: string, issuer: string): URL {
  if (typeof issuer !== 'string' || !URL.canParse(issuer)) throw invalid(owner, `issuer is ${JSON.stringify(issuer)}, not a URL`)
  const url = new URL(issuer)
  if (!isSecureUrl(url))
    throw invalid(owner, `issuer is ${JSON.stringify(issuer)}: it has to begin with https://, unless it is on this machine`)
  return url
}

function unreachable(error: unknown): WeirError {
  const { name, message, code } = error as Error & { readonly code?: string }
  return unavailable(`${code ?? name}: ${message}`)
}

export function unavailable(detail: string): WeirError {
  return new WeirError('WEIR_OIDC_UNAVAILABLE', detail)
}
