// `weirjs/headers`: response fields that tell browsers what a page may do, and who may use it.
//
// The fields are set just before a response is sent, so errors, refusals and files have them too. Their text is made once. Only a nonce, and
// whether the request came over TLS, differ from response to response.

import type { Policy } from '../../app/policies/policy.ts'
import type { Duration } from '../../base/duration.ts'
import { shown } from '../../base/kind-of.ts'
import { duration, flag, nested, object, oneOf, readBy, texts } from '../../base/option-kinds.ts'
import { type Rule, rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { responseHandle } from '../kit/response.ts'

import { type ContentSecurityPolicy, CspText } from './content-security-policy.ts'
import { existingNonce } from './nonce.ts'
import { PRESETS, type Preset, type SecurityHeadersPreset, SIMPLE_FIELDS, type SimpleOption } from './presets.ts'

interface StrictTransportSecurity {
  /**
   * How long browsers use only TLS for this host, in whole seconds: `'365d'`, the default. 0 ends it. A number is milliseconds, of at least a
   * day.
   */
  readonly maxAge?: Duration
  /** Whether this includes all subdomains. Default true. */
  readonly includeSubDomains?: boolean
  /** Whether browsers may add the host to the lists that they ship. Requires `includeSubDomains` and a `maxAge` of a year. Default false. */
  readonly preload?: boolean
}

/** Changes to a preset. Every option may be `false`: the field is not sent. Each is called as its field, in camel case. */
export interface SecurityHeadersOptions {
  /** Directives that replace or extend the preset's. */
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
const SECOND_MS = 1_000
const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS
/** @internal */
export const HSTS_RULES = rules<StrictTransportSecurity>(OWNER)({
  // A short time weakens the protection of a host unnoticed.
  maxAge: duration({ least: 0, unit: SECOND_MS, most: 10 * 366 * DAY_MS, leastNumber: DAY_MS }).or('365d'),
  includeSubDomains: flag(true),
  preload: flag(false),
})

/** The rule of a field with a fixed set of values. */
function simple<O extends SimpleOption>(option: O) {
  const [, ...values] = SIMPLE_FIELDS[option] as readonly string[]
  const rule = values.length === 1 ? oneOf(true, false) : oneOf<string | boolean>(...values, false)
  return rule.optional('of the preset') as Rule<NonNullable<SecurityHeadersOptions[O]>, string | boolean | undefined>
}

/** @internal */
export const SECURITY_HEADERS_RULES = rules<SecurityHeadersOptions>(OWNER)({
  contentSecurityPolicy: object().also(false).optional('of the preset'),
  cspReportOnly: flag(false),
  strictTransportSecurity: readBy(checkedHsts).or({}, 'a year, all subdomains'),
  permissionsPolicy: object().also(false).or(false, 'none'),
  crossOriginEmbedderPolicy: simple('crossOriginEmbedderPolicy'),
  crossOriginOpenerPolicy: simple('crossOriginOpenerPolicy'),
  crossOriginResourcePolicy: simple('crossOriginResourcePolicy'),
  originAgentCluster: simple('originAgentCluster'),
  referrerPolicy: simple('referrerPolicy'),
  xContentTypeOptions: simple('xContentTypeOptions'),
  xDnsPrefetchControl: simple('xDnsPrefetchControl'),
  xDownloadOptions: simple('xDownloadOptions'),
  xFrameOptions: simple('xFrameOptions'),
  xPermittedCrossDomainPolicies: simple('xPermittedCrossDomainPolicies'),
  xXssProtection: simple('xXssProtection'),
})
/** The name of a feature, such as `picture-in-picture`. */
const FEATURE = /^[a-z][a-z0-9-]*$/
/** Who may use a feature: a keyword, or an origin, whose host may begin with `*.`. */
const ALLOWED = /^(?:\*|self|src|[a-z][a-z0-9+.-]*:\/\/[^/?#\s"\\,;]+)$/

const ALLOWED_LIST = texts('"*", "self", "src" or an origin', (one) => ALLOWED.test(one))

/**
 * Returns a policy that adds security fields to responses. A field that a handler has set itself is kept. The policy is called `headers`: on
 * a group or a route, it replaces the outer one.
 *
 * @param preset the fields and values to begin with
 * @throws WEIR_OPTION_INVALID
 */
export function securityHeaders<P extends SecurityHeadersPreset | (string & {}) | object>(
  preset: P extends SecurityHeadersPreset ? P : "the first argument is 'page' or 'api', and the second has the options",
  options?: SecurityHeadersOptions,
): Policy
export function securityHeaders(preset: SecurityHeadersPreset, options: SecurityHeadersOptions = {}): Policy {
  const known = Object.hasOwn(PRESETS, preset) ? PRESETS[preset] : undefined
  if (known === undefined) throw invalid(OWNER, `the preset is ${shown(preset)}, not "page" or "api"`)
  const given = SECURITY_HEADERS_RULES.read(options)
  const cspField = given.cspReportOnly ? 'Content-Security-Policy-Report-Only' : 'Content-Security-Policy'
  const { contentSecurityPolicy: changes = {} } = given
  const csp = changes === false ? null : new CspText(OWNER, known.contentSecurityPolicy, changes)
  const fields = csp === null ? fieldsOf(known, given) : [cspField, csp.plain, ...fieldsOf(known, given)]
  const hsts = hstsOf(given.strictTransportSecurity)
  const secureFields = hsts === null ? fields : [...fields, 'Strict-Transport-Security', hsts]
  return {
    name: 'headers',
    beforeSend(session: HttpSession, response: HttpResponse): void {
      if (response.content.kind === 'upgrade') return
      const nonce = csp === null ? undefined : existingNonce(session)
      if (nonce !== undefined && response.getHeader(cspField) === null) response.header(cspField, csp!.withNonce(nonce))
      responseHandle(response).addMissing(session.isSecure ? secureFields : fields)
    },
    describe: () => preset,
  }
}

/** Names and values of all fields that do not depend on the request. */
function fieldsOf(preset: Preset, options: typeof SECURITY_HEADERS_RULES.settings): string[] {
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
  if (value === false) return undefined
  return value === true ? SIMPLE_FIELDS[option][1] : value
}

/** @throws WEIR_OPTION_INVALID */
function checkedHsts(options: StrictTransportSecurity | false, owner: string, option: string): typeof HSTS_RULES.settings | false {
  if (options === false) return false
  const settings = nested(HSTS_RULES, 'an object or false').read(options, { owner, option })
  const { maxAge, includeSubDomains, preload } = settings
  if (preload && (!includeSubDomains || maxAge < YEAR_MS))
    throw invalid(owner, 'preload needs includeSubDomains and a maxAge of at least a year: browsers would not list the host')
  return settings
}

function hstsOf(settings: typeof HSTS_RULES.settings | false): string | null {
  if (settings === false) return null
  const { maxAge, includeSubDomains, preload } = settings
  return `max-age=${maxAge / SECOND_MS}${includeSubDomains ? '; includeSubDomains' : ''}${preload ? '; preload' : ''}`
}

/** A structured field: `camera=(), geolocation=(self "https://maps.example.com")`. */
function permissionsOf(features: Readonly<Record<string, readonly string[]>> | false): string | null {
  if (features === false) return null
  const members = Object.entries(features).map(([feature, allowed]) => {
    if (!FEATURE.test(feature)) throw invalid(OWNER, `permissionsPolicy: ${JSON.stringify(feature)} is not the name of a feature`)
    ALLOWED_LIST.read(allowed, { owner: OWNER, option: `${feature} of permissionsPolicy` })
    return `${feature}=(${allowed.map((one) => (one.includes(':') ? `"${one}"` : one)).join(' ')})`
  })
  if (members.length === 0) throw invalid(OWNER, 'permissionsPolicy has no feature: write false to send none')
  return members.join(', ')
}
