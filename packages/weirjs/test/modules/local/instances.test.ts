// How the programs of one user find each other, and what becomes of instances that meet, crash or lie.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { HttpServer } from '../../../src/index.ts'
import { findLocal, type LocalOptions, type LocalServer, local } from '../../../src/modules/local/index.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const PROGRAM = fileURLToPath(new URL('../../support/local-process.js', import.meta.url))
const NAME = 'tool'
const isRoot = process.getuid?.() === 0
const notRoot = isRoot ? false : 'only root can make files of another user'

/** The folder of instances, which does not exist yet. */
function ownFolder(t: TestContext): string {
  process.env['XDG_RUNTIME_DIR'] = temporaryDirectory(t)
  return join(process.env['XDG_RUNTIME_DIR'], 'weir')
}

const newServer = (): HttpServer => new HttpServer({ logger: null }).mapGet('/', () => 'hello')

async function started(t: TestContext, options: Partial<LocalOptions> = {}, server = newServer()): Promise<LocalServer> {
  const running = await local(server, { name: NAME, ...options })
  t.after(() => running.stop())
  return running
}

interface Said {
  readonly pid: number
  readonly url: string
  readonly reused: boolean
  readonly launchUrl: string
  readonly code?: string
}

async function process_(t: TestContext, single = 'reuse'): Promise<{ readonly child: ChildProcess; readonly said: Said }> {
  const child = spawn(process.execPath, [PROGRAM, NAME, single], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  let text = ''
  for await (const piece of child.stdout!.setEncoding('utf8')) {
    text += piece
    if (text.includes('\n')) break
  }
  return { child, said: JSON.parse(text) as Said }
}

async function killed({ child }: { readonly child: ChildProcess }): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

test('other programs find url, token and pid in a file of mode 600 in a folder of mode 700, and it ends with the server', async (t) => {
  const folder = ownFolder(t)
  assert.equal(await findLocal(NAME), null)
  assert.ok(!existsSync(folder), 'who only looks makes nothing')
  const old = process.umask(0)
  const running = await started(t).finally(() => process.umask(old))
  const found = (await findLocal(NAME))!
  assert.deepEqual(found, { url: running.url, token: found.token, pid: process.pid })
  assert.deepEqual(JSON.parse(readFileSync(join(folder, `${NAME}.json`), 'utf8')), found)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  assert.equal(statSync(join(folder, `${NAME}.json`)).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(folder), [`${NAME}.json`])
  assert.equal(await (await fetch(running.url, { headers: { authorization: `Bearer ${found.token}` } })).text(), 'hello')
  await running.stop()
  assert.deepEqual(readdirSync(folder), [])
  assert.equal(await findLocal(NAME), null)
})

test('however the server is stopped, the file ends; a second start has another token and another cookie', async (t) => {
  const folder = ownFolder(t)
  const server = newServer()
  await started(t, {}, server)
  const first = (await findLocal(NAME))!
  await assert.rejects(local(server, { name: NAME }), { code: 'WEIR_SERVER_STATE' })
  await server.stop()
  assert.deepEqual(readdirSync(folder), [])
  const running = await started(t, {}, server)
  const second = (await findLocal(NAME))!
  assert.notEqual(second.token, first.token)
  assert.equal((await fetch(running.url, { headers: { authorization: `Bearer ${first.token}` } })).status, 401)
  assert.equal((await fetch(running.url, { headers: { authorization: `Bearer ${second.token}` } })).status, 200)
})

test('a preferred port is used if it is free, and another one if it is taken', async (t) => {
  ownFolder(t)
  const other = createNetServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const elsewhere = await started(t, { port })
  assert.notEqual(elsewhere.port, port)
  await elsewhere.stop()
  other.close()
  await once(other, 'close')
  const running = await started(t, { port })
  assert.equal(running.port, port)
  assert.equal(running.url, `http://127.0.0.1:${port}`)
})

test('reuse: a second start gets the first one, a launch URL of it, and a stop that does nothing', async (t) => {
  ownFolder(t)
  const first = await process_(t)
  assert.equal(first.said.reused, false)
  const server = newServer()
  const running = await started(t, {}, server)
  assert.deepEqual([running.reused, running.url, server.isListening], [true, first.said.url, false])
  await running.stop()
  const launchUrl = running.newLaunchUrl()
  assert.ok(launchUrl.startsWith(`${first.said.url}/_local#token=`))
  assert.notEqual(launchUrl, first.said.launchUrl)
  const token = launchUrl.split('=')[1]!
  const response = await fetch(`${running.url}/_local/enter`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, origin: running.url },
  })
  assert.equal(response.status, 204)
})

test('error: a second start rejects, and says where the first one is', async (t) => {
  const folder = ownFolder(t)
  const first = await started(t)
  const server = newServer()
  await assert.rejects(local(server, { name: NAME, single: 'error' }), { code: 'WEIR_LOCAL_RUNNING', message: new RegExp(first.url) })
  assert.equal(server.isListening, false)
  assert.deepEqual(readdirSync(folder), [`${NAME}.json`])
})

