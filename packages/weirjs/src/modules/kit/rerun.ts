// Runs the handler of a request once more without its client, for modules that need another response of it.

import { isIP } from 'node:net'

import { exchangeOf } from '../../http/exchange.ts'
import type { HttpSession } from '../../http/session.ts'
import { derivedHost } from '../../net/connections/derived-host.ts'
import { NoConnection } from '../../net/connections/no-connection.ts'
import { fetchArrival, fetchOn } from '../../net/fetch/fetch-exchange.ts'
import { BasePath } from '../../net/proxies/base-path.ts'
import { type HttpServer, hostOf } from '../../server.ts'

import { runMarks } from './run-marks.ts'

/** Fields about the connection, the body, the conditions and the client's wishes. Proxies are not trusted from within: the URL has the origin. */
const LEFT_OUT =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-.*|range|if-.*|cache-control|pragma|max-forwards|http2-settings|proxy-.*|forwarded|x-forwarded-.*)$/i

/** The parts of a Web Request that `fetch` of a server reads. */
interface PlainRequest {
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: null
  readonly bodyUsed: false
  readonly signal: AbortSignal | undefined
}

/**
 * Sends a request to its server once more, as a GET without a client. It has the client's credentials, because all gates see it, but no fields
 * about the connection, the body, conditions and ranges. Its response is read to its end and dropped. Modules recognize the new exchange by
 * `exchange(session).mark`.
 *
 * @param mark of the new exchange, which no client can set
 * @param hasEnded whether the rest of the body is no longer needed
 * @param signal ends it, as a client that leaves would
 * @throws (rejects) what `server.fetch` does
 */
export async function rerun(session: HttpSession, mark: object, hasEnded: () => boolean, signal?: AbortSignal): Promise<void> {
  const { server, head } = exchangeOf(session)
  const { basePath } = session
  // No proxy is trusted from within: the request cannot state the path again.
  const host = derivedHost(hostOf(server as HttpServer), { basePath: BasePath.of(basePath) })
  const headers: [string, string][] = []
  for (const [name, value] of head.entries()) if (!LEFT_OUT.test(name)) headers.push([name, value])
  const plain: PlainRequest = { method: 'GET', url: session.origin + basePath + head.url, headers, body: null, bodyUsed: false, signal }
  const request = plain as unknown as Request
  const { clientAddress, isSecure, endpoint } = session
  const options = {
    peer: { isSecure, ...(isIP(clientAddress) === 0 ? {} : { address: clientAddress }) },
    ...(endpoint === null ? {} : { endpoint }),
  }
  const connection = new NoConnection(host, fetchArrival('rerun()', host, request, options))
  runMarks.set(connection, mark)
  const response = await fetchOn(connection, request)
  const reader = response.body?.getReader()
  if (reader === undefined) return
  // A module that keeps the body has it once it has been read to its end.
  for (let isOver = false; !isOver && !hasEnded(); ) isOver = (await reader.read()).done
  await reader.cancel()
}
