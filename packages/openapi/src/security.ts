// The security schemes of a document, and the requirements of each route.

import type { SecurityScheme } from 'weirjs/auth'
import { type Access, accessOf } from 'weirjs/auth'

/** Schemes by name, each of which is enough, with the scopes that are needed. */
type SecurityRequirement = Readonly<Record<string, readonly string[]>>

/** How `weirjs/auth` treats the requests of a route. */
export interface RouteSecurity {
  readonly requirements: readonly SecurityRequirement[]
  /** Whether a request without credentials is refused with 401. */
  readonly isClosed: boolean
  /** Whether a principal may be refused with 403. */
  readonly isNarrowed: boolean
}

/** Collects the schemes of all routes of a document. */
export class SecuritySchemes {
  readonly #names = new Map<SecurityScheme, string>()
  readonly #schemes: Record<string, SecurityScheme> = {}

  /** By their names in the document. */
  get all(): Readonly<Record<string, SecurityScheme>> {
    return this.#schemes
  }

  /** @param descriptions what the route's policies say, the outermost first @returns null without an `auth` */
  of(descriptions: readonly unknown[]): RouteSecurity | null {
    const access = accessOf(descriptions)
    if (access === null) return null
    const { isOpen, isNarrowed } = access
    const requirements = access.schemes.map(({ name, description }) => ({
      [this.#nameOf(name, description)]: scopesOf(access, description),
    }))
    return { requirements: isOpen ? [{}, ...requirements] : requirements, isClosed: !isOpen, isNarrowed }
  }

  /** Equal schemes share a name. */
  #nameOf(name: string, scheme: SecurityScheme): string {
    const known = this.#names.get(scheme)
    if (known !== undefined) return known
    const base = name.replace(/[^\w.-]/g, '_')
    for (let number = 1; ; number++) {
      const candidate = number === 1 ? base : `${base}${number}`
      const other = this.#schemes[candidate]
      if (other !== undefined && JSON.stringify(other) !== JSON.stringify(scheme)) continue
      this.#schemes[candidate] = scheme
      this.#names.set(scheme, candidate)
      return candidate
    }
  }
}

/** Scopes belong to OAuth 2.0 and OpenID Connect; other schemes may list the roles that they need, and weir has alternatives of them. */
function scopesOf({ scopes }: Access, { type }: SecurityScheme): readonly string[] {
  return type === 'oauth2' || type === 'openIdConnect' || type === 'http' ? scopes : []
}
