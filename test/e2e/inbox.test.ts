// The application in examples/inbox, without a network: through `inject` and the clients of weirjs/testing.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { chaos } from '@weirjs/dev'
import { connect } from 'weirjs/testing'

import { codeOf, createInbox, PASSWORD } from './inbox-server.ts'

const MIB = 1024 ** 2
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(1000)])

interface Message {
  readonly id: number
  readonly text: string
}

function formWith(name: string, file: File, fields: Record<string, string> = {}): FormData {
  const form = new FormData()
  for (const [field, value] of Object.entries(fields)) form.append(field, value)
  form.append(name, file)
  return form
}

test('the application has at most 350 lines of TypeScript', () => {
  const sources = readdirSync('examples/inbox', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const lines = sources.map((file) => readFileSync(`examples/inbox/${file}`, 'utf8').split('\n').length - 1)
  const sum = lines.reduce((a, b) => a + b)
  assert.ok(sum > 200 && sum <= 350, `${sum} lines`)
})

test('a user signs up, signs in and signs out', async (t) => {
  const { server } = await createInbox(t)
  const client = connect(server, { cookies: true, patience: '2m' })
  const json = { name: 'grace', password: PASSWORD }
  const created = await client.post('/api/users', { json })
  assert.equal(created.status, 201)
  assert.deepEqual(Object.keys(created.json() as object), ['name', 'role', 'createdAt'])
  assert.equal((await client.get('/api/me')).status, 401)

  const signedIn = await client.post('/api/session', { json })
  assert.match(signedIn.headers.get('set-cookie')!, /^__Host-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=604800$/)
  assert.equal(((await client.get('/api/me')).json() as { name: string }).name, 'grace')

  assert.equal((await client.delete('/api/session')).status, 204)
  assert.equal((await client.get('/api/me')).status, 401)
})

test('a session cannot be used after signing out, even by who has kept the cookie', async (t) => {
  const { server, signIn } = await createInbox(t)
  const headers = await signIn('ada')
  assert.equal((await server.inject({ url: '/api/me', headers })).status, 200)
  assert.equal((await server.inject({ method: 'DELETE', url: '/api/session', headers })).status, 204)
  assert.equal((await server.inject({ url: '/api/me', headers })).status, 401)
})

test('an unknown name and a wrong password get the same response', async (t) => {
  const { server } = await createInbox(t)
  const signIn = (name: string) => server.inject({ method: 'POST', url: '/api/session', json: { name, password: 'wrong password' } })
  const [wrong, unknown] = await Promise.all([signIn('ada'), signIn('nobody')])
  assert.equal(wrong.status, 401)
  assert.equal(unknown.text(), wrong.text())
})

test('a name can be taken once, also by two at the same time', async (t) => {
  const { server } = await createInbox(t)
  const signUp = () => server.inject({ method: 'POST', url: '/api/users', json: { name: 'constructor', password: PASSWORD } })
  const statuses = (await Promise.all([signUp(), signUp()])).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [201, 409])
})

test('a password that does not fit is not repeated', async (t) => {
  const { server } = await createInbox(t)
  const response = await server.inject({ method: 'POST', url: '/api/users', json: { name: 'X', password: 'hunter2' } })
  assert.equal(response.status, 400)
  assert.doesNotMatch(response.text(), /hunter2/)
  const { errors } = response.json() as { errors: { pointer: string; expected: string }[] }
  assert.deepEqual(
    errors.map(({ pointer }) => pointer),
    ['/name', '/password'],
  )
  assert.match(errors[0]!.expected, /beginning with a letter/)
})

test('without a session, only signing up, signing in and documents are open; with one, not what administrators do', async (t) => {
  const { server, signIn } = await createInbox(t)
  server.mapGet('/forgotten', () => 'nobody has said who may see this')
  const ada = await signIn('ada')
  const open: string[] = []
  assert.ok(server.routes.length > 14)
  for (const { method, path, endpoint } of server.routes) {
    const request = { method: method!, url: path.replace(':id', '1').replace(/:\w+/, 'ada'), ...(endpoint === null ? {} : { endpoint }) }
    const { status } = await server.inject(request)
    if (status !== 401 && !path.startsWith('/docs')) open.push(`${method} ${path} ${endpoint}`)
    if (path.startsWith('/api/admin')) assert.equal((await server.inject({ ...request, headers: ada })).status, 403, path)
  }
  const internal = ['/metrics', '/livez', '/readyz', '/startupz'].map((path) => `GET ${path} internal`)
  assert.deepEqual(open.sort(), [...internal, 'GET /openapi.json null', 'POST /api/users null', 'POST /api/session null'].sort())
})

