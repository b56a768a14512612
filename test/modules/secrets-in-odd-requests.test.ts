// Secrets of requests that are malformed, or take unusual forms: the access log, the inspector and recordings show none of them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { inspector } from '../../src/modules/inspector/index.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { Redaction } from '../../src/modules/redaction.ts'
import { record } from '../../src/testing/index.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const SECRET = 'hunter2SECRET'

function post(type: string, body: string): string {
  return `POST /any HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
}

function part(disposition: string): string {
  return post('multipart/form-data; boundary=b', `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${SECRET}\r\n--b--\r\n`)
}

/** What each request is, in latin1. */
const REQUESTS: Readonly<Record<string, string>> = {
  'the query of a refused head': `GET /any?password=${SECRET} HTTP/1.1\r\nBad Name: 1\r\n\r\n`,
  'a field without its colon': `GET /any HTTP/1.1\r\nAuthorization Basic ${SECRET}==\r\n\r\n`,
  'a field whose name is followed by a blank': `GET /any HTTP/1.1\r\nAuthorization : Basic ${SECRET}\r\n\r\n`,
  'a folded field': `GET /any HTTP/1.1\r\nAuthorization: Basic\r\n ${SECRET}\r\n\r\n`,
  'a field after the one that is refused': `GET /any HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Password: ${SECRET}\r\n\r\n`,
  'a password in the target': `GET http://ann:${SECRET}@localhost/any HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  'the rest of a form': `password=${SECRET}\r\n\r\n`,
  'the rest of JSON': `{"password":"${SECRET}"}\r\n\r\n`,
  'a trailer': `POST /any HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nhi\r\n0\r\nX-Auth-Token: ${SECRET}\r\n\r\n`,
  'JSON that is not UTF-8': post('application/json', `{"password":"${SECRET}","name":"\xff"}`),
  'a form that is not UTF-8': post('application/x-www-form-urlencoded', `name=\xe9&password=${SECRET}`),
  'a part after a misleading file name': part('filename="a;name=x"; name="password"'),
  'a part whose name is not quoted': part('name=password'),
  'a part with blanks around the equals sign': part('name = "password"'),
}

for (const [name, request] of Object.entries(REQUESTS))
  test(name, async (t) => {
    const { lines, file, port, server } = await watched(t)
    await sent(port, request)
    const [shown] = (await (await fetch(`http://localhost:${port}/_weir/exchanges`)).json()) as { number: number }[]
    const detail = (await (await fetch(`http://localhost:${port}/_weir/exchanges/${shown!.number}`)).json()) as object
    await server.stop()
    const recorded = await file()
    assert.ok(recorded.length > 0 && lines.length > 0)
    for (const [place, text] of Object.entries({ log: lines[0]!, inspector: decoded(detail), recorded }))
      for (const some of [SECRET, SECRET.slice(0, 5)]) assert.ok(!text.includes(some), `${place}: ${text}`)
  })

test('a parameter of the query with brackets in its name', () => {
  const redaction = new Redaction('test', 'secretQuery')
  for (const name of ['user[password]', 'user%5Bpassword%5D', 'password[]', 'password[0]', 'a[b][token]'])
    assert.equal(redaction.query(`/any?a=b&${name}=${SECRET}&c=d`), `/any?a=b&${name}=(not shown)&c=d`)
  assert.equal(redaction.query('/any?user[name]=ann'), '/any?user[name]=ann')
})

async function watched(t: TestContext): Promise<{ server: HttpServer; port: number; lines: string[]; file: () => Promise<string> }> {
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
  const lines: string[] = []
  server.useModule(accessLog({ to: { info: (fields: object) => lines.push(JSON.stringify(fields)), child: () => null } }))
  server.useModule(inspector())
  server.mapPost('/any', { body: 'buffer' }, () => 'ok')
  const to = join(temporaryDirectory(t), 'exchanges.jsonl')
  const recording = record(server, { to, max: 1 })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const file = async (): Promise<string> => {
    await recording.stop()
    return readFileSync(to, 'utf8')
  }
  return { server, port: server.port, lines, file }
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
