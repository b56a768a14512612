// Which addresses count as one client. A client with IPv6 usually has a whole /64 network, and may use another address for each request.

/**
 * The key of a client's address: an IPv4 address as it is, the /64 network of an IPv6 address, and the IPv4 address in an IPv4-mapped one.
 * What is not an address, such as a name from Forwarded, is its own key.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const groups = groupsOf(address)
  if (groups === null) return address
  const [a, b, c, d, e, f, g, h] = groups as [number, number, number, number, number, number, number, number]
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff) return `${g >> 8}.${g & 255}.${h >> 8}.${h & 255}`
  return `${a.toString(16)}:${b.toString(16)}:${c.toString(16)}:${d.toString(16)}::/64`
}

/** The eight groups of an IPv6 address; null if it is not one. */
function groupsOf(address: string): number[] | null {
  const zone = address.indexOf('%')
  const halves = (zone === -1 ? address : address.slice(0, zone)).split('::')
  const first = groupsIn(halves[0]!)
  const last = halves.length === 2 ? groupsIn(halves[1]!) : []
  if (first === null || last === null || halves.length > 2) return null
  const missing = 8 - first.length - last.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null
  return [...first, ...new Array<number>(missing).fill(0), ...last]
}

function groupsIn(text: string): number[] | null {
  if (text === '') return []
  const groups: number[] = []
  for (const part of text.split(':')) {
    const v4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(part)
    if (v4 !== null) groups.push((Number(v4[1]) << 8) | Number(v4[2]), (Number(v4[3]) << 8) | Number(v4[4]))
    else if (/^[\da-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16))
    else return null
  }
  return groups
}
