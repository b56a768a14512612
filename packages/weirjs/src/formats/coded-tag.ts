// The entity tags of one state in several content codings. Each has a tag of its own (RFC 9110 §8.8.3.3): `"v1"` is for the content as it is, and
// `"v1~gzip"` for the same state in gzip. A client sends back the tag that it received, and both tags name the same state.

/** Codings that a server makes of a response. Others make a tag weak: a text after `~` may be the program's own. */
const SUFFIX = /~(br|dcz|deflate|gzip|zstd)"$/

/** The tag of the same state in this coding. It is weak if the other tag is, or if the coding is not known. */
export function codedTag(tag: string, coding: string): string {
  if (!tag.startsWith('"')) return tag
  const coded = `${tag.slice(0, -1)}~${coding}"`
  return SUFFIX.test(coded) ? coded : `W/${tag}`
}

/** The tag and the coding that a coded tag consists of; null for any other tag. */
export function readCodedTag(tag: string): { readonly tag: string; readonly coding: string } | null {
  const found = SUFFIX.exec(tag)
  return found === null ? null : { tag: `${tag.slice(0, found.index)}"`, coding: found[1]! }
}
