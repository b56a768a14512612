// Fields whose values may be secrets. HTTP/2 keeps them in no table that outlives a message or is shared (RFC 7541 §7.1.3).

const NAMES = new Set(['authorization', 'cookie', 'proxy-authorization', 'set-cookie'])

/** In lower case. */
export const SECRET_FIELDS: ReadonlySet<string> = NAMES

/** Called when a route declares a field as secret. From then on, the field counts as secret in all requests and responses. @param name in lower case */
export function markSecretField(name: string): void {
  NAMES.add(name)
}
