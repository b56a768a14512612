// Services behind nginx, HAProxy and Caddy, with the configurations of docs/guide/rpc.md.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { create } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'

import { mapService, type RpcCall } from '../../packages/rpc/src/index.ts'
import { EchoRequestSchema, EchoService } from '../../packages/rpc/test/proto/echo_pb.ts'
import { ECHO } from '../../packages/rpc/test/support/echo.ts'
import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { eventually, gate } from '../../packages/weirjs/test/support/serving.ts'
import { noCaddy } from './hops.ts'
import { freePort, noHaproxy, noNginx, run, runHaproxy, temporaryFolder } from './proxy.ts'

const PAGE = readFileSync('docs/guide/rpc.md', 'utf8')

/** The block of the page in that language, for a server at that port. */
function blockIn(language: string, upstream: number): string {
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(PAGE)![1]!.replace('8081', String(upstream))
}

async function nginx(t: TestContext, upstream: number): Promise<number> {
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'nginx.conf')
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')
  const http = `access_log off;\n${places}\n${blockIn('nginx', upstream).replace('listen 80', `listen 127.0.0.1:${port}`)}`
  writeFileSync(file, `daemon off;\nmaster_process off;\npid ${folder}/nginx.pid;\nevents {}\nhttp {\n${http}}\n`)
  await run(t, folder, 'nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], port)
  return port
}

async function haproxy(t: TestContext, upstream: number): Promise<number> {
  return (await runHaproxy(t, (port) => blockIn('haproxy', upstream).replace('bind :80', `bind 127.0.0.1:${port}`))).port
}

async function caddy(t: TestContext, upstream: number): Promise<number> {
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'Caddyfile')
  const settings = `{\n  admin off\n  auto_https off\n  storage file_system ${folder}\n`
  writeFileSync(file, blockIn('caddy', upstream).replace('{\n', settings).replace(':80 {', `http://:${port} {\n  bind 127.0.0.1`))
  await run(t, folder, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], port)
  return port
}

const PROXIES = [
  { name: 'nginx', missing: noNginx, start: nginx },
  { name: 'HAProxy', missing: noHaproxy, start: haproxy },
  { name: 'Caddy', missing: noCaddy, start: caddy },
]
const TRANSPORTS = {
  gRPC: (baseUrl: string) => createGrpcTransport({ baseUrl }),
  'gRPC-Web': (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: '2' }),
  Connect: (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: '2' }),
}

for (const { name, missing, start } of PROXIES)
  for (const [protocol, transportTo] of Object.entries(TRANSPORTS))
    test(`${protocol} behind ${name}`, { skip: missing }, async (t) => {
      const calls: RpcCall[] = []
      const server = new HttpServer({ port: 0, http2: 'cleartext', proxies: { trust: ['loopback'] }, logger: null })
      mapService(server, EchoService, {
        ...ECHO,
        say(request, call) {
          calls.push(call)
          return ECHO.say!(request, call)
        },
      })
      await server.start()
      t.after(() => server.stop({ grace: 0 }))
      const client = createClient(EchoService, transportTo(`http://127.0.0.1:${await start(t, server.port)}`))

      let tail: Headers | undefined
      const said = await client.say({ text: 'x'.repeat(1_000_000) }, { onTrailer: (fields) => (tail = fields) })
      assert.deepEqual([said.text.length, tail?.get('x-tail')], [1_000_000, 'the end'])
      assert.equal(calls[0]!.session.clientAddress, '127.0.0.1')

      const known = await failureOf(client.say({ text: 'fail' }))
      assert.deepEqual([known.code, known.rawMessage, known.metadata.get('x-why')], [Code.NotFound, 'no ä here %', 'gone'])
      assert.deepEqual(known.findDetails(EchoRequestSchema), [create(EchoRequestSchema, { text: 'detail' })])

      const seen: number[] = []
      const cut = await failureOf(readInto(seen, client.repeat({ text: 'fail', count: 1_000 })))
      assert.deepEqual([cut.code, cut.rawMessage, seen.length], [Code.Aborted, 'in the middle', 1_000])
      assert.equal((await client.gather(texts())).text, 'abc')

      assert.equal((await failureOf(client.say({ text: 'wait' }, { timeoutMs: 300 }))).code, Code.DeadlineExceeded)
      assert.ok(calls.at(-1)!.deadline !== null)
      await eventually(() => calls.at(-1)!.signal.aborted, 'the handler is told')

      // Each message is sent when the one before has come back.
      let next = gate()
      const responses: string[] = []
      async function* talk() {
        for (const text of ['a', 'b', 'c']) {
          yield { text }
          await next.promise
          next = gate()
        }
      }
      for await (const { text } of client.converse(talk())) {
        responses.push(text)
        next.open()
      }
      assert.deepEqual(responses, ['re: a', 're: b', 're: c'])
    })

async function* texts() {
  for (const text of ['a', 'b', 'c']) yield { text }
}

async function readInto(seen: number[], responses: AsyncIterable<{ readonly index: number }>): Promise<void> {
  for await (const { index } of responses) seen.push(index)
}

async function failureOf(work: Promise<unknown>): Promise<ConnectError> {
  return work.then(
    () => assert.fail('the call succeeded'),
    (error: unknown) => ConnectError.from(error),
  )
}
