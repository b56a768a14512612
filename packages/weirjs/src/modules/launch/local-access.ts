// Decides which clients may use a page: programs on this machine, or every client of the endpoint that the page is bound to.
//
// A page of another site can make a browser on this machine send requests here, and can even give its own name an address of this machine (DNS
// rebinding). So the Host has to be a name of this machine, and browsers must not state that another site asks: in Sec-Fetch-Site, which they leave
// out where HTTP is not secure, or in Origin.

import { hostName } from '../../base/host-name.ts'
import { isLocalName, isLoopback } from '../../base/this-machine.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'

/** Fields that reveal a proxy, whose requests do not come from this machine. */
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'] as const

/**
 * Why a request is refused; null if it may have what it asks for.
 * @param endpoint name of the endpoint that may be used from anywhere; null for none
 * @param hosts further names of this machine, in lower case
 */
export function refusalOf(session: HttpSession, endpoint: string | null, hosts: readonly string[]): string | null {
  const { request } = session
  const { peer, clientAddress } = exchange(session)
  if (endpoint === null) {
    if (!isLoopback(peer.address)) return `the peer is ${peer.address || 'not known'}, not this machine`
    if (!isLoopback(clientAddress)) return `the client is ${clientAddress}, not this machine`
    const field = FORWARDED.find((name) => request.header(name) !== null)
    if (field !== undefined) return `it was forwarded: it has the field ${field}`
  }
  const authority = hostAsked(session)
  const host = hostName(authority)
  if (!hosts.includes(host) && !(endpoint === null ? isLocalName(host) : isLocalName(host) || isAddress(host)))
    return `the host is ${JSON.stringify(host.slice(0, 100))}, not a name of this machine`
  const site = request.header('sec-fetch-site')
  // Chromium states `none` for what the speculation rules of any page make it load.
  const isOpened = site === null || site === 'none'
  if (site !== 'same-origin' && (!isOpened || request.header('sec-purpose') !== null)) return 'a page of another site has sent it'
  const origin = request.header('origin')
  // Without its scheme: a proxy may have decrypted the request.
  if (origin !== null && origin.replace(/^https?:\/\//, '') !== authority.toLowerCase())
    return `a page of ${JSON.stringify(origin.slice(0, 100))} has sent it`
  return null
}

/** The host of the request itself, which `refusalOf` has checked, with its port. In HTTP/2, a request may have no Host: its authority is here too. */
export function hostAsked(session: HttpSession): string {
  return exchange(session).statedHost
}

/** No other site can have an address as its name. */
function isAddress(host: string): boolean {
  return /^\d{1,3}(?:\.\d{1,3}){3}$/.test(host) || /^\[[0-9a-f:.]+\]$/.test(host)
}
