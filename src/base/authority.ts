/** Host with an optional port, in lower case and without the port that the scheme has anyway: as the origin of a page has it (RFC 6454 §6.2). */
export function withoutDefaultPort(host: string, isSecure: boolean): string {
  const port = isSecure ? ':443' : ':80'
  return (host.endsWith(port) ? host.slice(0, -port.length) : host).toLowerCase()
}