test('health and metrics are at an endpoint of their own', async (t) => {
  const { server, internal } = await createInbox(t)
  assert.equal((await internal('/readyz')).text(), 'ok\n')
  for (const path of ['/readyz', '/metrics']) assert.equal((await server.inject(path)).status, 404)
  await server.inject('/api/me')
  const text = (await internal('/metrics')).text()
  assert.match(text, /_count\{http_request_method="GET",http_route="\/api\/me",http_response_status_code="401"\} 1\n/)
  assert.match(text, /\nweir_limits_refused_total\{limit="rateLimit:sign-ins"\} 0\n/)
})

test('pages of other origins cannot change anything, not even with the cookie', async (t) => {
  const { server, signIn } = await createInbox(t)
  const url = '/api/users/bob/messages'
  const send = async (Origin: string) => {
    const headers = { ...(await signIn('ada')), Host: 'inbox.example', Origin }
    return (await server.inject({ method: 'POST', url, headers, json: { text: 'hello' }, peer: { isSecure: true } })).status
  }
  assert.deepEqual([await send('https://inbox.example'), await send('http://inbox.example'), await send('null')], [201, 403, 403])
})

test('messages are listed in pages, the newest first', async (t) => {
  const { server, signIn } = await createInbox(t)
  const [ada, bob] = await Promise.all([signIn('ada'), signIn('bob')])
  for (let i = 1; i <= 5; i++) {
    const sent = await server.inject({ method: 'POST', url: '/api/users/bob/messages', headers: ada, json: { text: `no. ${i}` } })
    assert.equal(sent.status, 201)
  }
  const pages: string[][] = []
  for (let next: number | null = 1e6; next !== null; ) {
    const page = (await server.inject({ url: `/api/messages?limit=2&before=${next}`, headers: bob })).json()
    const found = page as { messages: Message[]; next: number | null }
    pages.push(found.messages.map(({ text }) => text))
    next = found.next
  }
  assert.deepEqual(pages, [['no. 5', 'no. 4'], ['no. 3', 'no. 2'], ['no. 1']])
  assert.deepEqual((await server.inject({ url: '/api/messages', headers: ada })).json(), { messages: [], next: null })
  assert.equal((await server.inject({ url: '/api/messages?limit=101', headers: bob })).status, 400)
})

test('a message needs a text and a user who exists', async (t) => {
  const { server, signIn } = await createInbox(t)
  const headers = await signIn('ada')
  const post = async (to: string, json: unknown) =>
    (await server.inject({ method: 'POST', url: `/api/users/${to}/messages`, headers, json })).status
  assert.deepEqual([await post('bob', { text: '' }), await post('bob', {}), await post('nobody', { text: 'hello' })], [400, 400, 404])
})

test('a picture is saved and can be downloaded, by nobody but its recipient', async (t) => {
  const { server, signIn, files } = await createInbox(t)
  const [ada, bob] = await Promise.all([signIn('ada'), signIn('bob')])
  const body = formWith('picture', new File([PNG], '../me.png', { type: 'image/png' }), { text: 'me' })
  const sent = await server.inject({ method: 'POST', url: '/api/users/bob/pictures', headers: ada, body })
  assert.equal(sent.status, 201)
  const { id, attachment } = sent.json() as Message & { attachment: object }
  assert.deepEqual(attachment, { fileName: 'me.png', size: PNG.length })
  assert.deepEqual(await files(), ['me.png'])

  const url = `/api/messages/${id}/attachment`
  const got = await server.inject({ url, headers: bob })
  assert.deepEqual(Buffer.from(got.body), PNG)
  assert.equal(got.headers.get('content-disposition'), 'attachment; filename="me.png"')
  assert.equal(got.headers.get('x-content-type-options'), 'nosniff')
  assert.equal((await server.inject({ url, headers: ada })).status, 404)
})

