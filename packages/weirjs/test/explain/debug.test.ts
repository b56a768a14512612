// Errors as `debug` shows them: the explanation in problem documents, and a page for browsers.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { HttpError, HttpServer, header, type Problem, type ServerOptions, t } from '../../src/index.ts'
import type { Explanation } from '../../src/modules/explain/index.ts'
import { END_HEADERS, END_STREAM, encodeFields, encodeFrame, HEADERS, PREFACE, SETTINGS } from '../support/http2-client.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually } from '../support/serving.ts'
import { Turns } from '../support/turns.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

function serverWith(map: (server: HttpServer) => void, options: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null, debug: true, ...options })
  map(server)
  return server
}

function mapAll(server: HttpServer): void {
  server.mapGet('/users/:id', { id: t.int }, ({ id }) => ({ id }))
  server.mapPost('/small', { maxRequestBodySize: 3 }, () => 'fits')
  server.mapPost('/form', (_, { request }) => request.bodyForm())
  server.mapGet('/own', (_, { response }) => response.notFound('not here'))
  server.mapGet('/mine', (_, { response }) => response.status(404).json({ mine: true }))
  server.mapGet('/teapot', () => {
    throw new HttpError(418, 'short and stout')
  })
  server.mapGet('/fail', () => {
    throw new Error('secret detail')
  })
}

type ExplainedProblem = Problem & { readonly explanation?: Explanation }

describe('debug: problem documents', () => {
  const server = serverWith(mapAll)

  async function problemOf(request: Parameters<HttpServer['inject']>[0]): Promise<ExplainedProblem> {
    const response = await server.inject(request)
    assert.equal(response.headers.get('content-type'), 'application/problem+json')
    assert.equal(response.headers.get('vary'), 'Accept')
    return response.json() as ExplainedProblem
  }

  test('400, 404, 405, 413 and 415 have an explanation, which is that of explain', async () => {
    const requests = {
      400: { url: '/users/x' },
      404: { url: '/usres/7' },
      405: { method: 'PUT', url: '/users/7' },
      413: { method: 'POST', url: '/small', body: '1234' },
    }
    for (const [status, request] of Object.entries(requests)) {
      const { explanation, ...problem } = await problemOf(request)
      const { response, ...expected } = { ...(await server.explain(request)) }
      assert.deepEqual(Object.keys(problem).slice(0, 2), ['title', 'status'])
      assert.equal(problem.status, Number(status))
      assert.deepEqual({ ...explanation, response: null }, JSON.parse(JSON.stringify({ ...expected, response: null })))
      assert.deepEqual([explanation!.response.status, explanation!.response.code], [response.status, response.code])
      assert.deepEqual(explanation!.response.allow, response.allow)
      assert.equal(explanation!.response.detail, problem.detail)
    }
  })

  test('what a handler refuses is explained with what was answered', async () => {
    const form = {
      method: 'POST',
      url: '/form',
      body: 'a=b',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=koi8-r' },
    }
    const unsupported = await problemOf(form)
    assert.deepEqual([unsupported.status, unsupported.explanation!.response.code], [415, 'WEIR_CHARSET_UNKNOWN'])
    const own = await problemOf('/own')
    assert.deepEqual(
      [own.detail, own.explanation!.response.status, own.explanation!.response.detail],
      ['not here', 404, 'the program has responded with it'],
    )
  })

  test('other statuses have none, and what the program sends itself is left alone', async () => {
    assert.equal((await problemOf('/teapot')).explanation, undefined)
    assert.deepEqual(await problemOf('/fail'), {
      title: 'Internal Server Error',
      status: 500,
      detail: 'Error: secret detail',
      code: 'WEIR_HANDLER_FAILED',
    })
    const mine = await server.inject({ url: '/mine', headers: { accept: BROWSER } })
    assert.deepEqual([mine.text(), mine.headers.get('vary'), mine.headers.get('content-security-policy')], ['{"mine":true}', null, null])
  })

  test('onError decides first', async () => {
    const own = serverWith(mapAll, { onError: (_, { response }) => response.status(404).text('mine') })
    assert.equal((await own.inject({ url: '/none', headers: { accept: BROWSER } })).text(), 'mine')
    const silent = serverWith(mapAll, { onError: () => undefined })
    assert.equal(((await silent.inject('/none')).json() as ExplainedProblem).explanation!.response.status, 404)
  })

  test('gates and hooks of the server that fail are shown as well', async () => {
    const gated = serverWith((it) => {
      it.gate(({ request }) => {
        if (request.path === '/gate') throw new HttpError(400, 'no')
      })
      it.beforeSend(({ request }) => {
        if (request.path === '/hook') throw new Error('hook')
      })
    })
    assert.equal(((await gated.inject('/gate')).json() as ExplainedProblem).explanation!.response.detail, 'no')
    const page = await gated.inject({ url: '/hook', headers: { accept: BROWSER } })
    assert.deepEqual([page.status, page.headers.get('content-type')], [500, 'text/html; charset=utf-8'])
  })
})

