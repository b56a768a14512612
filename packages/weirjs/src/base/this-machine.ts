// Names and addresses of this machine: what is sent there reaches no other.

const LOOPBACK = /^(?:::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/

/** @param address of a socket, as Node writes it */
export function isLoopback(address: string): boolean {
  return LOOPBACK.test(address)
}

/** Whether browsers find the host on their own machine. @param host as `hostName` returns it */
export function isLocalName(host: string): boolean {
  return host.endsWith('.localhost') || isThisMachine(host)
}

/** Whether what is fetched from there cannot be changed on its way: `https:`, or `http:` on this machine. */
export function isSecureUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isThisMachine(hostname))
}

/** Not a name below `localhost`: browsers know those, but the resolvers of most systems ask others for them. */
function isThisMachine(host: string): boolean {
  return host === 'localhost' || isLoopback(host.replace(/^\[|\]$/g, ''))
}
