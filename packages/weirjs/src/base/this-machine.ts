// Names and addresses of this machine: what is sent to them reaches no other machine.

const LOOPBACK = /^(?:::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/

/** @param address of a socket, as Node writes it */
export function isLoopback(address: string): boolean {
  return LOOPBACK.test(address)
}

/** Whether browsers find the host on their own machine. @param host as `hostName` returns it */
export function isLocalName(host: string): boolean {
  return host.endsWith('.localhost') || isThisMachine(host)
}

/** Whether no one on the way can change what is fetched from the URL: `https:`, or `http:` on this machine. */
export function isSecureUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isThisMachine(hostname))
}

/** Without names below `localhost`: browsers resolve those themselves, but the resolvers of most systems ask other machines. */
function isThisMachine(host: string): boolean {
  return host === 'localhost' || isLoopback(host.replace(/^\[|\]$/g, ''))
}
