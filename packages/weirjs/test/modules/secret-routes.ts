// The routes that get the forms of `secret-forms.ts`, and what finds a secret of theirs.

import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { cookie, HttpError, type HttpServer, header, t as s } from '../../src/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { type CODINGS, SECRET } from './secret-forms.ts'

/** What nobody may find: the secret, or a half of it. */
const PIECES = [
  'hunter',
  'unter2',
  'SECRET',
  'ECRET',
  ...[SECRET, `ann:${SECRET}`, 'hunter <&"\'>\u00e9/+ SECRET'].flatMap((text) => [
    base64Of(text),
    base64Of(text).replaceAll('+', '-').replaceAll('/', '_'),
  ]),
]

function base64Of(text: string): string {
  return Buffer.from(text).toString('base64').replace(/=+$/, '')
}

export function holdsSecret(text: string): boolean {
  return PIECES.some((piece) => text.includes(piece))
}

/** Routes that answer, and some that fail. */
export function mapSecrets(server: HttpServer): void {
  mapRepeated(server)
  server.mapPost('/any', { body: 'buffer' }, () => 'ok')
  server.mapGet('/any', () => 'ok')
  server.mapGet('/reset/:token', { token: s.string.secret() }, () => 'ok')
  server.mapPost('/declared', { body: s.object({ hidden: s.string.secret() }) }, () => 'ok')
  server.mapGet('/boom', () => {
    throw new Error('boom')
  })
  server.mapGet('/boom/:token', { token: s.string.secret() }, () => {
    throw new Error('boom')
  })
  server.mapGet('/echo/:token', { token: s.string.secret() }, ({ token }, { response }) =>
    response.header('X-Echo', token).json({ said: token, form: `a=${token}` }),
  )
  server.mapGet('/issue/:token', { token: s.string.secret() }, () => ({ password: SECRET, link: `/any/${SECRET}` }))
  server.mapGet('/cookie/:token', { token: s.string.secret() }, (_, { response }) =>
    response.header('Set-Cookie', `id=${SECRET}; Path=/`).json({ note: SECRET }),
  )
  server.mapGet('/repeat/:token', { token: s.string.secret() }, ({ token }, { request, response }) => {
    response.header('Content-Type', 'text/plain').text(`it is ${CODED[request.query.get('as') as (typeof CODINGS)[number]](token)}.`)
  })
  server.mapGet('/basic', (_, { request }) => {
    const [user, password] = Buffer.from(request.header('authorization')!.slice(6), 'base64').toString().split(':')
    return { note: password, user }
  })
  server.mapGet('/trailer/:token', { token: s.string.secret() }, ({ token }, { response }) => {
    response.trailer('X-Auth-Token', token)
    response.trailer('X-Note', token)
    return response.stream(Readable.from(['a', 'b']))
  })
  server.mapGet('/fail/:token', { token: s.string.secret() }, ({ token }) => {
    const cause = new AggregateError([new Error(`deep ${token}`)], `because of ${token}`, { cause: new Error(`root ${token}`) })
    throw new HttpError(400, `no ${token}`, { cause })
  })
  server.use(
    websocket('/socket/:token', { token: s.string.secret() }, { protocols: ['bearer'], open: (socket) => socket.close(1000, 'bye') }),
  )
}

const html = (text: string, quote: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", quote)
const unicode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
const json = (text: string): string => JSON.stringify(text)

/** How a response writes what it repeats. */
const CODED: Readonly<Record<(typeof CODINGS)[number], (text: string) => string>> = {
  text: (text) => text,
  percent: encodeURIComponent,
  'lower case': (text) => encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
  plus: (text) => new URLSearchParams({ a: text }).toString(),
  json,
  'ascii json': (text) => json(text).replace(/[^\x20-\x7e]/g, unicode),
  'html json': (text) => json(text).replace(/[<>&']/g, unicode),
  'json twice': (text) => json(json(text)),
  html: (text) => html(text, '&#39;'),
  'hex html': (text) => html(text, '&#x27;'),
  xml: (text) => html(text, '&apos;'),
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
}

/** @returns all that the server has sent until it closed */
export function sent(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket: Socket = connect(port, '127.0.0.1', () => socket.write(request, 'latin1'))
    socket
      .setEncoding('latin1')
      .on('data', (piece: string) => {
        text += piece
      })
      .on('error', reject)
      .on('close', () => resolve(text))
  })
}

/** The same paths, with declarations that nothing fits: what is refused is described. */
export function mapRefusals(server: HttpServer): void {
  const wrong = s.int.max(-1)
  const whole = { password: wrong, token: wrong, code: wrong, sig: wrong, access_token: wrong, pass: wrong }
  const credentials = s.object({ ...whole, hidden: wrong.secret() })
  server.mapGet(
    '/any',
    { ...whole, key: header('x-api-key', wrong), auth: header('authorization', wrong), id: cookie('id', wrong) },
    () => 'ok',
  )
  server.mapPost('/any', { body: s.object({ ...whole, passwords: s.array(wrong), user: credentials, data: credentials }) }, () => 'ok')
  server.mapPost('/declared', { body: s.object({ hidden: wrong.secret() }) }, () => 'ok')
  for (const path of ['reset', 'boom', 'fail', 'echo', 'issue', 'cookie', 'repeat', 'trailer', 'socket'])
    server.mapGet(`/${path}/:token`, { token: wrong.secret() }, () => 'ok')
}

/** Not beside a route that throws, because errors are shown with the lines around them. */
function mapRepeated(server: HttpServer): void {
  server.mapPost('/begin', { body: 'buffer' }, (_, { response }) =>
    response.status(201).header('Location', `/reset/${SECRET}`).text('begun'),
  )
  server.mapGet('/decoded', (_, { request }) => `it is ${Buffer.from(request.header('x-token-bin')!, 'base64').toString()}`)
}
