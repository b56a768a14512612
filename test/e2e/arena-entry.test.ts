// The entry for HttpArena: each of its endpoints answers once, on the port and in the protocol of the profile.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { request } from 'node:https'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'

import { WebSocket } from 'ws'
import { cert, key } from '../../packages/weirjs/test/support/certificate.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'
import { freePort } from '../proxies/proxy.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const ENTRY = join(ROOT, 'bench/arena/entry')
/** What the profiles with a database need; installed with the benchmarks. */
const DATABASE_PACKAGES = ['pg', 'eta']
const hasDatabase = DATABASE_PACKAGES.every((name) => existsSync(join(ROOT, 'bench/node_modules', name)))
const ITEM = { id: 1, name: 'a', category: 'b', price: 3, quantity: 5, active: true, tags: ['c'], rating: { score: 1, count: 2 } }
const STYLE = 'a { color: red }'

test('each endpoint answers', async (t) => {
  const { plain, tls, h2, h2c, renewed } = (await startEntry(t)).ports
  const origin = `http://127.0.0.1:${plain}`
  const textOf = async (path: string, options?: RequestInit): Promise<string> => {
    const response = await fetch(origin + path, options)
    assert.equal(response.status, 200, path)
    return `${response.headers.get('content-type')?.split(';')[0]} ${await response.text()}`
  }
  const json = '{"items":[{"id":1,"name":"a","category":"b","price":3,"quantity":5,"active":true'

  assert.equal(await textOf('/baseline11?a=13&b=42'), 'text/plain 55')
  assert.equal(await textOf('/baseline11?a=13&b=42', { method: 'POST', body: '20' }), 'text/plain 75')
  assert.equal((await fetch(`${origin}/baseline11?a=13&b=42`, { method: 'POST', body: 'x' })).status, 400)
  assert.equal(await textOf('/pipeline'), 'text/plain ok')
  assert.equal(await textOf('/delay/3'), 'text/plain 3')
  const items = await textOf('/json/50?m=7')
  assert.ok(items.startsWith(`application/json ${json}`) && items.includes('"total":105') && items.endsWith(',"count":40}'))
  assert.equal((await fetch(`${origin}/json/50?m=7`, { headers: { 'Accept-Encoding': 'gzip, br' } })).headers.get('content-encoding'), 'br')
  assert.equal((await fetch(`${origin}/ws`)).status, 426)
  const socket = new WebSocket(`ws://127.0.0.1:${plain}/ws`)
  socket.on('open', () => socket.send('hello'))
  assert.equal(await new Promise((done) => socket.once('message', (data) => done(String(data)))), 'hello')
  socket.terminate()

  const echo = await overTls(tls, { path: '/echo', method: 'POST', body: 'as it came' })
  assert.deepEqual([echo.status, echo.body.toString()], [200, 'as it came'])
  assert.ok((await overTls(tls, { path: '/json/1?m=7' })).body.toString().startsWith(json))
  const style = await overTls(tls, { path: '/static/reset.css', fields: { 'Accept-Encoding': 'br;q=1, gzip;q=0.8' } })
  assert.deepEqual([style.fields['content-type'], style.fields['content-encoding']], ['text/css; charset=utf-8', 'br'])
  assert.equal(brotliDecompressSync(style.body).toString(), STYLE)
  assert.equal((await overTls(tls, { path: '/static/nothing.css' })).status, 404)
  assert.equal((await overTls(renewed, { path: '/json/1' })).status, 200)

  for (const authority of [`https://127.0.0.1:${h2}`, `http://127.0.0.1:${h2c}`]) {
    assert.equal(await overHttp2(authority, '/baseline2?a=13&b=42'), '55')
    assert.equal(await overHttp2(authority, '/static/reset.css'), STYLE)
  }
  if (!hasDatabase) return t.diagnostic('pg or eta is not installed in bench: /async-db and /fortunes were not asked')
  assert.equal(await textOf('/async-db?min=1&max=9&limit=5'), 'application/json {"items":[],"count":0}') // the database cannot be reached
  assert.match(
    await textOf('/fortunes'),
    /^text\/html <!DOCTYPE html>[\s\S]*<td>0<\/td><td>Additional fortune added at request time\.<\/td>/,
  )
})

