/** A host with an optional port, in lower case and without the default port of the scheme, as in the origin of a page (RFC 6454 §6.2). */
export function withoutDefaultPort(host: string, isSecure: boolean): string {
  const port = isSecure ? ':443' : ':80'
  return (host.endsWith(port) ? host.slice(0, -port.length) : host).toLowerCase()
}

/** Scheme and host, as in the origin of a page. @param host with an optional port; if it is empty, `localhost` */
export function originOf(host: string, isSecure: boolean): string {
  return `${isSecure ? 'https' : 'http'}://${withoutDefaultPort(host || 'localhost', isSecure)}`
}
