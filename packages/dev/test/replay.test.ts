// record and replay: what is kept, what is masked, what is found.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { events, HttpServer, json, t as s } from '../../weirjs/src/index.ts'
import { connect, TestClock } from '../../weirjs/src/testing/index.ts'
import { loadConformanceCases } from '../../weirjs/test/conformance/cases.ts'
import { RawClient } from '../../weirjs/test/support/raw-client.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { loadWireCases, wireTopics } from '../../weirjs/test/support/wire-cases.ts'
import { record, replay } from '../src/index.ts'

function echoServer(greeting = 'hello'): HttpServer {
  const server = new HttpServer({ hosts: 'any', logger: null })
  let id = 0
  server.mapGet('/hello/:name', ({ name }, { response }) => response.cookie('seen', String(++id)).json({ id, text: `${greeting} ${name}` }))
  server.mapPost('/login', { body: s.object({ user: s.string, code: s.string.secret() }) }, ({ body }) => ({
    ...body,
    token: `t${Date.now()}`,
  }))
  server.mapPost('/text', (_, { request }) => request.body)
  server.mapPost('/form', (_, { request }) => ({ ...request.bodyForm() }))
  server.mapGet('/reset/:key', { key: s.string.secret() }, ({ key }) => key.length)
  server.mapGet('/large', () => 'x'.repeat(3_000_000))
  return server
}

async function recorded(
  t: TestContext,
  server: HttpServer,
  send: () => Promise<unknown>,
  options = {},
): Promise<{ to: string; text: string }> {
  const to = join(temporaryDirectory(t), 'exchanges')
  const recording = record(server, { to, ...options })
  await send()
  const { skipped } = await recording.stop()
  assert.equal(skipped.writing, 0)
  return {
    to,
    text: readdirSync(to)
      .map((name) => readFileSync(join(to, name), 'utf8'))
      .join(''),
  }
}

test('a schema that is secret under several names, or in a declared answer, is in no recording', async (t) => {
  const server = new HttpServer({ hosts: 'any', logger: null })
  const plum = s.string.secret()
  const Plums = s.object({ old: plum, list: s.array(plum), next: plum })
  const secrets = ['old-plum', 'list-plum', 'next-plum']
  const [old = '', one = '', next = ''] = secrets
  const plums = { old, list: [one], next }
  server.mapPost('/plums', { body: Plums }, () => 'changed')
  server.mapGet('/plums', { answers: { 200: json(Plums) } }, () => plums)
  server.mapGet('/events', { answers: { 200: events({ plums: Plums }) } }, (_, { response }) =>
    response.contentType('text/event-stream').text(`event: plums\ndata: ${JSON.stringify(plums)}\n\n`),
  )
  const { text } = await recorded(t, server, async () => {
    await server.inject({ method: 'POST', url: '/plums', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(plums) })
    await server.inject('/plums')
    await server.inject('/events')
  })
  assert.equal(text.match(/"method": "/g)?.length, 3)
  for (const secret of secrets) assert.ok(!text.includes(secret), secret)
})

test('what was recorded is answered in the same way again; ids, dates and cookies may differ', async (t) => {
  const { to } = await recorded(t, echoServer(), async () => {
    const server = echoServer()
    void server
  })
  assert.deepEqual(readdirSync(to), [])
  const server = echoServer()
  const { to: folder } = await recorded(t, server, async () => {
    await server.inject('/hello/you')
    await server.inject('/nowhere')
    await server.inject({ method: 'POST', url: '/form', body: new URLSearchParams({ a: '1' }) })
  })
  assert.deepEqual(readdirSync(folder), ['000001-get-hello-you-200.json', '000002-get-nowhere-404.json', '000003-post-form-200.json'])
  if (process.platform !== 'win32') {
    const modes = ['', ...readdirSync(folder)].map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8))
    assert.deepEqual(modes, ['700', '600', '600', '600'], 'for the user of the process only')
  }
  const { exchanges, differences } = await replay(server, folder)
  assert.deepEqual([exchanges, differences], [3, []])
  const broken = await replay(echoServer('goodbye'), folder)
  assert.deepEqual(
    broken.differences.map(({ target, kind, at, recorded: was, replayed }) => [target, kind, at, was, replayed]),
    [['/hello/you', 'body', '/text', '"hello you"', '"goodbye you"']],
  )
  assert.match(
    String(broken),
    /^3 exchanges, 1 difference\n.*000001-get-hello-you-200\.json: GET \/hello\/you: body \/text was "hello you"/,
  )
})

