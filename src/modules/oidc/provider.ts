// The identity provider: found when it is first needed, and asked with a timeout. What goes wrong there becomes one of three errors.

import type * as OpenId from 'openid-client'

import type { Clock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'
import { invalid } from '../../base/options.ts'
import { requireOptionalPackage } from '../../base/packages.ts'

export interface ProviderOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | null
  readonly clientAuthentication: OpenId.ClientAuth | null
  readonly timeoutMs: number
}

/** How long what a provider states about itself is used before it is asked again. */
const FRESH_MS = 24 * 3_600_000
const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[::1\])$/
/** Errors of RFC 6749 §4.1.2.1 that the provider reports about itself. */
const OF_THE_PROVIDER: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable'])
/** Errors of RFC 6749 §5.2 that the client of a login can cause, such as by sending the same code twice. */
const OF_THE_CODE: ReadonlySet<string> = new Set(['invalid_grant', 'invalid_request'])
/** What the package finds wrong in what a browser has brought back, or in an ID token. */
const OF_THE_RESPONSE: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_INVALID_REQUEST',
])

export class Provider {
  readonly openid: typeof OpenId
  readonly #options: ProviderOptions
  readonly #issuer: URL
  #found: { readonly configuration: OpenId.Configuration; readonly at: number } | null = null
  #finding: Promise<OpenId.Configuration> | null = null

  /** @throws WEIR_PACKAGE_MISSING without the package `openid-client`; WEIR_OPTION_INVALID */
  constructor(owner: string, options: ProviderOptions) {
    this.#options = options
    this.#issuer = issuerOf(owner, options.issuer)
    this.openid = requireOptionalPackage<typeof OpenId>('openid-client')
  }

  /** What the provider states about itself. A failure is not remembered. @throws WEIR_OIDC_UNAVAILABLE */
  configuration(clock: Clock): Promise<OpenId.Configuration> {
    if (this.#found !== null && clock.wallTime() - this.#found.at < FRESH_MS) return Promise.resolve(this.#found.configuration)
    this.#finding ??= this.#find(clock).finally(() => (this.#finding = null))
    return this.#finding
  }

  async #find(clock: Clock): Promise<OpenId.Configuration> {
    const { clientId, clientSecret, clientAuthentication, timeoutMs } = this.#options
    const { ClientSecretBasic, None, allowInsecureRequests, discovery } = this.openid
    const authentication = clientAuthentication ?? (clientSecret === null ? None() : ClientSecretBasic(clientSecret))
    try {
      const configuration = await discovery(this.#issuer, clientId, clientSecret ?? undefined, authentication, {
        timeout: timeoutMs / 1000,
        ...(this.#issuer.protocol === 'http:' && { execute: [allowInsecureRequests] }),
      })
      this.#found = { configuration, at: clock.wallTime() }
      return configuration
    } catch (error) {
      if (this.#found !== null) return this.#found.configuration
      throw unavailable(error)
    }
  }

  /**
   * Runs a request to the provider.
   * @throws WEIR_OIDC_DENIED, WEIR_OIDC_RESPONSE, WEIR_OIDC_UNAVAILABLE
   */
  async ask<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request()
    } catch (error) {
      throw this.#describe(error)
    }
  }

  /** No error of the package becomes a cause: what it holds may be tokens, and a logger would show them. */
  #describe(error: unknown): WeirError {
    const { AuthorizationResponseError, ClientError, ResponseBodyError } = this.openid
    if (error instanceof AuthorizationResponseError) {
      const { error: code } = error
      if (code === 'access_denied') return new WeirError('WEIR_OIDC_DENIED')
      if (OF_THE_PROVIDER.has(code)) return new WeirError('WEIR_OIDC_UNAVAILABLE', code)
      return new WeirError('WEIR_OIDC_RESPONSE', /^[a-z_]{1,40}$/.test(code) ? code : undefined)
    }
    if (error instanceof ResponseBodyError) {
      if (OF_THE_CODE.has(error.error)) return new WeirError('WEIR_OIDC_RESPONSE', error.error)
      return new WeirError('WEIR_OIDC_UNAVAILABLE', `it answered ${error.status}, ${error.error}`)
    }
    if (error instanceof ClientError && OF_THE_RESPONSE.has(error.code ?? '')) return new WeirError('WEIR_OIDC_RESPONSE', error.message)
    return unavailable(error)
  }
}

/** @throws WEIR_OPTION_INVALID */
function issuerOf(owner: string, issuer: string): URL {
  if (typeof issuer !== 'string' || !URL.canParse(issuer)) throw invalid(owner, `issuer is ${JSON.stringify(issuer)}, not a URL`)
  const url = new URL(issuer)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
    throw invalid(owner, `issuer is ${JSON.stringify(issuer)}: it has to begin with https://, unless it is on this machine`)
  return url
}

function unavailable(error: unknown): WeirError {
  const { name, message, code } = error as Error & { readonly code?: string }
  return new WeirError('WEIR_OIDC_UNAVAILABLE', `${code ?? name}: ${message}`)
}
