// The inbox as one executable, by the command of docs/guide/embedding.md: it runs in a folder where nothing else is, and keeps its data in one
// file.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { run, toolPath, userEnvironment, withoutTool } from '../../packages/weirjs/test/support/packed-package.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

const NODE_26 = toolPath('node-26', 'bin', 'node') // the first with --build-sea
const skip = existsSync(NODE_26) ? false : withoutTool('node-26')
const JSON_TYPE = { 'Content-Type': 'application/json' }

async function start(t: TestContext, program: string, cwd: string): Promise<{ child: ChildProcess; at: string }> {
  const env = { ...userEnvironment(NODE_26), PORT: '0', INTERNAL_PORT: '0' }
  const child = spawn(program, [], { cwd, env, stdio: 'pipe' })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  let warned = ''
  child.stdout.on('data', (text) => (out += text))
  child.stderr.on('data', (text) => (warned += text))
  await eventually(() => out.includes('\n') || warned !== '', 'its first line')
  assert.equal(warned, '', 'also not of compiled code that is of no use')
  return { child, at: /http:\/\/localhost:\d+/.exec(out)![0] }
}

test('the inbox is one executable, which carries its page and loses nothing that it has confirmed when it is killed', {
  skip,
}, async (t) => {
  const folder = temporaryDirectory(t)
  const program = join(temporaryDirectory(t), 'inbox')
  run(NODE_26, ['examples/inbox/executable/build.js', program], '.')
  const first = await start(t, program, folder)
  assert.equal(await (await fetch(first.at)).text(), readFileSync('examples/inbox/site/index.html', 'utf8'))
  assert.equal((await fetch(`${first.at}/inbox.js`, { headers: { Range: 'bytes=0-9' } })).status, 206)

  const body = JSON.stringify({ name: 'grace', password: 'correct horse' })
  assert.equal((await fetch(`${first.at}/api/users`, { method: 'POST', headers: JSON_TYPE, body })).status, 201)
  const signedIn = await fetch(`${first.at}/api/session`, { method: 'POST', headers: JSON_TYPE, body })
  assert.equal(signedIn.status, 204)
  const headers = { Cookie: signedIn.headers.getSetCookie()[0]!.split(';')[0]! }
  const post = (at: string, text: string) =>
    fetch(`${at}/api/users/grace/messages`, { method: 'POST', headers: { ...headers, ...JSON_TYPE }, body: JSON.stringify({ text }) })
  const texts: string[] = []
  for (let i = 0; i < 20; i++) {
    assert.equal((await post(first.at, `message ${i}`)).status, 201)
    texts.push(`message ${i}`)
  }
  const form = new FormData()
  form.append('file', new File([Buffer.alloc(100_000, 'x')], 'a.bin'))
  assert.equal((await fetch(`${first.at}/api/users/grace/files`, { method: 'POST', headers, body: form })).status, 201)
  const gone = once(first.child, 'exit')
  first.child.kill('SIGKILL')
  await gone

  const second = await start(t, program, folder)
  const { messages } = (await (await fetch(`${second.at}/api/messages?limit=100`, { headers })).json()) as {
    messages: { id: number; text: string; attachment: { size: number } | null }[]
  }
  assert.deepEqual(
    messages.slice(1).map(({ text }) => text),
    texts.toReversed(),
    'with the session of before',
  )
  assert.equal(messages[0]!.attachment?.size, 100_000)
  const attachment = await fetch(`${second.at}/api/messages/${messages[0]!.id}/attachment`, { headers })
  assert.equal((await attachment.arrayBuffer()).byteLength, 100_000)
  assert.equal((await post(second.at, 'once more')).status, 201)
  const ended = once(second.child, 'exit')
  second.child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(readdirSync(folder).sort(), ['inbox.db', 'inbox.db-attachments'])
})
