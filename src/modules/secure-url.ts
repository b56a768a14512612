// Which addresses may tell a server who its clients are.

const THIS_MACHINE = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

/** Whether nobody can change on the way what is fetched from there: `https:`, or `http:` on this machine. */
export function isSecureUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && THIS_MACHINE.test(hostname))
}
