// The entry for Http11Probe answers as the board requires.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'
import { freePort } from '../proxies/proxy.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

test('GET, HEAD, POST, OPTIONS, /echo and /cookie', async (t) => {
  const origin = await startEntry(t)
  const get = await fetch(origin)
  assert.deepEqual([get.status, await get.text()], [200, 'OK'])
  const head = await fetch(origin, { method: 'HEAD' })
  assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '2', ''])
  for (const type of ['text/plain', 'multipart/form-data; boundary=a', 'application/x-www-form-urlencoded']) {
    const post = await fetch(origin, { method: 'POST', headers: { 'Content-Type': type }, body: 'hello' })
    assert.deepEqual([post.status, await post.text()], [200, 'hello'])
  }
  const options = await fetch(origin, { method: 'OPTIONS' })
  assert.deepEqual([options.status, options.headers.get('allow')], [200, 'GET, HEAD, POST, OPTIONS'])
  for (const method of ['GET', 'POST', 'DELETE']) {
    const echo = await fetch(`${origin}/echo`, { method, headers: { 'X-One': 'a, b', Content_Length: '99' } })
    const lines = (await echo.text()).split('\n').map((line) => line.toLowerCase())
    assert.ok(echo.status === 200 && lines.includes('x-one: a, b') && lines.includes('content_length: 99'))
  }
  const cookie = await fetch(`${origin}/cookie`, { headers: { Cookie: 'a=1; b=x=y; c=' } })
  assert.deepEqual([cookie.status, await cookie.text()], [200, 'a=1\nb=x=y\nc=\n'])
})

/** Starts the program in a folder of its own, where it finds the built package under its name. */
async function startEntry(t: TestContext): Promise<string> {
  const folder = temporaryDirectory(t)
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(ROOT, 'packages/weirjs'), join(folder, 'node_modules/weirjs'))
  copyFileSync(join(ROOT, 'bench/probe/server.mjs'), join(folder, 'server.mjs'))
  const port = await freePort()
  const child = spawn(process.execPath, ['server.mjs', String(port)], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  while (!(await accepts(port))) {
    assert.equal(child.exitCode, null, 'the program ended')
    await pause(20)
  }
  return `http://127.0.0.1:${port}`
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => done(true)).on('error', () => done(false))
    socket.on('connect', () => socket.destroy())
  })
}
