// The application in examples/inbox behind nginx, with the configuration that is next to it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'

import { WebSocket } from 'ws'
import { RawClient } from '../../packages/weirjs/test/support/raw-client.ts'
import { eventually, within } from '../../packages/weirjs/test/support/serving.ts'
import { type InboxRun, PASSWORD, startInbox } from '../e2e/inbox-server.ts'
import { freePort, noNginx, run, temporaryFolder } from './proxy.ts'

const MIB = 1024 ** 2
/** nginx connects from 127.0.0.1, the client from here. */
const CLIENT = '127.0.0.77'

interface ProxiedRun extends InboxRun {
  /** nginx. */
  readonly port: number
  connect(): Promise<RawClient>
}

async function startBehindNginx(t: TestContext): Promise<ProxiedRun> {
  const inbox = await startInbox(t, { proxies: { trust: ['127.0.0.1'] } })
  const port = await freePort()
  const folder = temporaryFolder()
  const own = readFileSync('examples/inbox/nginx.conf', 'utf8')
    .replace('127.0.0.1:2015', `127.0.0.1:${inbox.server.port}`)
    .replace('127.0.0.1:8080', `127.0.0.1:${port}`)
  const file = join(folder, 'nginx.conf')
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')
  writeFileSync(file, `daemon off; master_process off; pid ${folder}/nginx.pid; events {} http { access_log off;\n${paths}\n${own}}\n`)
  await run(t, folder, 'nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], port)
  const connect = async () => {
    const client = await RawClient.connect({ port, host: '127.0.0.1', localAddress: CLIENT, noDelay: true })
    t.after(() => client.destroy())
    return client
  }
  return { ...inbox, port, connect }
}

const upload = (path: string, length: number, fields: object = {}): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\nContent-Type: multipart/form-data; boundary=x\r\n` +
  `${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

describe('the inbox behind nginx', { skip: noNginx }, () => {
  test('signing in, from pages of nginx’s address only, and the client is known by its own address', async (t) => {
    const { port, lines, connect } = await startBehindNginx(t)
    const body = JSON.stringify({ name: 'ada', password: PASSWORD })
    const signIn = async (fields: string) => {
      const head = `POST /api/session HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`
      return (await connect()).send(`${head}X-Forwarded-For: 1.1.1.1\r\n${fields}\r\n${body}`).message()
    }
    assert.equal((await signIn(`Origin: http://localhost:${port}\r\n`)).status, 204)
    assert.equal((await signIn('Origin: https://localhost\r\nX-Forwarded-Proto: https\r\n')).status, 403)
    await eventually(() => lines.length === 2, 'two lines of the log')
    assert.deepEqual(
      lines.map(({ clientAddress }) => clientAddress),
      [CLIENT, CLIENT],
    )
  })

  test('an upload is refused while nginx would take more of it: 401 without a session, 413 if it is too large', async (t) => {
    const { signIn, connect, lines } = await startBehindNginx(t)
    const ada = await signIn('ada')
    const half = Buffer.alloc(64 * 1024)
    for (const [path, fields, status] of [
      ['/api/users/bob/files', {}, 401],
      ['/api/users/bob/pictures', ada, 413],
      ['/api/users/nobody/files', ada, 404],
    ] as const) {
      const client = await connect()
      client.send(upload(path, 10 * MIB, fields)).send(half)
      assert.equal((await client.message()).status, status)
    }
    const waiting = await connect()
    waiting.send(upload('/api/users/bob/files', 10 * MIB, { Expect: '100-continue' }))
    assert.equal((await waiting.message()).status, 100) // of nginx, which does not ask the server
    assert.equal((await waiting.message()).status, 401)
    await eventually(() => lines.length === 4, 'four lines of the log')
    assert.ok(lines.every(({ outcome }) => outcome === 'refused'))
  })

  test('an upload reaches the server as it arrives, and is saved whole', async (t) => {
    const { signIn, connect, files, folder } = await startBehindNginx(t)
    const ada = await signIn('ada')
    const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
    const end = '\r\n--x--\r\n'
    const content = Buffer.alloc(5 * MIB, 'abc')
    const client = await connect()
    client.send(upload('/api/users/bob/files', head.length + content.length + end.length, ada))
    client.send(head).send(content.subarray(0, MIB))
    while ((await files()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5)) // its temporary file
    client.send(content.subarray(MIB)).send(end)
    assert.equal((await client.message()).status, 201)
    assert.ok(readFileSync(join(folder, 'a.bin')).equals(content))
  })

  test('of an upload whose client leaves, nothing stays', async (t) => {
    const { signIn, connect, files, lines } = await startBehindNginx(t)
    const client = await connect()
    const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
    client.send(upload('/api/users/bob/files', 5 * MIB, await signIn('ada'))).send(head + 'x'.repeat(100_000))
    while ((await files()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    client.destroy()
    await eventually(() => lines.length === 1, 'a line of the log')
    assert.equal(lines[0]!.outcome, 'client-gone')
    assert.deepEqual(await files(), [])
  })

  test('events arrive one by one, and messages go both ways over a WebSocket', async (t) => {
    const { port, signIn } = await startBehindNginx(t)
    const [ada, bob] = await Promise.all([signIn('ada'), signIn('bob')])
    const leaving = new AbortController()
    const events = await fetch(`http://127.0.0.1:${port}/api/events`, { headers: bob, signal: leaving.signal })
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader()
    assert.match((await within(reader.read(), 'the beginning')).value!, /^:/)

    const socket = new WebSocket(`ws://127.0.0.1:${port}/api/socket`, { headers: { ...ada, Origin: `http://127.0.0.1:${port}` } })
    t.after(() => socket.terminate())
    await within(once(socket, 'open'), 'the connection')
    const [, replied] = [socket.send(JSON.stringify({ to: 'bob', text: 'hello' })), once(socket, 'message')]
    const [data] = (await within(replied, 'the reply')) as [Buffer]
    assert.deepEqual(JSON.parse(String(data)), { posted: 1 })
    assert.match((await within(reader.read(), 'the event')).value!, /^id: 1\nevent: message\n/)
    leaving.abort()
  })

  test('a page of another address cannot open a WebSocket, and nobody outside sees health or metrics', async (t) => {
    const { port, signIn } = await startBehindNginx(t)
    const socket = new WebSocket(`ws://127.0.0.1:${port}/api/socket`, {
      headers: { ...(await signIn('ada')), Origin: 'http://evil.example' },
    })
    assert.match(((await once(socket, 'error')) as [Error])[0].message, /403/)
    for (const path of ['readyz', 'metrics']) assert.equal((await fetch(`http://127.0.0.1:${port}/${path}`)).status, 404)
  })

  test('a client that guesses passwords has to slow down', async (t) => {
    const { port, connect } = await startBehindNginx(t)
    const statuses = new Set<number>()
    for (let i = 0; i < 30; i++) {
      const response = await fetch(`http://127.0.0.1:${port}/api/session`, { method: 'POST', body: 'not even JSON' })
      statuses.add(response.status)
    }
    assert.deepEqual([...statuses], [415, 429])
    const client = await connect() // from another address
    const head = `POST /api/session HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 0\r\n\r\n`
    assert.equal((await client.send(head).message()).status, 400)
  })
})
