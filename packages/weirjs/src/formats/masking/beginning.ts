// Bounds how much of a client's text is logged. The text may be a whole head, which costs the client a few bytes over HTTP/2, whereas the server
// searches each of its characters for secrets, escapes it and writes it.

/** URLs of browsers and other clients are shorter. */
const MOST_CHARS = 4_096
/** How many more characters are searched than written: a text may be secret because of what follows it. */
const BEHIND_CHARS = 512

/** The part of a text that is searched for secrets. */
export function beginningOf(text: string): string {
  return text.length <= MOST_CHARS ? text : text.slice(0, MOST_CHARS + BEHIND_CHARS)
}

/** The part that is written. @param masked what `beginningOf` has returned, without its secrets */
export function writtenOf(text: string, masked: string): string {
  return text.length <= MOST_CHARS ? masked : `${masked.slice(0, -BEHIND_CHARS)}...`
}
