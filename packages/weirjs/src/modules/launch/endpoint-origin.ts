// The beginning of links to an endpoint.

import type { Endpoint } from '../../http/session.ts'

/** The origin that a browser on this machine uses. Not for a Unix socket. */
export function endpointOrigin({ address, port, isSecure }: Endpoint): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '[::1]' : address.includes(':') ? `[${address}]` : address
  return `${isSecure ? 'https' : 'http'}://${host}:${port}`
}