test('many: both run, the newest is found, and the end of the older one leaves its file', async (t) => {
  ownFolder(t)
  const first = await started(t, { single: 'many' })
  const firstToken = (await findLocal(NAME))!.token
  const second = await started(t, { single: 'many' })
  assert.notEqual(second.url, first.url)
  assert.equal((await findLocal(NAME))!.url, second.url)
  assert.equal((await fetch(second.url, { headers: { authorization: `Bearer ${firstToken}` } })).status, 401)
  await first.stop()
  assert.equal((await findLocal(NAME))!.url, second.url)
})

test('of eight starts at the same moment, one wins, and the others reuse it', async (t) => {
  const folder = ownFolder(t)
  const all = await Promise.all(Array.from({ length: 8 }, () => process_(t)))
  assert.equal(all.filter(({ said }) => said.reused === false).length, 1, JSON.stringify(all.map(({ said }) => said)))
  assert.equal(new Set(all.map(({ said }) => said.url)).size, 1)
  assert.deepEqual(readdirSync(folder), [`${NAME}.json`])
})

test('a crashed instance, and one that crashed while it started, do not hinder the next', async (t) => {
  const folder = ownFolder(t)
  const crashed = await process_(t)
  await killed(crashed)
  assert.ok(existsSync(join(folder, `${NAME}.json`)))
  assert.equal(await findLocal(NAME), null)
  writeFileSync(join(folder, `${NAME}.lock`), `${crashed.said.pid} 0123456789abcdef`)
  const all = await Promise.all(Array.from({ length: 4 }, () => process_(t)))
  assert.equal(all.filter(({ said }) => said.reused === false).length, 1)
  assert.deepEqual(readdirSync(folder), [`${NAME}.json`])
})

test('a lock that nobody removes for a minute is void, whoever has its process id now', async (t) => {
  const folder = ownFolder(t)
  mkdirSync(folder, { mode: 0o700 })
  const lock = join(folder, `${NAME}.lock`)
  writeFileSync(lock, `${process.pid} 0123456789abcdef`)
  utimesSync(lock, new Date(), new Date(Date.now() - 120_000))
  assert.equal((await started(t)).reused, false)
})

test('another program on the port of a crashed instance is not taken for it, and gets no token', async (t) => {
  const folder = ownFolder(t)
  const crashed = await process_(t)
  const { token } = JSON.parse(readFileSync(join(folder, `${NAME}.json`), 'utf8')) as { token: string }
  await killed(crashed)
  const asked: string[] = []
  const thief = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    response.setHeader('weir-local', String(request.headers['weir-local']).split('.')[1]!)
    response.end(JSON.stringify({ url: 'http://evil.example' }))
  })
  thief.listen(Number(new URL(crashed.said.url).port), '127.0.0.1')
  await once(thief, 'listening')
  t.after(() => thief.close())
  // Its process id has been given to another process, too.
  writeFileSync(join(folder, `${NAME}.json`), JSON.stringify({ url: crashed.said.url, token, pid: process.pid }), { mode: 0o600 })
  assert.equal(await findLocal(NAME), null)
  const running = await started(t)
  assert.equal(running.reused, false)
  assert.ok(asked.length >= 2, 'it was asked')
  assert.ok(!asked.join().includes(token))
  assert.equal((await findLocal(NAME))!.url, running.url)
})

const LIES: Readonly<Record<string, string>> = {
  empty: '',
  'no JSON': '{"url":',
  null: 'null',
  'an address of others': '{"url":"http://127.0.0.1:1@evil.example","token":"0123456789012345678901","pid":1}',
  'no token': '{"url":"http://127.0.0.1:1","pid":1}',
  'a group of processes': '{"url":"http://127.0.0.1:1","token":"0123456789012345678901","pid":-1}',
  long: `{"url":"http://127.0.0.1:1","token":"0123456789012345678901","pid":1}${' '.repeat(5000)}`,
}
for (const [what, text] of Object.entries(LIES))
  test(`a file that says nothing useful (${what}) is stale, and the next start replaces it`, async (t) => {
    const folder = ownFolder(t)
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, `${NAME}.json`), text, { mode: 0o600 })
    assert.equal(await findLocal(NAME), null)
    await started(t)
    assert.equal((await findLocal(NAME))!.pid, process.pid)
  })

