// Runs a handler without a client: the request that found a stale response is sent to the server once more, from within.

import { isIP } from 'node:net'

import type { Exchange } from '../../http/exchange.ts'

/** Names the run. A client that does not know the number of a run cannot start one. */
export const REFRESH_FIELD = 'weir-cache-refresh'

/** Fields about the connection, the body, the conditions and the client's wishes. Proxies are not trusted from within: the URL has the origin. */
const LEFT_OUT =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-.*|range|if-.*|cache-control|pragma|max-forwards|http2-settings|proxy-.*|forwarded|x-forwarded-.*|weir-cache-refresh)$/i

interface Fetching {
  fetch(request: unknown, options: unknown): Promise<Response>
}

/** The parts of a Web Request that `server.fetch` reads. */
interface PlainRequest {
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: null
  readonly bodyUsed: false
  readonly signal: undefined
}

/**
 * Sends the request of an exchange again. All gates see it, so it has the fields with which the client has authenticated itself.
 *
 * @param hasEnded whether the rest of the body is no longer needed
 * @throws (rejects) what `server.fetch` does
 */
export async function runAgain({ server, head, session }: Exchange, token: string, hasEnded: () => boolean): Promise<void> {
  const headers: [string, string][] = [[REFRESH_FIELD, token]]
  for (const [name, value] of head.entries()) if (!LEFT_OUT.test(name)) headers.push([name, value])
  const request: PlainRequest = {
    method: 'GET',
    url: session.origin + head.url,
    headers,
    body: null,
    bodyUsed: false,
    signal: undefined,
  }
  const { clientAddress, isSecure, endpoint } = session
  const options = {
    peer: { isSecure, ...(isIP(clientAddress) === 0 ? {} : { address: clientAddress }) },
    ...(endpoint === null ? {} : { endpoint }),
  }
  const response = await (server as unknown as Fetching).fetch(request, options)
  const reader = response.body?.getReader()
  if (reader === undefined) return
  // A body is kept when it has been read to its end.
  for (let isOver = false; !isOver && !hasEnded(); ) isOver = (await reader.read()).done
  await reader.cancel()
}
