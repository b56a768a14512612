/** Host with an optional port, in lower case and without the port that the scheme has anyway: as the origin of a page has it (RFC 6454 §6.2). */
export function withoutDefaultPort(host: string, isSecure: boolean): string {
  const port = isSecure ? ':443' : ':80'
  return (host.endsWith(port) ? host.slice(0, -port.length) : host).toLowerCase()
}

/** Scheme and host as the origin of a page has them. @param host with an optional port; `localhost` where it is empty */
export function originOf(host: string, isSecure: boolean): string {
  return `${isSecure ? 'https' : 'http'}://${withoutDefaultPort(host || 'localhost', isSecure)}`
}