test('a handler that is gone, fails, or answers other fields is found', async (t) => {
  const server = echoServer()
  const { to } = await recorded(t, server, async () => {
    await server.inject('/hello/you')
  })
  const kindsOf = async (changed: HttpServer): Promise<string[]> =>
    (await replay(changed, to)).differences.map(({ kind, at }) => `${kind} ${at}`)
  assert.deepEqual(
    await kindsOf(new HttpServer({ hosts: 'any', logger: null })),
    ['status ', 'field content-type', 'body /id', 'body /text', 'body /title', 'body /status', 'body /detail', 'body /code'].filter(
      (one) => one !== '',
    ),
  )
  const typed = new HttpServer({ hosts: 'any', logger: null })
  typed.mapGet('/hello/:name', (_, { response }) => response.header('Cache-Control', 'no-store').json({ id: 'text', text: 'hello you' }))
  assert.deepEqual(await kindsOf(typed), ['field cache-control', 'body /id'])
  assert.deepEqual((await replay(typed, to, { compare: { fields: ['content-type'], body: false } })).differences, [])
})

test('no secret reaches the disk: fields, cookies, queries, paths, forms, JSON, chunks, parts, and their repetitions', async (t) => {
  const server = echoServer()
  const secrets = [
    'SECRET-1',
    'SECRET-2',
    'SECRET-3',
    'SECRET-4',
    'SECRET-5',
    'SECRET-6',
    'SECRET-7',
    'SECRET-8',
    'SECRET-9',
    'SECRET-10',
    'SECRET-11',
  ]
  const chunked = 'POST /text HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
  const { text } = await recorded(
    t,
    server,
    async () => {
      await server.inject({
        url: '/hello/x?access_token=SECRET-1&a=b',
        headers: { authorization: 'Bearer SECRET-2', cookie: 'sid=SECRET-3; theme=dark', 'x-api-key': 'SECRET-4' },
      })
      await server.inject('/reset/SECRET-5')
      await server.inject({ method: 'POST', url: '/login', json: { user: 'Ada', code: 'SECRET-6' } })
      await server.inject({ method: 'POST', url: '/form', body: new URLSearchParams({ password: 'SECRET-7', internal: 'SECRET-8' }) })
      await using client = connect(server, {})
      await client.send(`${chunked}13\r\n{"nested":{"passwor\r\n1c\r\nd": [ "SECRET-9", {"a":"SECR\r\nb\r\nET-10"} ]}}\r\n0\r\n\r\n`)
      await client.answer()
      await using other = connect(server)
      await other.send(`${chunked}15\r\n{"nested":{"passwor\r\n1c\r\nd": [ "SECRET-9", {"a":"SECR\r\nb\r\nET-10"} ]}}\r\n0\r\n\r\n`)
      assert.equal((await other.answer()).status, 400)
      const form = new FormData()
      form.set('client_secret', 'SECRET-11')
      form.set('title', 'kept')
      await server.inject({ method: 'POST', url: '/text', body: form })
    },
    { mask: ['internal'] },
  )
  for (const secret of secrets) assert.ok(!text.includes(secret), secret)
  for (const part of ['theme=xxxx', 'Bearer xxxxxxxx', 'user', 'Ada', 'kept', 'a=b']) assert.ok(text.includes(part), part)
})

test('a secret part of the path of a tool is none of what a call of the tool leaves', async (t) => {
  const server = echoServer()
  const { text } = await recorded(t, server, async () => {
    server.mapGet('/safes/:combination', { operationId: 'open', tool: true, combination: s.string.secret() }, () => 'open')
    const params = { name: 'open', arguments: { combination: 'SECRET-1' } }
    await server.inject({ method: 'POST', url: '/text', json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } })
  })
  assert.match(text, /tools\/call/)
  assert.doesNotMatch(text, /SECRET/)
})

