// Protected resource metadata (RFC 9728): where clients learn which authorization servers issue tokens for this server.

import type { Module } from '../../app/module-host.ts'
import { object, text, texts } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'

import { requirements } from './requirements.ts'

export interface ProtectedResourceOptions {
  /** The identifier of this server, as `audience` of its tokens: an https URL without a fragment. */
  readonly resource: string
  /** The issuers whose tokens are accepted. */
  readonly authorizationServers: readonly string[]
  /** The scopes that routes require. Default: not stated. */
  readonly scopes?: readonly string[]
  /** Further members of the document (RFC 9728 §2), such as `resource_name` and `resource_documentation`. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** A module that serves the document. */
export interface ProtectedResource extends Module {
  /** Where the document is: for `resourceMetadata` of `jwt`. */
  readonly url: string
}

const OWNER = 'protectedResource'
/** @internal */
export const PROTECTED_RESOURCE_RULES = rules<ProtectedResourceOptions>(OWNER)({
  resource: text('an https URL without a query and a fragment', isIdentifier),
  authorizationServers: texts('a URL', (text) => URL.canParse(text)),
  scopes: texts().optional(),
  more: object().or({}),
})
const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/**
 * Returns a module that serves the metadata of a protected resource (RFC 9728) to everyone. The path of the resource follows the well-known
 * path: for `https://example.com/api`, it is `/.well-known/oauth-protected-resource/api`.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function protectedResource(options: ProtectedResourceOptions): ProtectedResource {
  const { resource, authorizationServers, scopes, more } = PROTECTED_RESOURCE_RULES.read(options)
  const { origin, pathname } = new URL(resource)
  const path = `${WELL_KNOWN}${pathname === '/' ? '' : pathname}`
  const document = {
    ...more,
    resource,
    authorization_servers: [...authorizationServers],
    bearer_methods_supported: ['header'],
    ...(scopes === undefined ? {} : { scopes_supported: [...scopes] }),
  }
  return {
    name: `protectedResource ${resource}`,
    url: `${origin}${path}`,
    install(host) {
      if (host.prefix !== '')
        throw invalid('protectedResource', `install it on a server, not on group ${host.prefix}: its path is well-known`)
      host.mapGet(path, { use: [requirements.open], summary: 'Protected resource metadata' }, () => document)
    },
  }
}

function isIdentifier(resource: string): boolean {
  if (!URL.canParse(resource)) return false
  const { protocol, hash, search } = new URL(resource)
  return protocol === 'https:' && hash === '' && search === ''
}
