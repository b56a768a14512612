/**
 * The name or address in a Host with an optional port: in lower case, and without the dot of the DNS root. Hosts are always compared in
 * this form.
 */
export function hostName(host: string): string {
  const colon = host.lastIndexOf(':')
  const name = (colon === -1 || host.endsWith(']') ? host : host.slice(0, colon)).toLowerCase()
  return name.endsWith('.') ? name.slice(0, -1) : name
}
