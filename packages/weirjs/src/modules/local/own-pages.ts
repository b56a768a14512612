// Which requests come from pages of the server itself. Browsers send a cookie to every port of a host, so its cookie alone does not say so: a page
// of another program on this machine counts as the same site.

import { hostName } from '../../base/host-name.ts'
import { isLocalName } from '../../base/this-machine.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'
import { hostAsked } from '../launch/local-access.ts'

/** Methods that change nothing, as a URL in the address bar sends them. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/**
 * Why a request does not come from the server's own pages, or from a person who opens one; null if it does.
 * @param isExposed whether the server has names other than this machine's
 */
export function foreignness(session: HttpSession, isExposed: boolean): string | null {
  const { method } = session.request
  const { field } = fieldsOf(session)
  const host = hostName(hostAsked(session))
  if (!isExposed && !isLocalName(host)) return `the host is ${JSON.stringify(host.slice(0, 100))}, not a name of this machine`
  const origin = field('origin')
  const site = field('sec-fetch-site')
  // Browsers send Origin: null with a form of a page whose Referrer-Policy is no-referrer, as that of own pages is.
  const isSocket = field('upgrade') !== null || field('sec-websocket-version') !== null
  const isHidden = origin === 'null' && site === 'same-origin' && !isSocket
  if (origin !== null && origin !== session.origin && !isHidden) return `a page of ${JSON.stringify(origin.slice(0, 100))} has sent it`
  if (site === 'same-origin') return null
  // Chromium states `none` for what the speculation rules of a page make it load, also of a page of another program, and sends the cookie.
  if ((site !== null && site !== 'none') || field('sec-purpose') !== null) return 'a page of another site or program has sent it'
  // A WebSocket is open to both sides, and no browser states Sec-Fetch-Site for all of them.
  const isSafe = SAFE.has(method) && !isSocket
  if (isSafe || (site === null && origin !== null)) return null
  return 'nothing says that an own page has sent it'
}

/** Whether a person sees what is sent back: the request opens a page. */
export function opensPage(session: HttpSession): boolean {
  const { request } = session
  const { field } = fieldsOf(session)
  if (!SAFE.has(request.method) || field('accept')?.includes('text/html') !== true) return false
  return [field('sec-fetch-dest') ?? 'document', field('sec-fetch-mode') ?? 'navigate'].join() === 'document,navigate'
}

/** As the client sent them, whatever middleware shows others. */
function fieldsOf(session: HttpSession): { field(name: string): string | null } {
  const handle = exchange(session)
  return { field: (name) => handle.field(name) }
}