test('two workers share the ports, and SIGTERM stops them', async (t) => {
  const { ports, child } = await startEntry(t, { WORKERS: '2' })
  const responses = await Promise.all(Array.from({ length: 8 }, (_, i) => overTls(ports.tls, { path: `/json/1?m=${i}` })))
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]))
  const ended = new Promise((done) => child.once('exit', (code, signal) => done([code, signal])))
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})

test('meta.json and the image fit the entry', () => {
  const { tests, completeness } = JSON.parse(readFileSync(join(ENTRY, 'meta.json'), 'utf8')) as { tests: string[]; completeness: object }
  assert.equal(new Set(tests).size, tests.length)
  assert.deepEqual(Object.values(completeness), [true, true, true, true])
  assert.match(readFileSync(join(ENTRY, 'Dockerfile'), 'utf8'), /CMD \["node", "server\.mjs"\]/)
})

interface Ports {
  readonly plain: number
  readonly tls: number
  readonly h2: number
  readonly h2c: number
  readonly renewed: number
}

/** Starts the program in a folder of its own, where it finds the built package under its name. */
async function startEntry(t: TestContext, more: NodeJS.ProcessEnv = {}): Promise<{ ports: Ports; child: ChildProcess }> {
  const folder = temporaryDirectory(t)
  cpSync(ENTRY, folder, { recursive: true })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(ROOT, 'packages/weirjs'), join(folder, 'node_modules/weirjs'))
  if (hasDatabase)
    for (const name of DATABASE_PACKAGES) symlinkSync(join(ROOT, 'bench/node_modules', name), join(folder, 'node_modules', name))
  mkdirSync(join(folder, 'data/static'), { recursive: true })
  writeFileSync(join(folder, 'data/dataset.json'), JSON.stringify(Array.from({ length: 40 }, () => ITEM)))
  writeFileSync(join(folder, 'data/static/reset.css'), STYLE)
  writeFileSync(join(folder, 'data/static/reset.css.br'), brotliCompressSync(STYLE))
  mkdirSync(join(folder, 'certs'))
  writeFileSync(join(folder, 'certs/server.key'), key)
  writeFileSync(join(folder, 'certs/server.crt'), cert)
  const ports = { plain: await freePort(), tls: await freePort(), h2: await freePort(), h2c: await freePort(), renewed: await freePort() }
  const env = {
    ...{ PATH: process.env['PATH'], WORKERS: '1', ADDRESS: '127.0.0.1', DATA_DIR: 'data', CERTS_DIR: 'certs', RENEWED_CERTS_DIR: 'certs' },
    ...{ PORT: String(ports.plain), TLS_PORT: String(ports.tls), H2_PORT: String(ports.h2), H2C_PORT: String(ports.h2c) },
    ...{ RENEWED_PORT: String(ports.renewed), ...(hasDatabase && { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }) },
    ...more,
  }
  const child = spawn(process.execPath, ['server.mjs'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  for (const port of Object.values(ports))
    while (!(await accepts(port))) {
      assert.equal(child.exitCode, null, 'the program ended')
      await pause(20)
    }
  return { ports, child }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => done(true)).on('error', () => done(false))
    socket.on('connect', () => socket.destroy())
  })
}

interface Asked {
  readonly path: string
  readonly method?: string
  readonly body?: string
  readonly fields?: Record<string, string>
}

function overTls(port: number, { path, method = 'GET', body, fields = {} }: Asked) {
  return new Promise<{ status: number | undefined; fields: NodeJS.Dict<string | string[]>; body: Buffer }>((done, fail) => {
    const options = { port, host: '127.0.0.1', path, method, headers: fields, rejectUnauthorized: false, agent: false }
    const asked = request(options, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      done({ status: response.statusCode, fields: response.headers, body: Buffer.concat(chunks) })
    })
    asked.on('error', fail)
    asked.end(body)
  })
}

async function overHttp2(authority: string, path: string): Promise<string> {
  const session = connectHttp2(authority, { rejectUnauthorized: false })
  const stream = session.request({ ':path': path })
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  session.destroy()
  return text
}
