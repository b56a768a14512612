// `weirjs/headers`: response fields that tell browsers what a page may do, and who may use it.
//
// The fields are set just before a response is sent, so errors, refusals and files have them too. Their text is made once. Only a nonce, and
// whether the request came over TLS, differ from response to response.

import type { Policy } from '../../app/policies/policy.ts'
import { shown } from '../../base/kind-of.ts'
import { checkNames, flag, invalid, listOf, namesOf, wholeNumber } from '../../base/options.ts'
import type { HttpResponse } from '../../http/answer/response.ts'
import { outgoingOf } from '../../http/answer/response.ts'
import type { HttpSession } from '../../http/session.ts'

import { type ContentSecurityPolicy, CspText } from './content-security-policy.ts'
import { existingNonce } from './nonce.ts'
import { PRESETS, type Preset, type SecurityHeadersPreset, SIMPLE_FIELDS, type SimpleOption } from './presets.ts'

export interface StrictTransportSecurity {
  /** How long browsers use only TLS for this host, in seconds. 0 ends it. Default 31,536,000: a year. */
  readonly maxAge?: number
  /** Whether this includes all subdomains. Default true. */
  readonly includeSubDomains?: boolean
  /** Whether browsers may add the host to the lists that they ship. Requires `includeSubDomains` and a `maxAge` of a year. Default false. */
  readonly preload?: boolean
}

/** Changes to a preset. Every option may be `false`: the field is not sent. Each is called as its field, in camel case. */
export interface SecurityHeadersOptions {
  /** Directives that replace or extend those of the preset. */
  readonly contentSecurityPolicy?: ContentSecurityPolicy | false
  /** Whether browsers only report what the Content-Security-Policy forbids, and allow it. Default false. */
  readonly cspReportOnly?: boolean
  /** Sent only if `session.isSecure`. Default a year, with subdomains. */
  readonly strictTransportSecurity?: StrictTransportSecurity | false
  /** Features of browsers and who may use them: `{ camera: [], geolocation: ['self', 'https://maps.example.com'] }`. Default none. */
  readonly permissionsPolicy?: Readonly<Record<string, readonly string[]>> | false
  readonly crossOriginEmbedderPolicy?: 'require-corp' | 'credentialless' | 'unsafe-none' | false
  readonly crossOriginOpenerPolicy?: 'same-origin' | 'same-origin-allow-popups' | 'noopener-allow-popups' | 'unsafe-none' | false
  readonly crossOriginResourcePolicy?: 'same-origin' | 'same-site' | 'cross-origin' | false
  readonly originAgentCluster?: boolean
  readonly referrerPolicy?:
    | 'no-referrer'
    | 'no-referrer-when-downgrade'
    | 'same-origin'
    | 'origin'
    | 'strict-origin'
    | 'origin-when-cross-origin'
    | 'strict-origin-when-cross-origin'
    | 'unsafe-url'
    | false
  readonly xContentTypeOptions?: boolean
  readonly xDnsPrefetchControl?: 'off' | 'on' | false
  readonly xDownloadOptions?: boolean
  readonly xFrameOptions?: 'DENY' | 'SAMEORIGIN' | false
  readonly xPermittedCrossDomainPolicies?: 'none' | 'master-only' | 'by-content-type' | 'all' | false
  readonly xXssProtection?: boolean
}