/** What somebody could have put where we read and write. */
const TRAPS: Readonly<Record<string, (file: string, folder: string) => void>> = {
  'a link to a file': (file, folder) => {
    writeFileSync(join(folder, '..', 'other'), '{}', { mode: 0o600 })
    symlinkSync(join(folder, '..', 'other'), file)
  },
  'a second name of a file': (file, folder) => {
    writeFileSync(join(folder, '..', 'other'), '{}', { mode: 0o600 })
    linkSync(join(folder, '..', 'other'), file)
  },
  'a file that others can read': (file) => {
    writeFileSync(file, '{}')
    chmodSync(file, 0o644)
  },
  'a folder': (file) => mkdirSync(file),
  'a pipe': (file) => assert.equal(spawnSync('mkfifo', [file]).status, 0),
}
for (const [what, set] of Object.entries(TRAPS))
  test(`refuses ${what} in place of the file, and writes nothing there`, async (t) => {
    const folder = ownFolder(t)
    mkdirSync(folder, { mode: 0o700 })
    const file = join(folder, `${NAME}.json`)
    set(file, folder)
    const before = lstatSync(file)
    await assert.rejects(findLocal(NAME), { code: 'WEIR_LOCAL_FILE' })
    const server = newServer()
    await assert.rejects(local(server, { name: NAME }), { code: 'WEIR_LOCAL_FILE' })
    assert.equal(server.isListening, false)
    assert.deepEqual([lstatSync(file).ino, lstatSync(file).mode], [before.ino, before.mode])
    assert.deepEqual(readdirSync(folder), [`${NAME}.json`])
  })

test('refuses a folder that is a link', async (t) => {
  const folder = ownFolder(t)
  symlinkSync(temporaryDirectory(t), folder)
  await assert.rejects(local(newServer(), { name: NAME }), { code: 'WEIR_LOCAL_FILE' })
  await assert.rejects(findLocal(NAME), { code: 'WEIR_LOCAL_FILE' })
})

test('a folder that others can read is closed to them', async (t) => {
  const folder = ownFolder(t)
  mkdirSync(folder)
  chmodSync(folder, 0o777)
  await started(t)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
})

test('refuses what another user owns', { skip: notRoot }, async (t) => {
  const folder = ownFolder(t)
  mkdirSync(folder, { mode: 0o700 })
  const file = join(folder, `${NAME}.json`)
  writeFileSync(file, '{}', { mode: 0o600 })
  chownSync(file, 65_534, 65_534)
  await assert.rejects(findLocal(NAME), { code: 'WEIR_LOCAL_FILE', message: /belongs to user 65534/ })
  await assert.rejects(local(newServer(), { name: NAME }), { code: 'WEIR_LOCAL_FILE' })
  chownSync(folder, 65_534, 65_534)
  await assert.rejects(local(newServer(), { name: NAME }), { code: 'WEIR_LOCAL_FILE' })
})

test('another user of the machine can read neither the file nor the folder, and reaches nothing', { skip: notRoot }, async (t) => {
  const folder = ownFolder(t)
  chmodSync(join(folder, '..'), 0o755)
  const running = await started(t)
  const code = `
    const { readFileSync, readdirSync, writeFileSync } = require('node:fs')
    const said = (act) => { try { return String(act()) } catch ({ code }) { return code } }
    const [folder, url] = process.argv.slice(1)
    console.log(said(() => readFileSync(folder + '/${NAME}.json')), said(() => readdirSync(folder)), said(() => writeFileSync(folder + '/${NAME}.lock', '')))
    fetch(url).then(({ status }) => console.log(status))`
  const child = spawn(process.execPath, ['-e', code, folder, running.url], { uid: 65_534, gid: 65_534, cwd: '/' })
  let text = ''
  for await (const piece of child.stdout.setEncoding('utf8')) text += piece
  assert.equal(text, 'EACCES EACCES EACCES\n401\n')
})

for (const name of ['', 'A', '../x', 'a/b', 'a\\b', '.hidden', 'con', 'nul.x', 'x'.repeat(65), 'é', 'a b', 'a"b', 1, null, undefined])
  test(`refuses the name ${JSON.stringify(name)}`, async (t) => {
    ownFolder(t)
    await assert.rejects(local(newServer(), { name: name as string }), { code: 'WEIR_OPTION_INVALID', message: /name/ })
    await assert.rejects(findLocal(name as string), { code: 'WEIR_OPTION_INVALID' })
  })

test('refuses servers that no browser on this machine could open, or that others can', async (t) => {
  ownFolder(t)
  for (const [options, message] of [
    [{ address: '0.0.0.0' }, /0\.0\.0\.0 can be reached by others/],
    [{ address: '::' }, /can be reached by others/],
    [{ address: '192.168.1.1' }, /can be reached by others/],
    [{ listen: [{ port: 0 }, { address: '0.0.0.0', name: 'second' }] }, /can be reached by others/],
    [{ listen: [{ fd: 9 }] }, /an inherited socket can be reached/],
    [{ unixSocket: '/tmp/none.sock' }, /Unix socket/],
    [{ http2: 'cleartext' }, /cleartext/],
    [{ basePath: '/app' }, /basePath/],
    [{ basePath: 'x-forwarded-prefix', proxies: { trust: ['loopback'] } }, /basePath/],
  ] as const)
    await assert.rejects(local(new HttpServer({ logger: null, ...options }), { name: NAME }), { code: 'WEIR_OPTION_INVALID', message })
  for (const wrong of [{ port: -1 }, { port: 65_536 }, { single: 'yes' }, { exposed: 1 }, { nmae: 'x' }])
    await assert.rejects(local(newServer(), { name: NAME, ...wrong } as LocalOptions), { code: 'WEIR_OPTION_INVALID' })
})
