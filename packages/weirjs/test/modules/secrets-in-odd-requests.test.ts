// Secrets of requests that are malformed, or take unusual forms: the access log, the logger, the inspector and recordings show none of them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { inspector, record } from '../../../dev/src/index.ts'
import { HttpError, HttpServer, t as s } from '../../src/index.ts'
import { Redaction } from '../../src/modules/kit/redaction.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { type CODINGS, FORMS, SECRET } from './secret-forms.ts'

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

test('no form of a request leaves its secret in a recording, the inspector, the access log or the logger', async (t) => {
  const { server, port, texts, shown, stop } = await watched(t)
  const forms = FORMS
  assert.ok(forms.length >= 80 && new Set(forms.map(([name]) => name)).size === forms.length)
  const left: string[] = []
  const look = (name: string, place: string, text: string): void => {
    if (PIECES.some((piece) => text.includes(piece))) left.push(`${name}: ${place}: ${text.slice(0, 600)}`)
  }
  for (const [name, request] of forms) {
    await sent(port, request)
    const details = await shown()
    assert.ok(details.length === 1, `${name}: the inspector has one exchange`)
    for (const detail of details) look(name, 'inspector', decoded(detail))
    assert.ok(texts.length > 0, `${name}: the log has a line`)
    for (const [place, text] of texts.splice(0)) look(name, place, text)
  }
  const lines = (await stop()).trim().split('\n')
  assert.equal(lines.length, forms.length)
  for (const [i, line] of lines.entries()) look(forms[i]![0], 'recording', plain(line))
  assert.equal(left.length, 0, `${left.length} of ${forms.length}:\n${left.join('\n')}`)
  await server.stop({ graceMs: 0 })
})

test('a parameter of the query with brackets in its name', () => {
  const redaction = new Redaction('test', 'secretQuery')
  for (const name of ['user[password]', 'user%5Bpassword%5D', 'password[]', 'password[0]', 'a[b][token]'])
    assert.equal(redaction.query(`/any?a=b&${name}=${SECRET}&c=d`), `/any?a=b&${name}=(not shown)&c=d`)
  assert.equal(redaction.query('/any?user[name]=ann'), '/any?user[name]=ann')
})

function base64Of(text: string): string {
  return Buffer.from(text).toString('base64').replace(/=+$/, '')
}

interface Watched {
  readonly server: HttpServer
  readonly port: number
  /** What logs have written since the last request. */
  readonly texts: (readonly [place: string, text: string])[]
  /** The exchanges in the inspector, which forgets them. */
  shown(): Promise<object[]>
  /** The recording. */
  stop(): Promise<string>
}

async function watched(t: TestContext): Promise<Watched> {
  const texts: (readonly [string, string])[] = []
  const note = (...values: unknown[]): void => void texts.push(['logger', values.map((value) => inspect(value)).join()])
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: { error: note, warn: note } })
  const fields = ['authorization', 'cookie', 'x-api-key', 'x-auth-token']
  server.useModule(accessLog({ fields, to: { info: (entry: object) => texts.push(['access log', inspect(entry)]), child: () => null } }))
  const token = 'token-of-these-tests-1'
  const looks = { peer: { address: '127.0.0.1' }, headers: { authorization: `Bearer ${token}` } }
  const module = inspector({ token })
  server.useModule(module)
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
  server.useModule(
    websocket('/socket/:token', { token: s.string.secret() }, { protocols: ['bearer'], open: (socket) => socket.close(1000, 'bye') }),
  )
  const to = join(temporaryDirectory(t), 'exchanges.jsonl')
  const recording = record(server, { to, sample: ({ target }) => !target.startsWith('/_weir') })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const { port } = server
  const shown = async (): Promise<object[]> => {
    const get = async (path: string): Promise<unknown> => (await server.inject({ url: `/_weir${path}`, ...looks })).json()
    const list = (await get('/exchanges')) as { number: number }[]
    const found = await Promise.all(list.map(async ({ number }) => (await get(`/exchanges/${number}`)) as object))
    await server.inject({ method: 'POST', url: '/_weir/clear', ...looks })
    texts.splice(0, texts.length, ...texts.filter(([, text]) => !text.includes('/_weir')))
    return found
  }
  const stop = async (): Promise<string> => {
    await recording.stop()
    return readFileSync(to, 'utf8')
  }
  return { server, port, texts, shown, stop }
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

/** Resolves when the server has answered and closed. */
function sent(port: number, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1', () => socket.write(request, 'latin1'))
    socket.on('error', reject).on('close', () => resolve())
    socket.resume()
  })
}

/** With the bytes of bodies that are shown as base64. */
function decoded(detail: object): string {
  const { requestBody } = detail as { requestBody: { text: string; isBase64: boolean } | null }
  const bytes = requestBody?.isBase64 === true ? Buffer.from(requestBody.text, 'base64').toString('latin1') : ''
  return `${JSON.stringify(detail)} ${bytes}`
}

/** With its base64 decoded, and its cuts joined. */
function plain(line: string): string {
  const bytes = [...line.matchAll(/"base64":"([^"]*)"/g)].map((match) => Buffer.from(match[1]!, 'base64').toString('latin1'))
  return `${line} ${bytes.join()}`
}
