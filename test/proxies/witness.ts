// Compares the requests that a server behind a proxy handled with those that the proxy reports to have forwarded.

import type { HttpServer } from '../../packages/weirjs/src/index.ts'

/** A request as the server read it, and what the proxy had added to it. */
export interface Sighting {
  readonly method: string
  readonly url: string
  /** As latin1 text. */
  readonly body: string
  readonly proxyId: string | null
  readonly proxyMethod: string | null
  readonly proxyTarget: string | null
  /** In hexadecimal; null if this proxy does not report it. */
  readonly proxyBody: string | null
  /** The server's connection on which it arrived. */
  readonly connectionId: string
}

/** Responds to everything with the id that it read, and records what it saw. */
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

/** Path and query of a target, whether it is an absolute-form or not. */
function urlOf(target: string): string {
  const rest = /^https?:\/\/[^/?]*(.*)$/is.exec(target)?.[1] ?? target
  return rest.startsWith('/') || rest === '*' ? rest : `/${rest}`
}

/** Everything that the server read differently from the proxy. Empty if the two agree. */
export function disagreements(sightings: readonly Sighting[], bodies: ReadonlyMap<string, string>): string[] {
  const wrong: string[] = []
  const seen = new Set<string>()
  for (const one of sightings) {
    const { method, url, body, proxyId, proxyMethod, proxyTarget, proxyBody } = one
    const complain = (what: string): number => wrong.push(`${what}: ${JSON.stringify(one)}`)
    if (proxyId === null || proxyTarget === null) {
      complain('a request that the proxy did not forward as such')
      continue
    }
    if (seen.has(proxyId)) complain('one request from the proxy was read as two')
    seen.add(proxyId)
    if (method !== proxyMethod) complain('another method')
    if (url !== urlOf(proxyTarget)) complain('another target')
    const meant = proxyBody === null ? bodies.get(proxyId) : Buffer.from(proxyBody, 'hex').toString('latin1')
    if (meant !== undefined && meant !== body) complain(`a different body, which should be ${JSON.stringify(meant)}`)
  }
  return wrong
}

/** Responses that a client got through the proxy, whose id from the proxy differs from the one that the server read. */
export function mismatches(received: string): string[] {
  const responses = received.split(/(?=HTTP\/1\.[01] \d{3} )/)
  return responses.filter((response) => {
    const meant = /^x-proxy-id: (\S+)\r$/im.exec(response)?.[1]
    const read = /\r\n\r\nread (\S+)/.exec(response)?.[1]
    return read !== undefined && read !== meant
  })
}