test('what is not a small picture is refused, and nothing of it stays', async (t) => {
  const { server, signIn, files } = await createInbox(t)
  const headers = await signIn('ada')
  const send = async (file: File, fields: Record<string, string> = { text: 'me' }) => {
    const response = await server.inject({
      method: 'POST',
      url: '/api/users/bob/pictures',
      headers,
      body: formWith('picture', file, fields),
    })
    return `${response.status} ${codeOf(response)}`
  }
  const png = { type: 'image/png' }
  assert.equal(await send(new File(['<script>'], 'me.png', png)), '415 WEIR_FILE_MAGIC')
  assert.equal(await send(new File([PNG], 'me.svg', { type: 'image/svg+xml' })), '415 WEIR_FILE_TYPE')
  assert.equal(await send(new File([PNG, Buffer.alloc(MIB)], 'me.png', png)), '413 WEIR_BODY_TOO_LARGE')
  assert.equal(await send(new File([PNG, Buffer.alloc(3 * MIB)], 'me.png', png)), '413 WEIR_BODY_TOO_LARGE')
  assert.equal(await send(new File([PNG], 'me.png', png), {}), '400 WEIR_BODY_INVALID')
  assert.deepEqual(await files(), [])
})

test('a file of any kind is streamed; of a form that is cut short, or has more than a file, nothing stays', async (t) => {
  const { server, signIn, files } = await createInbox(t)
  const headers = await signIn('ada')
  const url = '/api/users/bob/files'
  const send = (body: FormData | string) => server.inject({ method: 'POST', url, headers, body })
  const sent = await send(formWith('file', new File([Buffer.alloc(5 * MIB)], 'a.bin')))
  assert.equal(sent.status, 201)
  assert.deepEqual(await files(), ['a.bin'])

  const two = formWith('file', new File(['1'], 'b.bin'))
  two.append('file', new File(['2'], 'c.bin'))
  assert.equal((await send(two)).status, 413)
  assert.equal((await send(new FormData())).status, 400)
  assert.equal((await send('no form')).status, 400)
  const cut = '--x\r\nContent-Disposition: form-data; name="file"; filename="d.bin"\r\n\r\n1234'
  const multipart = { ...headers, 'Content-Type': 'multipart/form-data; boundary=x' }
  assert.equal((await server.inject({ method: 'POST', url, headers: multipart, body: cut })).status, 400)
  assert.deepEqual(await files(), ['a.bin'])
})

test('an administrator lists users without their secrets, sends to all, and deletes; what is changed is logged', async (t) => {
  const { server, store, signIn, lines, files } = await createInbox(t)
  const [ada, root] = await Promise.all([signIn('ada'), signIn('root')])
  const list = await server.inject({ url: '/api/admin/users', headers: root })
  assert.equal((list.json() as object[]).length, 3)
  assert.deepEqual(Object.keys((list.json() as object[])[0]!), ['name', 'role', 'createdAt'])

  const json = { text: 'closed on Monday' }
  assert.equal((await server.inject({ method: 'POST', url: '/api/admin/broadcasts', headers: root, json })).status, 204)
  assert.deepEqual(
    [...store.accounts.values()].map(({ inbox }) => inbox[0]?.text),
    [json.text, json.text, json.text],
  )

  const body = formWith('file', new File(['1'], 'a.bin'))
  assert.equal((await server.inject({ method: 'POST', url: '/api/users/ada/files', headers: ada, body })).status, 201)
  assert.equal((await server.inject({ method: 'DELETE', url: '/api/admin/users/ada', headers: root })).status, 204)
  assert.equal((await server.inject({ method: 'DELETE', url: '/api/admin/users/ada', headers: root })).status, 404)
  assert.equal((await server.inject({ url: '/api/me', headers: ada })).status, 401)
  assert.deepEqual(await files(), [])
  const audited = lines.filter(({ user }) => user === 'root').map(({ method, url, status }) => `${method} ${url} ${status}`)
  assert.deepEqual(audited, [
    'GET /api/admin/users 200',
    'POST /api/admin/broadcasts 204',
    'DELETE /api/admin/users/ada 204',
    'DELETE /api/admin/users/ada 404',
  ])
})

test('the secrets of a user leave through none of the routes', async (t) => {
  const { server, store, signIn } = await createInbox(t)
  const root = await signIn('root')
  for (const { method, path } of server.routes) {
    if (method !== 'GET' || path.includes('socket') || path.includes('events')) continue
    const response = await server.fetch(new Request(`http://localhost${path.replace(':id', '1')}`, { headers: root })) // as in production
    assert.ok(!(await response.text()).includes(store.find('root').passwordHash.slice(-40)), path)
  }
})

