// How `weir dev` and its program end.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually } from '../../../weirjs/test/support/serving.ts'
import { programFolder, RunningWeir } from '../support/command.ts'

const skip = process.platform === 'win32' && 'sockets cannot be passed on here'
const COMMAND = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
const APP = `import { HttpServer } from 'weirjs'
  const server = new HttpServer('127.0.0.1', 0)
  server.mapGet('/', () => 'hello')
  console.error('program', process.pid)
  await server.run()`
const READY = /ready in/

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('with a channel to a process that is killed, the command ends, and its program too', { skip }, async (t) => {
  const folder = programFolder(t, {
    'app.js': APP,
    'parent.mjs': `import { spawn } from 'node:child_process'
      const stdio = ['ignore', 'ignore', 'inherit', 'ipc']
      console.error('command', spawn(process.execPath, [${JSON.stringify(COMMAND)}, 'dev', 'app.js'], { stdio }).pid)`,
  })
  const parent = spawn(process.execPath, ['parent.mjs'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let printed = ''
  parent.stderr.on('data', (chunk) => (printed += chunk))
  await eventually(() => READY.test(printed), 'a program that listens')
  const pids = [...printed.matchAll(/(?:command|program) (\d+)/g)].map(([, pid]) => Number(pid))
  t.after(() => {
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  assert.ok(pids.length >= 2, printed)
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  await eventually(() => !pids.some(isAlive), 'no process')
})

test('on SIGTERM the command says why it stops', { skip }, async (t) => {
  const weir = new RunningWeir(t, programFolder(t, { 'app.js': APP }), 'dev', 'app.js')
  await weir.prints(READY)
  assert.equal(await weir.end('SIGTERM'), 0)
  assert.match(weir.printed, /, ready in \d+ ms\nweir: it stops, because of SIGTERM\n$/)
})

test('nothing is printed about a program that awaits run() when its sockets are opened', { skip }, async (t) => {
  const weir = new RunningWeir(t, programFolder(t, { 'app.js': APP }), 'dev', 'app.js')
  await weir.prints(READY)
  assert.equal(await weir.end('SIGINT'), 0)
  assert.match(
    weir.printed,
    /^weir: \S+ starts again when you save a file; Ctrl\+C stops it\nprogram \d+\nweir: it starts once more, with sockets that stay open from now on\nprogram \d+\nweir: \S+, 1 route, ready in \d+ ms\n$/,
  )
})
