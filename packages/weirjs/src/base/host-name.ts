/**
 * A name of 255 characters, as much as RFC 3986 §3.2.2 recommends, and a port. URL parsers take quadratic time for some names: half a second for
 * one of 56 KB.
 */
export const MAX_AUTHORITY_CHARACTERS = 255 + ':65535'.length

/**
 * The name or address in a Host with an optional port: in lower case, and without the dot of the DNS root. Hosts are always compared in
 * this form.
 */
export function hostName(host: string): string {
  const colon = host.lastIndexOf(':')
  const name = (colon === -1 || host.endsWith(']') ? host : host.slice(0, colon)).toLowerCase()
  return name.endsWith('.') ? name.slice(0, -1) : name
}
