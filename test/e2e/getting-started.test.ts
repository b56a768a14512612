// docs/guide/getting-started.md: its files are those of examples/notes/, and its calls print what the page shows. And the program of the
// site's home page.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'

import { userEnvironment } from '../../packages/weirjs/test/support/packed-package.ts'
import { squeezed } from '../programs.ts'

const PAGE = readFileSync('docs/guide/getting-started.md', 'utf8')
const SOURCE = 'examples/notes'
const COMPILED = 'build/examples/notes'
const PORT = '3000'
/** `--json` exists since curl 7.82. */
const hasCurl = spawnSync('curl', ['--help', 'all'], { encoding: 'utf8' }).stdout?.includes('--json') ?? false
const env = userEnvironment(process.execPath)

test('the files on the page are those of examples/notes/', () => {
  const shown = [...PAGE.matchAll(/^```ts \[(.+)\]\n([\s\S]*?)^```$/gm)].map(([, name, code]) => [name, code])
  const files = readdirSync(SOURCE).map((name) => [name, readFileSync(`${SOURCE}/${name}`, 'utf8')])
  assert.deepEqual(Object.fromEntries(shown), Object.fromEntries(files))
})

/** Runs a program of the page with another port, until it ends or the test does. */
function run(t: TestContext, name: string, port: string) {
  const copy = `${COMPILED}/${name}-${process.pid}.js`
  writeFileSync(copy, readFileSync(`${COMPILED}/${name}.js`, 'utf8').replace(PORT, port))
  const child = spawn(process.execPath, [copy], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => {
    child.kill('SIGKILL')
    rmSync(copy)
  })
  return child
}

test('the calls print what the page shows', { skip: hasCurl ? false : 'curl 7.82 is not on the PATH' }, async (t) => {
  const server = run(t, 'main', '0')
  const [line] = (await once(createInterface(server.stdout), 'line')) as [string]
  const port = /^Try http:\/\/127\.0\.0\.1:(\d+)\/docs$/.exec(line)?.[1] ?? assert.fail(line)
  const calls = [...PAGE.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block]) => block!.trim().split('\n\n'))
  assert.ok(calls.length > 4, 'calls were found')
  for (const call of calls) {
    const [command, ...printed] = call.split('\n')
    const curl = command!.replace(/^curl /, "curl --disable --silent --show-error --noproxy '*' ").replace(PORT, port)
    const { stdout } = spawnSync('sh', ['-c', curl], { encoding: 'utf8', env })
    assert.equal(squeezed(stdout), squeezed(printed.map((one) => one.replace(/^# ?/, '')).join('\n')), command)
  }
  const client = run(t, 'client', port)
  const lines: string[] = []
  for await (const one of createInterface(client.stdout)) lines.push(one)
  const [, shown] = /^\$ node client\.ts\n([\s\S]*?)^```$/m.exec(PAGE) ?? assert.fail('no output of the client')
  assert.deepEqual(lines, shown!.trim().split('\n'))
})

test('the program of the home page prints what stands below it', async (t) => {
  const page = readFileSync('site/hero.md', 'utf8')
  const [, program, calls] = /^```ts \[main\.ts\]\n([\s\S]*?)^```\n\n```sh \[.+\]\n([\s\S]*?)^```$/m.exec(page) ?? assert.fail('no program')
  const copy = `${COMPILED}/hero-${process.pid}.js` // it has no types
  writeFileSync(copy, `${program!.replace('2015', '0')}console.log(server.port)\n`)
  const child = spawn(process.execPath, [copy], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => {
    child.kill('SIGKILL')
    rmSync(copy)
  })
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
  for (const call of calls!.trim().split('\n\n')) {
    const [command, ...printed] = call.replace('\\\n  ', '').split('\n')
    const [, body, path] = /^curl --json '(.+)' 127\.0\.0\.1:2015(\/\w+)$/.exec(command!) ?? assert.fail(command)
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: body! })
    const text = await response.text()
    const shown = response.ok ? text : `${response.status}: ${(JSON.parse(text) as { detail: string }).detail}` // of an error, the page shows this
    assert.equal(shown, printed.map((one) => one.replace(/^# /, '')).join(' '), command)
  }
})

test('the tests of the page pass', () => {
  const { status, stdout } = spawnSync(process.execPath, ['--test', `${COMPILED}/notes.test.js`], { encoding: 'utf8', env })
  assert.equal(status, 0, stdout)
})
