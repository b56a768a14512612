// The name under which a client is asked to save what it gets (RFC 6266, RFC 8187).

/**
 * The Content-Disposition of a download called `fileName`. A name is no path: slashes become `_`; control characters go, lone surrogates
 * become U+FFFD. What a quoted string cannot say to every client (RFC 6266 appendix D) stands as `_` in `filename` and exactly in
 * `filename*`, which clients prefer.
 */
export function attachment(fileName: string): string {
  const name = fileName
    .replace(/\p{Cc}/gu, '')
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(/[/\\]/g, '_')
  if (name === '') return 'attachment'
  const fallback = name.replace(/[^ -~]|["%]/gu, '_')
  const plain = `attachment; filename="${fallback}"`
  return fallback === name ? plain : `${plain}; filename*=UTF-8''${extendedValue(name)}`
}

/** RFC 8187 §3.2: all but attr-char is percent-encoded. `encodeURIComponent` leaves four characters too many. */
function extendedValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