test('malformed requests are masked too', async (t) => {
  const server = echoServer()
  const { text } = await recorded(t, server, async () => {
    for (const head of [
      'GET / HTTP/1.1\r\nAuthorization: Bearer SECRET-A\r\nbroken\r\n\r\n',
      'GET /?token=SECRET-B HTTP/9.9\r\n\r\n',
      'Cookie: sid=SECRET-C\n\n',
    ]) {
      await using client = connect(server)
      await client.send(head)
      assert.ok((await client.answer()).status >= 400)
    }
    await using client = connect(server)
    await client.send('POST /text HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"password":"SECRET-D')
    await client.end()
    await client.answer()
  })
  assert.equal(text.match(/SECRET/g), null)
  assert.equal(text.match(/"format"/g)?.length, 4)
})

test('a request with a content coding is not kept, because its secrets cannot be found', async (t) => {
  const server = echoServer()
  const recording = record(server, { to: join(temporaryDirectory(t), 'x') })
  await server.inject({ method: 'POST', url: '/text', headers: { 'content-encoding': 'gzip' }, body: 'x' })
  assert.deepEqual(await recording.stop(), { exchanges: 0, skipped: { size: 0, coding: 1, incomplete: 0, max: 0, writing: 0 } })
})

test('cuts and times are kept, and a timeout happens again without waiting for it', async (t) => {
  const server = new HttpServer({ hosts: 'any', logger: null, timeouts: { bodyGracePeriod: 60, minBodyRate: 1_000_000 } })
  server.mapPost('/text', (_, { request }) => request.body)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const to = join(temporaryDirectory(t), 'all.jsonl')
  const recording = record(server, { to })
  const client = connect(server) // a busy machine may join what a socket sends in pieces
  t.after(() => client.reset())
  await client.send('POST /text HTTP/1.1\r\nHost: a\r\nContent-Le')
  await sleep(5)
  await client.send('ngth: 10\r\n\r\nhello')
  assert.equal((await client.answer()).status, 408)
  await client.closed()
  await recording.stop()
  const { pieces, response } = JSON.parse(readFileSync(to, 'utf8')) as {
    pieces: { atMs: number; bytes: string | string[] }[]
    response: { status: number }
  }
  assert.deepEqual(
    pieces.map(({ bytes }) => bytes),
    [
      ['POST /text HTTP/1.1\r\n', 'Host: a\r\n', 'Content-Le'],
      ['ngth: 10\r\n', '\r\n', 'hello'],
    ],
  )
  assert.ok(pieces[0]!.atMs === 0 && pieces[1]!.atMs >= 4)
  assert.equal(response.status, 408)
  assert.equal((statSync(to).mode & 0o777).toString(8), '600')
  assert.deepEqual((await replay(server, to)).differences, [])
})

test('sample, max and maxSize leave exchanges out, and count them', async (t) => {
  const server = echoServer()
  const { to } = await recorded(
    t,
    server,
    async () => {
      for (const name of ['a', 'b', 'c', 'd']) await server.inject(`/hello/${name}`)
    },
    { sample: ({ target }: { target: string }) => target !== '/hello/b', max: 2 },
  )
  assert.deepEqual(readdirSync(to), ['000001-get-hello-a-200.json', '000002-get-hello-c-200.json'])
  const recording = record(server, { to, maxSize: 1_000 })
  await server.inject({ method: 'POST', url: '/text', body: 'x'.repeat(2_000) })
  await server.inject('/large')
  const report = await recording.stop()
  assert.deepEqual([report.exchanges, report.skipped.size], [1, 1])
  const large = JSON.parse(readFileSync(join(to, '000003-get-large-200.json'), 'utf8')) as { response: { body: object } }
  assert.deepEqual(Object.keys(large.response.body), ['length', 'sha256'])
  assert.deepEqual((await replay(server, to)).differences, [])
})

test('wrong options, and a second recording at the same time, are refused by name', async (t) => {
  const server = echoServer()
  const to = join(temporaryDirectory(t), 'x')
  assert.throws(() => record(server, { to, sampel: 1 } as never), /there is no option "sampel"/)
  assert.throws(() => record(server, { to, sample: 2 }), /sample is 2, not a number between 0 and 1, or a function/)
  const recording = record(server, { to })
  assert.throws(() => record(server, { to }), /recorded already/)
  await recording.stop()
  await record(server, { to }).stop()
  await assert.rejects(replay(server, to, { compare: { json: 'x' } as never }), /compare\.json/)
  await assert.rejects(replay(server, join(to, 'none')), /ENOENT/)
})

