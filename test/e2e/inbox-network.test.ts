// The application in examples/inbox over sockets: refusals before the body, WebSockets, stopping.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { WebSocket } from 'ws'

import { temporaryFolder } from '../../packages/weirjs/test/support/demo.ts'
import { RawClient } from '../../packages/weirjs/test/support/raw-client.ts'
import { eventually, within } from '../../packages/weirjs/test/support/serving.ts'
import { type InboxRun, startInbox } from './inbox-server.ts'

const MIB = 1024 ** 2

async function connect(t: TestContext, port: number): Promise<RawClient> {
  const client = await RawClient.connect(port)
  t.after(() => client.destroy())
  return client
}

/** The head of an upload of 10 MiB, whose client waits until it is asked for the body. */
const upload = (path: string, fields: Record<string, string> = {}): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Expect: 100-continue',
    `Content-Length: ${10 * MIB}`,
    'Content-Type: multipart/form-data; boundary=x',
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n')

test('an upload is refused before its body: 401 without a session, 403 from another page, 413 if it is too large', async (t) => {
  const { server, signIn, lines } = await startInbox(t)
  const ada = await signIn('ada')
  for (const [path, fields, status] of [
    ['/api/users/bob/files', {}, 401],
    ['/api/users/bob/messages', {}, 401],
    ['/api/users/bob/files', { ...ada, Origin: 'http://evil.example' }, 403],
    ['/api/users/bob/pictures', ada, 413],
    ['/api/users/bob/files', ada, 100],
  ] as const) {
    const client = await connect(t, server.port)
    assert.equal((await client.send(upload(path, fields)).message()).status, status, path)
    client.destroy()
  }
  await eventually(() => lines.length === 5, 'five lines of the log')
})

test('an upload to a user who does not exist is refused before its body', async (t) => {
  const { server, signIn } = await startInbox(t)
  const client = await connect(t, server.port)
  assert.equal((await client.send(upload('/api/users/nobody/files', await signIn('ada'))).message()).status, 404)
})

/** A WebSocket, and the messages that it has received. */
async function openSocket(
  t: TestContext,
  { server }: InboxRun,
  headers: Record<string, string>,
): Promise<[WebSocket, () => Promise<unknown>]> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/api/socket`, { headers })
  t.after(() => socket.terminate())
  const received: unknown[] = []
  socket.on('message', (data) => received.push(JSON.parse(String(data))))
  await within(once(socket, 'open'), 'the connection')
  const next = async () => {
    await eventually(() => received.length > 0, 'a message')
    return received.shift()
  }
  return [socket, next]
}

test('messages go both ways over a WebSocket, and mistakes are answered', async (t) => {
  const run = await startInbox(t)
  const [adaCookie, bobCookie] = await Promise.all([run.signIn('ada'), run.signIn('bob')])
  const [[ada, adaNext], [, bobNext]] = await Promise.all([openSocket(t, run, adaCookie), openSocket(t, run, bobCookie)])
  const say = (value: unknown) => ada.send(JSON.stringify(value))

  say({ to: 'bob', text: 'hello' })
  assert.deepEqual(await adaNext(), { posted: 1 })
  const { message } = (await bobNext()) as { message: { from: string; text: string } }
  assert.deepEqual([message.from, message.text], ['ada', 'hello'])

  ada.send('no JSON')
  assert.match(((await adaNext()) as { error: string }).error, /JSON/)
  say({ to: 'nobody', text: 'hello' })
  assert.deepEqual(await adaNext(), { error: 'There is no user with this name.' })
  say({ to: 'bob', text: '' })
  assert.deepEqual(((await adaNext()) as { error: { path: string[] }[] }).error[0]?.path, ['text'])
  say({ to: 'bob', text: 'still there?' })
  assert.deepEqual(await adaNext(), { posted: 2 })
})

test('a WebSocket needs a session and a page of this server, and closes when the user signs out or is deleted', async (t) => {
  const run = await startInbox(t)
  const [ada, bob, root] = await Promise.all([run.signIn('ada'), run.signIn('bob'), run.signIn('root')])
  const refused = async (headers: Record<string, string>) => {
    const socket = new WebSocket(`ws://127.0.0.1:${run.server.port}/api/socket`, { headers })
    const [error] = (await once(socket, 'error')) as [Error]
    return error.message
  }
  assert.match(await refused({}), /401/)
  assert.match(await refused({ ...ada, Origin: 'http://evil.example' }), /403/)

  const [adaSocket] = await openSocket(t, run, ada)
  const [bobSocket] = await openSocket(t, run, bob)
  const closed = (socket: WebSocket) => within(once(socket, 'close'), 'the end').then(([code]) => code as number)
  const adaClosed = closed(adaSocket)
  await run.server.inject({ method: 'DELETE', url: '/api/session', headers: ada })
  assert.equal(await adaClosed, 4401)
  const bobClosed = closed(bobSocket)
  await run.server.inject({ method: 'DELETE', url: '/api/admin/users/bob', headers: root })
  assert.equal(await bobClosed, 4401)
})