const OWNER = 'securityHeaders'
const YEAR_SECONDS = 31_536_000
const OPTION_NAMES = namesOf<SecurityHeadersOptions>()([
  'contentSecurityPolicy',
  'cspReportOnly',
  'strictTransportSecurity',
  'permissionsPolicy',
  'crossOriginEmbedderPolicy',
  'crossOriginOpenerPolicy',
  'crossOriginResourcePolicy',
  'originAgentCluster',
  'referrerPolicy',
  'xContentTypeOptions',
  'xDnsPrefetchControl',
  'xDownloadOptions',
  'xFrameOptions',
  'xPermittedCrossDomainPolicies',
  'xXssProtection',
])
const HSTS_NAMES = namesOf<StrictTransportSecurity>()(['maxAge', 'includeSubDomains', 'preload'])
/** The name of a feature, such as `picture-in-picture`. */
const FEATURE = /^[a-z][a-z0-9-]*$/
/** Who may use a feature: a keyword, or an origin, whose host may begin with `*.`. */
const ALLOWED = /^(?:\*|self|src|[a-z][a-z0-9+.-]*:\/\/[^/?#\s"\\,;]+)$/

/**
 * Returns a policy that adds security fields to responses. A field that a handler has set itself is kept. The policy is called `headers`: on
 * a group or a route, it replaces the outer one.
 *
 * @param preset the fields and values to begin with
 * @throws WEIR_OPTION_INVALID
 */
export function securityHeaders(preset: SecurityHeadersPreset, options: SecurityHeadersOptions = {}): Policy {
  const known = Object.hasOwn(PRESETS, preset) ? PRESETS[preset] : undefined
  if (known === undefined) throw invalid(OWNER, `the preset is ${shown(preset)}, not "page" or "api"`)
  checkNames(OWNER, options, OPTION_NAMES)
  const reportOnly = flag(OWNER, 'cspReportOnly', options.cspReportOnly)
  const cspField = reportOnly ? 'Content-Security-Policy-Report-Only' : 'Content-Security-Policy'
  const csp = cspOf(known, options.contentSecurityPolicy)
  const fields = csp === null ? fieldsOf(known, options) : [cspField, csp.plain, ...fieldsOf(known, options)]
  const hsts = hstsOf(options.strictTransportSecurity)
  const secureFields = hsts === null ? fields : [...fields, 'Strict-Transport-Security', hsts]
  return {
    name: 'headers',
    beforeSend(session: HttpSession, response: HttpResponse): void {
      if (response.content.kind === 'upgrade') return
      const nonce = csp === null ? undefined : existingNonce(session)
      if (nonce !== undefined && response.getHeader(cspField) === null) response.header(cspField, csp!.withNonce(nonce))
      outgoingOf(response).addMissing(session.isSecure ? secureFields : fields)
    },
    describe: () => preset,
  }
}

function cspOf({ contentSecurityPolicy }: Preset, changes: ContentSecurityPolicy | false | undefined): CspText | null {
  if (changes === false) return null
  if (changes !== undefined) checkObject('contentSecurityPolicy', changes)
  return new CspText(OWNER, contentSecurityPolicy, changes ?? {})
}

/** Names and values of all fields that do not depend on the request. */
function fieldsOf(preset: Preset, options: SecurityHeadersOptions): string[] {
  const fields: string[] = []
  for (const option of Object.keys(SIMPLE_FIELDS) as SimpleOption[]) {
    const [field] = SIMPLE_FIELDS[option]
    const value = simpleValue(option, options[option], preset.fields[option])
    if (value !== undefined) fields.push(field, value)
  }
  const permissions = permissionsOf(options.permissionsPolicy)
  return permissions === null ? fields : [...fields, 'Permissions-Policy', permissions]
}

function simpleValue(option: SimpleOption, value: string | boolean | undefined, byDefault: string | undefined): string | undefined {
  if (value === undefined) return byDefault
  const [, ...values]: readonly string[] = SIMPLE_FIELDS[option]
  if (values.length === 1) return flag(OWNER, option, value as boolean) ? values[0] : undefined
  if (value === false) return undefined
  if (typeof value === 'string' && values.includes(value)) return value
  throw invalid(OWNER, `${option} is ${shown(value)}, not ${values.map((one) => JSON.stringify(one)).join(', ')} or false`)
}

function hstsOf(options: StrictTransportSecurity | false | undefined): string | null {
  if (options === false) return null
  if (options !== undefined) checkObject('strictTransportSecurity', options)
  checkNames(`${OWNER}: strictTransportSecurity`, options ?? {}, HSTS_NAMES)
  const maxAge = wholeNumber(OWNER, 'maxAge', options?.maxAge ?? YEAR_SECONDS)
  const includesSubDomains = options?.includeSubDomains === undefined || flag(OWNER, 'includeSubDomains', options.includeSubDomains)
  const preload = flag(OWNER, 'preload', options?.preload)
  if (preload && (!includesSubDomains || maxAge < YEAR_SECONDS))
    throw invalid(OWNER, `preload needs includeSubDomains and a maxAge of at least ${YEAR_SECONDS}: browsers would not list the host`)
  return `max-age=${maxAge}${includesSubDomains ? '; includeSubDomains' : ''}${preload ? '; preload' : ''}`
}

/** A structured field: `camera=(), geolocation=(self "https://maps.example.com")`. */
function permissionsOf(features: Readonly<Record<string, readonly string[]>> | false | undefined): string | null {
  if (features === undefined || features === false) return null
  checkObject('permissionsPolicy', features)
  const members = Object.entries(features).map(([feature, allowed]) => {
    if (!FEATURE.test(feature)) throw invalid(OWNER, `permissionsPolicy: ${JSON.stringify(feature)} is not the name of a feature`)
    for (const one of listOf<unknown>(OWNER, `${feature} of permissionsPolicy`, allowed))
      if (typeof one !== 'string' || !ALLOWED.test(one))
        throw invalid(OWNER, `${feature} of permissionsPolicy: ${shown(one)} is not "*", "self", "src" or an origin`)
    return `${feature}=(${allowed.map((one) => (one.includes(':') ? `"${one}"` : one)).join(' ')})`
  })
  if (members.length === 0) throw invalid(OWNER, 'permissionsPolicy has no feature: write false to send none')
  return members.join(', ')
}

function checkObject(option: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(OWNER, `${option} is ${shown(value)}, not an object or false`)
}
