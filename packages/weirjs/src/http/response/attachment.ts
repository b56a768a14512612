// The file name under which a client should save a download (RFC 6266, RFC 8187).

/**
 * The Content-Disposition of a download called `fileName`. The name is not a path: slashes become `_`, control characters are removed, and
 * lone surrogates become U+FFFD. Characters that some clients cannot read in a quoted string (RFC 6266 appendix D) become `_` in
 * `filename`, and are sent exactly in `filename*`, which clients prefer.
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

/** Percent-encodes everything but attr-char (RFC 8187 §3.2). `encodeURIComponent` leaves four characters too many. */
function extendedValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
