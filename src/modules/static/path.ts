// Which file a path of a URL names below a root, or that it names none. Nothing here asks the file system: what could lead out of the root,
// or means different things to different systems, is refused by its text alone. Where links lead is looked at later.

/** Names that Windows gives to devices, whatever follows a dot. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)/i

/** What a Windows file system reads in another way: streams and drives (`:`), wildcards, and dots and blanks at the end, which it drops. */
function meansMoreOnWindows(segment: string): boolean {
  return /[:*?"<>|\u0000-\u001f]/.test(segment) || /[. ]$/.test(segment) || DEVICE.test(segment)
}

/**
 * The path below the root, with slashes; a slash at the end stands for a directory, and the root itself is ''. Null for what is never
 * served: other paths than those below `prefix`, empty segments, names that begin with a dot unless they are among `dotfiles`, a backslash,
 * NUL, an encoded slash, a drive letter; on Windows what has a meaning of its own there.
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