test('events arrive as they are posted; a client that reconnects gets what it has missed; without a session, they end', async (t) => {
  const { server, signIn } = await createInbox(t)
  const [ada, bob] = await Promise.all([signIn('ada'), signIn('bob')])
  const post = (text: string) => server.inject({ method: 'POST', url: '/api/users/bob/messages', headers: ada, json: { text } })
  const first = await connect(server).stream({ url: '/api/events', headers: bob })
  assert.equal(first.headers.get('content-type'), 'text/event-stream')
  assert.equal((await first.next())!.toString().trim(), ':')
  await post('one')
  assert.match((await first.next())!.toString(), /^id: 1\nevent: message\ndata: \{"id":1,"from":"ada","to":"bob","text":"one"/)

  await post('two')
  const again = await connect(server).stream({ url: '/api/events', headers: { ...bob, 'Last-Event-ID': '1' } })
  await again.next()
  assert.match((await again.next())!.toString(), /^id: 2\n/)

  await server.inject({ method: 'DELETE', url: '/api/session', headers: bob })
  await Promise.all([first.whole(), again.whole()])
})

test('the log has a line for every request, with the address of the client and without its cookie', async (t) => {
  const { server, lines } = await createInbox(t, { proxies: { trust: ['loopback'] } })
  const headers = { 'X-Forwarded-For': '203.0.113.7', Cookie: '__Host-session=secret' }
  await server.inject({ url: '/api/me', headers, peer: { address: '127.0.0.1' } })
  const { clientAddress, method, url, status, outcome, code, user } = lines[0]!
  assert.deepEqual(
    [clientAddress, method, url, status, outcome, code, user],
    ['203.0.113.7', 'GET', '/api/me', 401, 'refused', 'WEIR_CREDENTIALS_MISSING', undefined],
  )
  assert.doesNotMatch(JSON.stringify(lines), /secret/)
})

test('the page may run only its own scripts', async (t) => {
  const { server } = await createInbox(t)
  const page = await server.inject('/')
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-security-policy')!, /(?:^|;)script-src 'self'(?:;|$)/)
  const refused = await server.inject('/api/me')
  assert.match(refused.headers.get('content-security-policy')!, /^default-src 'none'/)
})

test('the handlers withstand whatever clients do, and leave no half files', async (t) => {
  const { server, signIn, files } = await createInbox(t, { logger: null })
  const headers = await signIn('ada')
  const form = async (body: FormData) => {
    const encoded = new Response(body)
    return { headers: { ...headers, 'Content-Type': encoded.headers.get('content-type')! }, body: Buffer.from(await encoded.arrayBuffer()) }
  }
  const requests = [
    { url: '/api/messages', headers },
    { url: '/api/events', headers, endless: true },
    { method: 'POST', url: '/api/users/bob/messages', headers, json: { text: 'hello' } },
    {
      method: 'POST',
      url: '/api/users/bob/pictures',
      ...(await form(formWith('picture', new File([PNG], 'a.png', { type: 'image/png' }), { text: 'me' }))),
    },
    { method: 'POST', url: '/api/users/bob/files', ...(await form(formWith('file', new File([PNG], 'a.bin')))) },
  ]
  await chaos(server, { requests, runs: 60 })
  assert.deepEqual(
    (await files()).filter((name) => !/^a.*\.(?:png|bin)$/.test(name)),
    [],
  )
})

test('assistants send and read messages in the name of who has signed in', async (t) => {
  const { server, signIn } = await createInbox(t)
  const ada = await signIn('ada')
  const ask = (method: string, params: object, headers: Record<string, string>) =>
    server.inject({ method: 'POST', url: '/mcp', headers, json: { jsonrpc: '2.0', id: 1, method, params } })
  assert.equal((await ask('tools/list', {}, {})).status, 401)
  const { result } = (await ask('tools/list', {}, ada)).json() as { result: { tools: { name: string }[] } }
  assert.deepEqual(result.tools.map(({ name }) => name).sort(), ['list_messages', 'send_message'])
  const sent = await ask('tools/call', { name: 'send_message', arguments: { to: 'bob', body: { text: 'Hello' } } }, ada)
  assert.equal((sent.json() as { result: { structuredContent: Message } }).result.structuredContent.text, 'Hello')
  const read = await ask('tools/call', { name: 'list_messages' }, await signIn('bob'))
  const page = (read.json() as { result: { structuredContent: { messages: Message[] } } }).result.structuredContent
  assert.deepEqual(
    page.messages.map(({ text }) => text),
    ['Hello'],
  )
  const nobody = await ask('tools/call', { name: 'send_message', arguments: { to: 'nobody', body: { text: 'Hello' } } }, ada)
  assert.equal((nobody.json() as { result: { isError: boolean } }).result.isError, true)
})