test('restore puts a value in the place of a masked one, wherever the bytes were cut', async (t) => {
  const server = new HttpServer({ hosts: 'any', logger: null })
  server.mapGet('/me', (_, { request, response }) =>
    request.header('authorization') === 'Bearer right-token' ? 'me' : response.status(401).text('who?'),
  )
  const { to } = await recorded(t, server, async () => {
    for (const cut of [1, 30, 45, 60]) {
      await using client = connect(server)
      const bytes = 'GET /me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer right-token\r\nX-After: 1\r\n\r\n'
      await client.send(bytes.slice(0, cut))
      await client.send(bytes.slice(cut))
      assert.equal((await client.answer()).status, 200)
    }
  })
  assert.equal((await replay(server, to)).differences.filter(({ kind }) => kind === 'status').length, 4)
  assert.deepEqual((await replay(server, to, { restore: { authorization: 'Bearer right-token' } })).differences, [])
})

test('an HTTP Archive is replayed', async (t) => {
  const server = echoServer()
  const har = join(temporaryDirectory(t), 'page.har')
  const entry = (method: string, url: string, status: number, text: string, postData?: object) => ({
    startedDateTime: '2026-01-01T00:00:00Z',
    time: 12,
    request: {
      method,
      url,
      headers: [
        { name: ':method', value: method },
        { name: 'Content-Type', value: 'text/plain' },
      ],
      ...(postData === undefined ? {} : { postData }),
    },
    response: {
      status,
      headers: [{ name: 'content-type', value: status === 200 && method === 'GET' ? 'application/json' : 'text/plain; charset=utf-8' }],
      content: { text },
    },
  })
  writeFileSync(
    har,
    JSON.stringify({
      log: {
        entries: [
          entry('GET', 'https://example.org/hello/you?x=1', 200, '{"text":"hello you","id":9}'),
          entry('POST', 'https://example.org/text', 200, 'Grüße', { mimeType: 'text/plain', text: 'Grüße' }),
          entry('GET', 'https://example.org/aborted', 0, ''),
        ],
      },
    }),
  )
  const { exchanges, differences } = await replay(server, har)
  assert.deepEqual([exchanges, differences], [2, []])
})

test('the suites of packages/weirjs/test/wire and packages/weirjs/test/conformance, recorded and replayed: no differences', async (t) => {
  const cases = [
    ...wireTopics('packages/weirjs/test/wire').flatMap((topic) => loadWireCases(`packages/weirjs/test/wire/${topic}.http`)),
    ...loadConformanceCases(),
  ]
  const groups = new Map<string, typeof cases>()
  for (const one of cases) {
    const key = JSON.stringify(one.limits)
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  let total = 0
  for (const [limits, group] of groups) {
    const server = new HttpServer({ hosts: 'any', logger: null, limits: JSON.parse(limits) as object })
    server.map(null, '/*path', (_, { request }) => ({
      line: `${request.method} ${request.url}`,
      fields: [...request.headers],
      body: request.body,
    }))
    await server.start()
    const to = join(temporaryDirectory(t), 'exchanges.jsonl')
    const recording = record(server, { to, max: 100_000 })
    for (const { bytes, halfClose } of group) {
      const client = await RawClient.connect(server.port)
      client.send(bytes)
      if (halfClose) client.end()
      else client.send('GET /behind HTTP/1.1\r\nHost: behind\r\nConnection: close\r\n\r\n')
      await client.rest()
      client.destroy()
    }
    await server.stop({ graceMs: 0 })
    const { exchanges, skipped } = await recording.stop()
    // Case TE-37 has a Content-Encoding, so it is not kept.
    assert.deepEqual(
      { ...skipped, incomplete: 0 },
      { size: 0, coding: group.some((one) => 'id' in one && one.id === 'TE-37') ? 1 : 0, incomplete: 0, max: 0, writing: 0 },
    )
    const report = await replay(server, to)
    assert.equal(report.exchanges, exchanges)
    assert.deepEqual(report.differences, [], String(report))
    total += exchanges
  }
  assert.ok(total > cases.length, `${total} exchanges of ${cases.length} cases`)
  t.diagnostic(`${total} exchanges`)
})

test('the clock of a recorded connection may be a test clock', async (t) => {
  const server = echoServer()
  const { text } = await recorded(t, server, async () => {
    await using client = connect(server, { clock: new TestClock() })
    await client.get('/hello/you')
  })
  assert.match(text, /"status": 200/)
})
