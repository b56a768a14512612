// The server asks itself: about a request (`explain`), and with one (`fetch`), both without a connection.

import { HttpError, type HttpServer, t } from 'weirjs'

/** A path, with its query. */
const target = t.string.pattern(/^\/[^\s#]*$/).max(500)
/** `Accept: text/html` */
const field = t.string.pattern(/^[\w-]+: [\x20-\x7e]*$/)
const OWN = /^\/(?:explain|inside)\b/

export function mapInside(server: HttpServer): void {
  const asked = {
    method: t.enum('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'),
    target,
    field: t.array(field.max(500)).max(10).default([]),
    content: t.string.max(2000).optional(),
    summary: 'Explains a request',
  }
  server.mapGet('/explain', asked, async ({ method, target, field, content }, session) => {
    const peer = { address: session.peer.address }
    const headers = Object.fromEntries(field.map((one) => one.split(/: (.*)/, 2)))
    return String(
      await server.explain({ method, url: encoded(target), headers, peer, ...(content === undefined ? {} : { body: content }) }),
    )
  })

  server.mapGet('/inside', { target, summary: 'Sends a request to itself' }, async ({ target }) => {
    if (OWN.test(target)) throw new HttpError(400, 'The server does not ask itself to ask itself.')
    const response = await server.fetch(new Request(`http://inside.example${encoded(target)}`), { peer: { address: '192.0.2.1' } })
    const { status, headers } = response
    return { status, contentType: headers.get('content-type'), firstPiece: await firstPiece(response) }
  })
}

/** As a browser sends it. */
function encoded(target: string): string {
  return target.replace(/[^\x21-\x7e]+/g, encodeURIComponent)
}

/** Some bodies never end: an event stream, for example. */
async function firstPiece({ body }: Response): Promise<string> {
  if (body === null) return ''
  const reader = body.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return value === undefined ? '' : Buffer.from(value).toString('utf8').slice(0, 1000)
}
