// The fields Authorization and WWW-Authenticate (RFC 9110 §11).

import { WeirError } from '../../base/errors.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'

/** The text after the name of the scheme in Authorization; null if the field is missing or has another scheme. The case of the name does not matter. */
export function credentialsOf(session: HttpSession, scheme: string): string | null {
  const value = exchange(session).field('authorization')
  if (value === null || value.length < scheme.length) return null
  const end = value.indexOf(' ')
  const name = end === -1 ? value : value.slice(0, end)
  if (name !== scheme && name.toLowerCase() !== scheme.toLowerCase()) return null
  return end === -1 ? '' : value.slice(end).trimStart()
}

/** A challenge with its parameters as quoted strings. Those without a value are left out. */
export function challengeOf(scheme: string, parameters: Readonly<Record<string, string | null>>): string {
  const known = Object.entries(parameters).filter(([, value]) => value !== null)
  return `${scheme} ${known.map(([name, value]) => `${name}=${quoted(ascii(value!))}`).join(', ')}`.trimEnd()
}

/** Fields hold ASCII without controls; anything else becomes a question mark. */
function ascii(text: string): string {
  return text.replace(/[^\t\x20-\x7e]/g, '?')
}

/** For credentials that were sent without TLS: 403. A challenge would only make the client send them again. */
export function insecureCredentials(): WeirError {
  return new WeirError('WEIR_CREDENTIALS_INSECURE', undefined, { headers: { 'Cache-Control': 'no-store' } })
}

/** A quoted-string (RFC 9110 §5.6.4). @param text printable ASCII */
function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
