// Which requests come from pages of the server itself. Browsers send a cookie to every port of a host, so its cookie alone does not say so: a page
// of another program on this machine counts as the same site.

import { hostName } from '../../base/host-name.ts'
import { isLocalName } from '../../base/this-machine.ts'
import { headerOf } from '../../http/request/request.ts'
import type { HttpSession } from '../../http/session.ts'
import { hostAsked } from '../launch/local-access.ts'

/** What changes nothing, so that a person may ask for it in the bar for addresses. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/**
 * Why a request is not one of an own page, or of a person who opens one; null if it is.
 * @param isExposed whether the server has other names than those of this machine
 */
export function foreignness(session: HttpSession, isExposed: boolean): string | null {
  const { request } = session
  const host = hostName(hostAsked(session))
  if (!isExposed && !isLocalName(host)) return `the host is ${JSON.stringify(host.slice(0, 100))}, not a name of this machine`
  const origin = headerOf(request, 'origin')
  if (origin !== null && origin !== session.origin) return `a page of ${JSON.stringify(origin.slice(0, 100))} has sent it`
  const site = headerOf(request, 'sec-fetch-site')
  if (site === 'same-origin') return null
  if (site !== null && site !== 'none') return 'a page of another site or program has sent it'
  // A WebSocket is open to both sides, and no browser states Sec-Fetch-Site for all of them.
  const isSafe = SAFE.has(request.method) && headerOf(request, 'upgrade') === null && headerOf(request, 'sec-websocket-version') === null
  if (isSafe || (site === null && origin !== null)) return null
  return 'nothing says that an own page has sent it'
}

/** Whether a person sees what is sent back: the request opens a page. */
export function opensPage({ request }: HttpSession): boolean {
  if (!SAFE.has(request.method) || headerOf(request, 'accept')?.includes('text/html') !== true) return false
  return (
    [headerOf(request, 'sec-fetch-dest') ?? 'document', headerOf(request, 'sec-fetch-mode') ?? 'navigate'].join() === 'document,navigate'
  )
}
