// Maps the path of a URL to a file below a root, or refuses it. It judges by the text alone and does not access the file system: it refuses
// whatever could lead outside the root, or means different things to different systems. Links are resolved later.

/** Names that Windows reserves for devices, whatever follows a dot. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)/i

/** Text with a special meaning on Windows: streams and drives (`:`), wildcards, and dots and blanks at the end, which Windows removes. */
function meansMoreOnWindows(segment: string): boolean {
  return /[:*?"<>|\u0000-\u001f]/.test(segment) || /[. ]$/.test(segment) || DEVICE.test(segment)
}

/**
 * Returns the path below the root, with slashes. A slash at the end means a directory, and '' is the root itself. Null for paths that are
 * never served: those outside `prefix`, with an empty segment, with a name that begins with a dot and is not in `dotfiles`, with a
 * backslash, NUL, an encoded slash or a drive letter, and on Windows those with a special meaning there.
 *
 * @param path of the URL, decoded once, with `%2F` left in it: `request.path`
 * @param prefix `/` or `/…/`
 */
export function readStaticPath(path: string, prefix: string, dotfiles: ReadonlySet<string>, isWindows: boolean): string | null {
  if (!path.startsWith(prefix)) return null
  const name = path.slice(prefix.length)
  if (name === '') return ''
  if (name.includes('\\') || name.includes('\0') || /%2f/i.test(name)) return null
  const segments = name.split('/')
  if (segments.at(-1) === '') segments.pop()
  for (const segment of segments) {
    if (segment === '' || /^[a-z]:/i.test(segment)) return null
    if (segment.startsWith('.') && !(dotfiles.has(segment) && segment !== '.' && segment !== '..')) return null
    if (isWindows && meansMoreOnWindows(segment)) return null
  }
  return name
}