describe('debug: pages', () => {
  async function pageOf(server: HttpServer, url: string, headers: Record<string, string> = {}): Promise<string> {
    const response = await server.inject({ url, headers: { accept: BROWSER, ...headers } })
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(response.headers.get('vary'), 'Accept')
    return response.text()
  }

  test('only clients that prefer HTML get one', async () => {
    const server = serverWith(mapAll)
    const typeFor = async (accept: string): Promise<string | null> =>
      (await server.inject({ url: '/none', headers: { accept } })).headers.get('content-type')
    assert.equal(await typeFor(BROWSER), 'text/html; charset=utf-8')
    for (const accept of ['*/*', 'application/json', 'text/html;q=0.5, application/json', 'text/html;q=0', 'text/html, */*', ''])
      assert.equal(await typeFor(accept), 'application/problem+json', accept)
  })

  test('it has no script, loads nothing, and its policy allows its own style alone', async () => {
    const { headers, body, status } = await serverWith(mapAll).inject({ url: '/none', headers: { accept: BROWSER } })
    assert.equal(status, 404)
    assert.match(
      headers.get('content-security-policy')!,
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    )
    assert.deepEqual(
      ['x-content-type-options', 'referrer-policy', 'cache-control'].map((name) => headers.get(name)),
      ['nosniff', 'no-referrer', 'no-store'],
    )
    assert.doesNotMatch(Buffer.from(body).toString(), /<script|<link|<img|<iframe|\bon\w+=|javascript:|url\(|https?:\/\/(?!localhost)/i)
  })

  test('shows the error, its causes, the lines of source and the explanation', async () => {
    const server = serverWith((it) => {
      it.mapGet('/orders/:id', () => {
        const cause = new RangeError('the cause')
        throw new Error('the error', { cause }) // a line of this file
      })
    })
    const page = await pageOf(server, '/orders/7')
    assert.match(page, /<h1>Error: the error<\/h1>/)
    assert.match(
      page,
      /<span class="at"><i>\d+<\/i> {8}throw new Error\(&#39;the error&#39;, \{ cause \}\) \/\/ a line of this file<\/span>/,
    )
    assert.match(page, /Caused by <code>RangeError: the cause<\/code>/)
    assert.match(page, /test\/explain\/debug\.test\.ts:\d+:\d+/)
    assert.match(page, /<dt>route<\/dt><dd><p>GET \/orders\/:id<\/p><\/dd>/)
    assert.doesNotMatch(page.replaceAll(/<details>.*?<\/details>/gs, ''), /src\/app/, 'calls in weir are folded away')
  })

  test('everything that a client or an error brings is escaped', async () => {
    const bad = `<script>alert('1')</script>"><img src=x onerror="alert(2)">&lt;`
    const server = serverWith((it) => {
      it.use({ name: bad, middleware: (_, next) => next() })
      it.mapGet('/x/:value', { value: t.string, q: t.int.message(bad).optional() }, ({ value }) => {
        const error = new Error(`${value}${bad}`, { cause: Object.assign(new Error(bad), { name: bad }) })
        error.name = bad
        throw error
      })
    })
    for (const url of [
      `/x/${encodeURIComponent(bad)}`,
      `/x/y?q=${encodeURIComponent(bad)}&${encodeURIComponent(bad)}=1`,
      `/x/${encodeURIComponent(bad)}/z`,
    ]) {
      const page = await pageOf(server, url, { 'X-Bad': bad, Referer: bad, Host: 'localhost' })
      const tags = new Set([...page.matchAll(/<\/?([a-z0-9]+)/gi)].map(([, name]) => name))
      const known = [
        'html',
        'head',
        'meta',
        'title',
        'style',
        'body',
        'header',
        'p',
        'b',
        'code',
        'h1',
        'h2',
        'main',
        'section',
        'ol',
        'li',
        'span',
        'pre',
        'i',
        'dl',
        'dt',
        'dd',
        'details',
        'summary',
        'footer',
      ]
      assert.deepEqual(
        [...tags].filter((tag) => !known.includes(tag!)),
        [],
      )
      assert.ok(page.includes('&lt;script&gt;alert(&#39;1&#39;)'))
    }
  })

  test('what cannot be seen is shown by its number', async () => {
    const server = serverWith((it) => {
      it.mapGet('/', () => {
        throw new Error('a\u202eb\u0000c\u001b[31m\u200bd')
      })
    })
    assert.match(await pageOf(server, '/'), /<h1>Error: a\\u202eb\\u0000c\\u001b\[31m\\u200bd<\/h1>/)
  })

  test('secrets are masked', async () => {
    const secretText = ['hu', 'sh'].join('') // the page shows lines of this file
    const server = serverWith((it) => {
      it.mapGet(
        '/reset/:code',
        { code: t.string.secret(), pin: t.int.secret().optional(), door: header('x-door', t.string.secret()) },
        () => {
          throw new Error('no')
        },
      )
    })
    const headers = {
      'X-Door': secretText,
      Authorization: `Bearer ${secretText}`,
      Cookie: `sid=${secretText}`,
      'Proxy-Authorization': `Basic ${secretText}`,
      'X-Api-Key': `${secretText}`,
      'X-CSRF-Token': `${secretText}`,
      Referer: `http://localhost/?a=1&access_token=${secretText}`,
    }
    for (const url of [`/reset/${secretText}?pin=1`, `/reset/hush?pin=${secretText}`, `/reset/hush?token=${secretText}&a=b`]) {
      const page = await pageOf(server, url, headers)
      assert.ok(!page.includes(secretText), page)
      assert.match(page, /<dt>Authorization<\/dt><dd><p>\(not shown\)<\/p><\/dd>/)
    }
  })

  test('hostile errors are shown as far as they can be read', async () => {
    const thrown: unknown[] = [
      null,
      undefined,
      'text',
      42,
      Object.create(null),
      new Proxy(new Error('x'), {
        get() {
          throw new Error('no')
        },
      }),
      Object.defineProperty(new Error('x'), 'cause', {
        get() {
          throw new Error('no')
        },
      }),
      Object.assign(new Error('x'), { stack: 5 }),
      Object.assign(new Error('x'), { message: { toString: 1 } }),
      new AggregateError([new Error('a')], 'several'),
    ]
    const circular = new Error('x') as Error & { cause: unknown }
    circular.cause = circular
    thrown.push(circular)
    const server = serverWith((it) => {
      it.mapGet('/:index', { index: t.int }, ({ index }) => {
        throw thrown[index]
      })
    })
    for (let i = 0; i < thrown.length; i++) {
      const response = await server.inject({ url: `/${i}`, headers: { accept: BROWSER } })
      assert.equal(response.status, 500)
      assert.match(response.text(), /<h1>/)
    }
  })

  test('a head of the largest size makes a page of bounded size', async () => {
    const server = serverWith(mapAll)
    const bomb = Object.fromEntries(Array.from({ length: 190 }, (_, i) => [`x-${i}`, '<'.repeat(300)]))
    assert.ok((await pageOf(server, `/${'<'.replace('<', '%3C').repeat(500)}`, bomb)).length < 400_000)
    assert.ok((await pageOf(server, `/${'a/'.repeat(30_000)}`)).length < 50_000)
    assert.ok((await pageOf(server, `/?${'a&'.repeat(30_000)}`)).length < 50_000)
  })
})

describe('debug: which files are read', () => {
  async function pageFor(t: TestContext, error: (folder: string) => unknown): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'weir-frames-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    await writeFile(join(folder, 'secret.txt'), 'hush\n'.repeat(9))
    await writeFile(join(folder, 'code.ts'), 'hush\n'.repeat(9))
    await writeFile(join(folder, 'large.ts'), 'hush\n'.repeat(200_000))
    const thrown = error(folder)
    const server = serverWith((it) => {
      it.mapGet('/', () => {
        throw thrown
      })
    })
    return (await server.inject({ url: '/', headers: { accept: BROWSER } })).text()
  }

  /** An error with that frame as its only one. */
  function at(frame: string, message = 'x'): Error {
    return Object.assign(new Error(message), { stack: `Error: ${message}\n    at ${frame}` })
  }

  test('source files of frames', async (t) => {
    assert.match(await pageFor(t, (folder) => at(`f (${folder}/code.ts:2:1)`)), /hush/)
    assert.match(await pageFor(t, (folder) => at(`file://${folder}/code.ts:2:1`)), /hush/)
  })

  test('nothing else: not other files, nor large ones, nor those of packages, nor what a message pretends', async (t) => {
    assert.doesNotMatch(await pageFor(t, (folder) => at(`f (${folder}/secret.txt:2:1)`)), /hush/)
    assert.doesNotMatch(await pageFor(t, (folder) => at(`f (${folder}/large.ts:2:1)`)), /hush/)
    assert.doesNotMatch(await pageFor(t, (folder) => at(`f (${folder}/code.ts:99:1)`)), /hush/)
    assert.doesNotMatch(await pageFor(t, (folder) => at(`f (${folder}/node_modules/../code.ts:2:1)`)), /hush/)
    const pretended = (folder: string): Error => new Error(`x\n    at f (${folder}/code.ts:2:1)`)
    assert.doesNotMatch(await pageFor(t, pretended), /<\/i>hush/)
    assert.doesNotMatch(await pageFor(t, (folder) => Object.assign(pretended(folder), { message: 'other' })), /<\/i>hush/)
  })
})

/** What a turn reads, by docs/limits.md, in errors that are explained. */
const EXPLAINED_PER_TURN = 1_536 / 64
const TARGET = '/user/5'
const REQUESTS = 100
const FIELDS: [string, string][] = Object.entries({ ':method': 'GET', ':scheme': 'http', ':path': TARGET, ':authority': 'a' })
const frames = Array.from({ length: REQUESTS }, (_, i) => encodeFrame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, encodeFields(FIELDS)))

for (const [protocol, http2, bytes] of [
  ['HTTP/1.1', false, `GET ${TARGET} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(REQUESTS)],
  ['HTTP/2', 'cleartext', Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), ...frames])],
] as const)
  test(`debug, ${protocol}: the errors of one connection are explained in several turns of the event loop`, async (t) => {
    const turns = new Turns(t)
    const server = serverWith(mapAll, { hosts: 'any', port: 0, http2 })
    server.use((_, next) => {
      turns.count()
      return next()
    })
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    await server.inject(TARGET) // loads what explains
    const client = await RawClient.connect(server.port)
    client.send(bytes)
    await eventually(() => turns.all === REQUESTS + 1, 'all requests')
    assert.ok(turns.most <= EXPLAINED_PER_TURN + 1, `${turns.most} in one turn`)
    client.destroy()
  })

describe('without debug', () => {
  test('not a byte is different, whatever the client prefers', async () => {
    const server = serverWith(mapAll, { debug: false })
    for (const headers of [{}, { accept: BROWSER }]) {
      const fields = async (url: string): Promise<unknown> => {
        const response = await server.inject({ url, headers })
        return [response.status, response.text(), [...response.headers.keys()].sort()]
      }
      const names = ['content-length', 'content-type', 'date']
      assert.deepEqual(await fields('/none'), [
        404,
        '{"title":"Not Found","status":404,"detail":"no route matches this path","code":"WEIR_ROUTE_NOT_FOUND"}',
        names,
      ])
      assert.deepEqual(await fields('/fail'), [500, '{"title":"Internal Server Error","status":500,"code":"WEIR_HANDLER_FAILED"}', names])
    }
  })

  test('nothing of the page is loaded', () => {
    const program = (debug: boolean): string => `
      import { register } from 'node:module'
      register('data:text/javascript,' + encodeURIComponent("export function load(url, context, next) { process._rawDebug(url); return next(url, context) }"))
      const { HttpServer } = await import(${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)})
      const server = new HttpServer({ debug: ${debug}, logger: null })
      await server.inject({ url: '/none', headers: { accept: 'text/html' } })
      await 0`
    const loaded = (debug: boolean): string =>
      spawnSync(process.execPath, ['--input-type=module', '-e', program(debug)], { encoding: 'utf8' }).stderr
    assert.match(loaded(true), /app\/debug\/error-page\.js/)
    assert.match(loaded(false), /app\/dispatch\.js/)
    assert.doesNotMatch(loaded(false), /app\/debug\//)
  })
})
