// The fields of each preset. Options have the names of the fields, in camel case.

import type { ContentSecurityPolicy } from './content-security-policy.ts'

/** `page`: a server of HTML pages. `api`: a server of data, whose responses are never shown as a page. */
export type SecurityHeadersPreset = 'page' | 'api'

/** Fields with a fixed set of values. An option with one value is true or false. */
export const SIMPLE_FIELDS = {
  crossOriginEmbedderPolicy: ['Cross-Origin-Embedder-Policy', 'require-corp', 'credentialless', 'unsafe-none'],
  crossOriginOpenerPolicy: [
    'Cross-Origin-Opener-Policy',
    'same-origin',
    'same-origin-allow-popups',
    'noopener-allow-popups',
    'unsafe-none',
  ],
  crossOriginResourcePolicy: ['Cross-Origin-Resource-Policy', 'same-origin', 'same-site', 'cross-origin'],
  originAgentCluster: ['Origin-Agent-Cluster', '?1'],
  referrerPolicy: [
    'Referrer-Policy',
    'no-referrer',
    'no-referrer-when-downgrade',
    'same-origin',
    'origin',
    'strict-origin',
    'origin-when-cross-origin',
    'strict-origin-when-cross-origin',
    'unsafe-url',
  ],
  xContentTypeOptions: ['X-Content-Type-Options', 'nosniff'],
  xDnsPrefetchControl: ['X-DNS-Prefetch-Control', 'off', 'on'],
  xDownloadOptions: ['X-Download-Options', 'noopen'],
  xFrameOptions: ['X-Frame-Options', 'DENY', 'SAMEORIGIN'],
  xPermittedCrossDomainPolicies: ['X-Permitted-Cross-Domain-Policies', 'none', 'master-only', 'by-content-type', 'all'],
  xXssProtection: ['X-XSS-Protection', '0'],
} as const

export type SimpleOption = keyof typeof SIMPLE_FIELDS

export interface Preset {
  readonly contentSecurityPolicy: ContentSecurityPolicy
  /** Options that are missing send no field. */
  readonly fields: { readonly [O in SimpleOption]?: string }
}

/** Strict-Transport-Security is the same in all presets, and has its own option. */
export const PRESETS: Readonly<Record<SecurityHeadersPreset, Preset>> = {
  /** The defaults of helmet 8. */
  page: {
    contentSecurityPolicy: {
      'default-src': ["'self'"],
      'base-uri': ["'self'"],
      'font-src': ["'self'", 'https:', 'data:'],
      'form-action': ["'self'"],
      'frame-ancestors': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'object-src': ["'none'"],
      'script-src': ["'self'"],
      'script-src-attr': ["'none'"],
      'style-src': ["'self'", 'https:', "'unsafe-inline'"],
      'upgrade-insecure-requests': true,
    },
    fields: {
      crossOriginOpenerPolicy: 'same-origin',
      crossOriginResourcePolicy: 'same-origin',
      originAgentCluster: '?1',
      referrerPolicy: 'no-referrer',
      xContentTypeOptions: 'nosniff',
      xDnsPrefetchControl: 'off',
      xDownloadOptions: 'noopen',
      xFrameOptions: 'SAMEORIGIN',
      xPermittedCrossDomainPolicies: 'none',
      xXssProtection: '0',
    },
  },
  /** What OWASP recommends for REST, without Cache-Control: whether a response may be stored is a decision of its route. */
  api: {
    contentSecurityPolicy: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    fields: {
      crossOriginResourcePolicy: 'same-origin',
      referrerPolicy: 'no-referrer',
      xContentTypeOptions: 'nosniff',
      xFrameOptions: 'DENY',
    },
  },
}
