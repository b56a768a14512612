// Secrets of requests that are malformed, or take unusual forms: the access log, the logger, the inspector and recordings show none of them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { inspector, record } from '../../../dev/src/index.ts'
import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { Redaction } from '../../src/modules/kit/redaction.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { thinned } from '../support/thinned.ts'
import { FORMS, movedBelow, SECRET } from './secret-forms.ts'
import { holdsSecret, mapSecrets, sent } from './secret-routes.ts'

/** Where the application is: its own paths are the same, but clients know others. */
const PLACES: readonly (readonly [where: string, options: ServerOptions, move: (request: string) => string])[] = [
  ['at the root', {}, (request) => request],
  ['below a path', { basePath: '/app' }, (request) => movedBelow('/app', request, false)],
  ['below a path, asked without it', { basePath: '/app' }, (request) => request],
  [
    'below a path that a proxy states',
    { basePath: 'x-forwarded-prefix', proxies: { trust: ['loopback'] } },
    (request) => movedBelow('/app', request, true),
  ],
]

for (const [where, options, move] of PLACES.slice(0, thinned(PLACES.length)))
  test(`no form of a request leaves its secret in a recording, the inspector, the access log or the logger, ${where}`, async (t) => {
    await checkForms(
      t,
      options,
      FORMS.map(([name, request]) => [name, move(request)]),
    )
  })

async function checkForms(t: TestContext, options: ServerOptions, forms: typeof FORMS): Promise<void> {
  const { server, port, texts, shown, stop } = await watched(t, options)
  assert.ok(forms.length >= 80 && new Set(forms.map(([name]) => name)).size === forms.length)
  const left: string[] = []
  const look = (name: string, place: string, text: string): void => {
    if (holdsSecret(text)) left.push(`${name}: ${place}: ${text.slice(0, 600)}`)
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
}

test('a parameter of the query with brackets in its name', () => {
  const redaction = new Redaction('test', 'secretQuery')
  for (const name of ['user[password]', 'user%5Bpassword%5D', 'password[]', 'password[0]', 'a[b][token]'])
    assert.equal(redaction.query(`/any?a=b&${name}=${SECRET}&c=d`), `/any?a=b&${name}=(not shown)&c=d`)
  assert.equal(redaction.query('/any?user[name]=ann'), '/any?user[name]=ann')
})

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

async function watched(t: TestContext, options: ServerOptions): Promise<Watched> {
  const texts: (readonly [string, string])[] = []
  const note = (...values: unknown[]): void => void texts.push(['logger', values.map((value) => inspect(value)).join()])
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: { error: note, warn: note }, ...options })
  const fields = ['authorization', 'cookie', 'x-api-key', 'x-auth-token']
  server.use(accessLog({ fields, to: { info: (entry: object) => texts.push(['access log', inspect(entry)]), child: () => null } }))
  const token = 'token-of-these-tests-1'
  const looks = { peer: { address: '127.0.0.1' }, headers: { authorization: `Bearer ${token}` } }
  const module = inspector({ token })
  server.use(module)
  mapSecrets(server)
  const to = join(temporaryDirectory(t), 'exchanges.jsonl')
  const recording = record(server, { to, sample: ({ target }) => !target.includes('/_weir') })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const { port } = server
  const shown = async (): Promise<object[]> => {
    const get = async (path: string): Promise<unknown> => (await server.inject({ url: `${server.basePath}/_weir${path}`, ...looks })).json()
    const list = (await get('/exchanges')) as { number: number }[]
    const found = await Promise.all(list.map(async ({ number }) => (await get(`/exchanges/${number}`)) as object))
    await server.inject({ method: 'POST', url: `${server.basePath}/_weir/clear`, ...looks })
    texts.splice(0, texts.length, ...texts.filter(([, text]) => !text.includes('/_weir')))
    return found
  }
  const stop = async (): Promise<string> => {
    await recording.stop()
    return readFileSync(to, 'utf8')
  }
  return { server, port, texts, shown, stop }
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
