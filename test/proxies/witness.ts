// What a server behind a proxy says of the requests that it handled, held against what the proxy says that it forwarded.

import type { HttpServer } from '../../src/index.ts'

/** A request as the server read it, and what the proxy had written on it. */
export interface Sighting {
  readonly method: string
  readonly url: string
  /** As latin1 text. */
  readonly body: string
  readonly proxyId: string | null
  readonly proxyMethod: string | null
  readonly proxyTarget: string | null
  /** In hexadecimal, or null where this proxy does not say. */
  readonly proxyBody: string | null
  /** The server's connection on which it came. */
  readonly connectionId: string
}

/** Answers everything with the id that it read, and notes what it saw. */
export function mapWitness(server: HttpServer): Sighting[] {
  const sightings: Sighting[] = []
  server.use(({ request, connectionId }, next) => {
    const { method, url } = request
    const field = (name: string): string | null => request.header(name)
    sightings.push({
      method,
      url,
      body: Buffer.from(request.bodyBytes).toString('latin1'),
      proxyId: field('x-proxy-id'),
      proxyMethod: field('x-proxy-method'),
      proxyTarget: field('x-proxy-target'),
      proxyBody: field('x-proxy-body'),
      connectionId,
    })
    return next()
  })
  const answer = (id: string | null): string => `read ${id ?? 'no id'}`
  server.map(null, '/', { body: 'buffer' }, (_, { request }) => answer(request.header('x-proxy-id')))
  server.map(null, '/*path', { body: 'buffer' }, (_, { request }) => answer(request.header('x-proxy-id')))
  return sightings
}

/** Path and query of a target, be it an absolute-form or not. */
function urlOf(target: string): string {
  const rest = /^https?:\/\/[^/?]*(.*)$/is.exec(target)?.[1] ?? target
  return rest.startsWith('/') || rest === '*' ? rest : `/${rest}`
}

/** Everything that the server read otherwise than the proxy meant it. Empty when the two agree. */
export function disagreements(sightings: readonly Sighting[], bodies: ReadonlyMap<string, string>): string[] {
  const wrong: string[] = []
  const seen = new Set<string>()
  for (const one of sightings) {
    const { method, url, body, proxyId, proxyMethod, proxyTarget, proxyBody } = one
    const complain = (what: string): number => wrong.push(`${what}: ${JSON.stringify(one)}`)
    if (proxyId === null || proxyTarget === null) {
      complain('a request that the proxy did not forward as one')
      continue
    }
    if (seen.has(proxyId)) complain('one request of the proxy was read as two')
    seen.add(proxyId)
    if (method !== proxyMethod) complain('another method')
    if (url !== urlOf(proxyTarget)) complain('another target')
    const meant = proxyBody === null ? bodies.get(proxyId) : Buffer.from(proxyBody, 'hex').toString('latin1')
    if (meant !== undefined && meant !== body) complain(`another body, which was to be ${JSON.stringify(meant)}`)
  }
  return wrong
}

/** Answers that a client got through the proxy, each with the proxy's id and the one that the server read. */
export function mismatches(received: string): string[] {
  const answers = received.split(/(?=HTTP\/1\.[01] \d{3} )/)
  return answers.filter((answer) => {
    const meant = /^x-proxy-id: (\S+)\r$/im.exec(answer)?.[1]
    const read = /\r\n\r\nread (\S+)/.exec(answer)?.[1]
    return read !== undefined && read !== meant
  })
}
