// How much of a text of a client is written down. It may be a whole head, which costs the client a few bytes over HTTP/2, while each of its characters
// is searched for secrets, escaped and written.

/** A URL that browsers and other clients send has less. */
const MOST_CHARS = 4_096
/** What is searched and not written: something may be secret because of what follows it. */
const BEHIND_CHARS = 512

/** What is searched for secrets. */
export function beginningOf(text: string): string {
  return text.length <= MOST_CHARS ? text : text.slice(0, MOST_CHARS + BEHIND_CHARS)
}

/** What is written. @param masked what `beginningOf` has returned, without its secrets */
export function writtenOf(text: string, masked: string): string {
  return text.length <= MOST_CHARS ? masked : `${masked.slice(0, -BEHIND_CHARS)}...`
}
