// The demo as a program: what it prints, and how it ends.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { WebSocket } from 'ws'

import { temporaryFolder } from '../../packages/weirjs/test/support/demo.ts'
import { within } from '../../packages/weirjs/test/support/serving.ts'

const MAIN = fileURLToPath(new URL('../../examples/demo/main.js', import.meta.url))

interface Run {
  readonly child: ChildProcess
  readonly ended: Promise<{ code: number | null; signal: string | null; out: string; err: string }>
  /** The match of `pattern`, once it has been printed. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
}

async function runDemo(t: TestContext, PORT: string): Promise<Run> {
  const env = { ...process.env, PORT, TMPDIR: await temporaryFolder(t) }
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (err += chunk))
  const ended = once(child, 'close').then(([code, signal]) => ({ code: code as number | null, signal: signal as string | null, out, err }))
  const printed = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(out)
        if (match !== null) resolve(match)
      }
      child.stdout.on('data', look)
      ended.then(() => reject(new Error(`the demo ended: ${err}`)))
      look()
    })
  return { child, ended, printed }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`prints its address, and exits with code 0 on ${signal} although a client keeps its connection open`, async (t) => {
    const { child, ended, printed } = await runDemo(t, '0')
    const [, origin] = await within(printed(/(http:\/\/127\.0\.0\.1:\d+)\//), 'the address')
    assert.deepEqual(await (await fetch(`${origin}/users/42`)).json(), { id: 42, active: false })
    child.kill(signal)
    const end = await within(ended, 'the end')
    assert.deepEqual([end.code, end.signal, end.err], [0, null, ''])
    assert.match(end.out, /Stopped\.\n$/)
  })
}

test('exits with code 0 on SIGTERM although clients have the clock and the chat open', async (t) => {
  const { child, ended, printed } = await runDemo(t, '0')
  const [, origin] = await within(printed(/(http:\/\/127\.0\.0\.1:\d+)\//), 'the address')
  const clock = await fetch(`${origin}/clock`)
  const guest = new WebSocket(`${origin!.replace('http', 'ws')}/chat/lobby?name=Ada`)
  await within(once(guest, 'open'), 'the chat')
  const left = once(guest, 'close')
  child.kill('SIGTERM')
  assert.match(await within(clock.text(), 'the end of the clock'), /: the server is stopping\n\n$/)
  assert.equal((await within(left, 'the end of the chat'))[0], 1001)
  const end = await within(ended, 'the end')
  assert.deepEqual([end.code, end.signal, end.err], [0, null, ''])
})

test('prints one line if its port is in use, and exits with code 1', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const { port } = other.address() as { port: number }
  const { code, out, err } = await within((await runDemo(t, String(port))).ended, 'the end')
  assert.equal(code, 1)
  assert.equal(out, '')
  assert.match(err, new RegExp(`^Port ${port} on 127\\.0\\.0\\.1 is in use.*PORT.*\\n$`))
})

test('prints one line if PORT is not a port, and exits with code 1', async (t) => {
  for (const PORT of ['abc', '65536', '-1', '80.5']) {
    const { code, err } = await within((await runDemo(t, PORT)).ended, 'the end')
    assert.equal(code, 1)
    assert.match(err, /^PORT is ".*", not a port number from 0 to 65535\.\n$/)
  }
})