test('stopping is announced, ends streams of events and sockets, and completes an upload', async (t) => {
  const run = await startInbox(t)
  const { server } = run
  const ada = await run.signIn('ada')
  const origin = `http://127.0.0.1:${server.port}`
  const events = await fetch(`${origin}/api/events`, { headers: ada })
  const [socket] = await openSocket(t, run, ada)
  const closed = once(socket, 'close')
  const client = await connect(t, server.port)
  const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
  const end = '\r\n--x--\r\n'
  client.send(
    `POST /api/users/bob/files HTTP/1.1\r\nHost: localhost\r\nCookie: ${ada.Cookie}\r\nContent-Type: multipart/form-data; boundary=x\r\n` +
      `Content-Length: ${head.length + 4 + end.length}\r\n\r\n${head}12`,
  )
  while ((await run.files()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5)) // its temporary file

  const stopped = server.stop({ readyDelayMs: 60_000, graceMs: 60_000 })
  const ready = await fetch(`http://127.0.0.1:${server.endpoints[1]!.port}/readyz`)
  assert.deepEqual([ready.status, await ready.text()], [503, 'stopping\n'])
  server.stop({ readyDelayMs: 0 })
  assert.match(await within(events.text(), 'the end of the events'), /the server is stopping/)
  assert.equal((await within(closed, 'the end of the socket'))[0], 1001)
  client.send(`34${end}`)
  assert.equal((await client.message()).status, 201)
  assert.deepEqual(await stopped, { aborted: 0 })
  assert.deepEqual(await run.files(), ['a.bin'])
})

test('the program creates its administrator, logs in lines of JSON, and ends with code 0', async (t) => {
  const env = { ...process.env, PORT: '0', INTERNAL_PORT: '0', FOLDER: await temporaryFolder(t), ADMIN_PASSWORD: 'correct horse' }
  const main = fileURLToPath(new URL('../../examples/inbox/main.js', import.meta.url))
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout.on('data', (text) => (out += text))
  const ended = once(child, 'close')
  await eventually(() => /\n/.test(out), 'its first line')
  const [origin] = /http:\/\/localhost:\d+/.exec(out)!
  const body = JSON.stringify({ name: 'admin', password: 'correct horse' })
  const signedIn = await fetch(`${origin}/api/session`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
  const headers = { Cookie: signedIn.headers.getSetCookie()[0]!.split(';')[0]! }
  const users = (await (await fetch(`${origin}/api/admin/users`, { headers })).json()) as { name: string; role: string }[]
  assert.deepEqual(
    users.map(({ name, role }) => [name, role]),
    [['admin', 'admin']],
  )
  await eventually(() => out.split('\n').length > 3, 'its log')
  for (const line of out.trim().split('\n').slice(1)) assert.equal(typeof JSON.parse(line), 'object')
  child.kill('SIGTERM')
  child.kill('SIGTERM') // does not wait until load balancers have noticed
  assert.deepEqual(await within(ended, 'the end'), [0, null])
})
