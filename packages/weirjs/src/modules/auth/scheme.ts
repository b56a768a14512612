// What `auth` and an authentication scheme agree on. A scheme reads credentials from the head of a request, and says who sent it. It decides
// nothing about access: that is up to `auth`.

import type { Gate } from '../../app/policies/policy.ts'
import { WeirError } from '../../base/errors.ts'
import type { HttpSession } from '../../http/session.ts'

/** The user or program that sent a request, as its credentials prove. */
export interface Principal<Name extends string = string, Claims extends object = Readonly<Record<string, unknown>>> {
  /** Unique within the scheme, and stable. */
  readonly id: string
  /** For people; null if the scheme knows none. */
  readonly name: string | null
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  /** Whatever else the scheme knows, such as the claims of a token. */
  readonly claims: Claims
  /** The name of the scheme that accepted the credentials. */
  readonly scheme: Name
}

/** Any principal, whatever its claims. */
export type AnyPrincipal = Principal<string, object>

/** A scheme throws it, or rejects with it, for credentials that are malformed, unknown or expired. The client gets 401 and the detail. */
export class CredentialsError extends WeirError {
  override readonly name = 'CredentialsError'
  /** What is wrong; null if that is not stated. */
  readonly detail: string | null

  /** @param detail must not contain any part of the credentials */
  constructor(detail?: string) {
    super('WEIR_CREDENTIALS_INVALID', detail)
    this.detail = detail ?? null
  }
}

/** Why a request is refused, for the challenge of a scheme. */
export interface Refusal {
  /** 401: no credentials, or invalid ones. 403: the principal has not all of `scopes`. */
  readonly status: 401 | 403
  /** What this scheme has thrown; null if it found no credentials. */
  readonly error: CredentialsError | null
  /** All scopes that the route requires; empty unless the status is 403. */
  readonly scopes: readonly string[]
}

/** A way to authenticate. Its methods are called in the gate, when only the head of the request is known. */
export interface Scheme<P extends AnyPrincipal = AnyPrincipal> {
  /** Unique among the schemes of an `auth`. It becomes `scheme` of the principals. */
  readonly name: P['scheme']
  /**
   * Returns null for a request without credentials of this kind. Any error but a CredentialsError becomes the response, such as a 503 if the
   * scheme cannot tell at the moment.
   * @throws CredentialsError
   */
  authenticate(session: HttpSession): P | null | Promise<P | null>
  /** Returns a challenge for WWW-Authenticate, or null for none. A scheme without challenges, such as a session in a cookie, omits it. */
  challenge?(session: HttpSession, refusal: Refusal): string | null
  /**
   * Returns what answers a request without credentials in place of 401, such as a redirect to a login page, or undefined. Called only if the
   * route accepts the scheme; by `server.explain`, too.
   */
  login?(session: HttpSession): ReturnType<Gate>
  /** The Security Scheme Object of OpenAPI that describes the scheme to clients: `{ type: 'http', scheme: 'basic' }`. */
  readonly description: SecurityScheme
}

/** A Security Scheme Object (OpenAPI 3.1). */
export interface SecurityScheme {
  readonly type: 'apiKey' | 'http' | 'mutualTLS' | 'oauth2' | 'openIdConnect'
  readonly [member: string]: unknown
}

/** The type of principal of a scheme. */
export type PrincipalOf<S extends Scheme> = S extends Scheme<infer P> ? P : never
