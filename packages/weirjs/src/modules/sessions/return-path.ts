// The address to which a login returns. It comes from the client, so it must not lead to another site.

const MAX_CHARACTERS = 2_048
/** Controls, which browsers remove from addresses, and backslashes, which they read as slashes. */
const MISLEADING = /[\u0000-\u001f\u007f\\]/
const BASE = 'http://weir.invalid'

/**
 * Returns a path of this server, with its query and fragment, in the form in which it can be sent in Location. Anything else becomes `instead`:
 * an address of another site in any form (`https://evil.example`, `//evil.example`, `/\evil.example`, `/%0a/…` as decoded text), a relative
 * path, more than 2,048 characters, or null.
 * @param text decoded, such as a query parameter; null without one
 */
export function returnPath(text: string | null | undefined, instead = '/'): string {
  if (typeof text !== 'string' || text.length > MAX_CHARACTERS || !/^\/(?!\/)/.test(text) || MISLEADING.test(text)) return instead
  if (!URL.canParse(text, BASE)) return instead
  const { origin, pathname, search, hash } = new URL(text, BASE)
  // `/.//evil.example` is a path of this server, but what remains of it without the dot is not.
  return origin !== BASE || pathname.startsWith('//') ? instead : pathname + search + hash
}
