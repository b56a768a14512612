// The programs of docs/guide/local.md, followed as a new user would: a page, a launch URL, and a command-line client.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

/** Below the repository, so that the package is found by its name. */
const FOLDER = 'build/guides/local'
const page = readFileSync('docs/guide/local.md', 'utf8')
const files = new Map([...page.matchAll(/[Ss]ave this as `([\w.]+)`:\n\n```js\n([\s\S]*?)^```$/gm)].map(([, name, code]) => [name!, code!]))

interface Followed {
  readonly env: NodeJS.ProcessEnv
  readonly launchUrl: string
  run(...args: string[]): { status: number | null; stdout: string; stderr: string }
}

async function followed(t: TestContext): Promise<Followed> {
  assert.deepEqual([...files.keys()], ['main.js', 'count.js'])
  mkdirSync(FOLDER, { recursive: true })
  for (const [name, code] of files) writeFileSync(join(FOLDER, name), code)
  writeFileSync(join(FOLDER, 'package.json'), '{"type":"module"}')
  const env = { ...process.env, XDG_RUNTIME_DIR: temporaryDirectory(t), NODE_TEST_CONTEXT: undefined }
  const child = spawn(process.execPath, ['main.js', '--no-open'], { cwd: FOLDER, env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
    rmSync(FOLDER, { recursive: true })
  })
  let text = ''
  for await (const piece of child.stdout.setEncoding('utf8')) {
    text += piece
    if (text.includes('\n')) break
  }
  const run = (...args: string[]) => spawnSync(process.execPath, args, { cwd: FOLDER, env, encoding: 'utf8' })
  return { env, launchUrl: /^Counter: (http\S+)\n/.exec(text)![1]!, run }
}

test('the page, its launch URL, a second start and another browser do what the guide says', { skip: noChromium }, async (t) => {
  const { launchUrl, run } = await followed(t)
  const browser = await launchChromium()
  t.after(() => browser.close())
  const mine = await browser.newPage()
  await mine.goto(launchUrl)
  await mine.locator('button').click()
  await mine.locator('h1', { hasText: '1' }).waitFor()
  const client = run('count.js')
  assert.deepEqual([client.status, client.stdout, client.stderr], [0, '2\n', ''])
  const second = run('main.js', '--no-open')
  assert.equal(second.status, 0, 'the second process ends')
  const [, secondUrl] = /^Counter: (http\S+)\n$/.exec(second.stdout)!
  assert.equal(new URL(secondUrl!).origin, new URL(launchUrl).origin)
  const theirs = await (await browser.newContext()).newPage()
  assert.equal((await theirs.goto(new URL('/', launchUrl).href))!.status(), 401)
  assert.match(await theirs.innerText('main'), /Start counter again/)
  await theirs.goto(secondUrl!)
  await theirs.locator('h1', { hasText: '2' }).waitFor()
})

test('without the program, the client says what to do; it has about ten lines, and other programs need the file alone', async (t) => {
  const { env, run, launchUrl } = await followed(t)
  assert.ok(files.get('count.js')!.trim().split('\n').length <= 10)
  const { url, token } = JSON.parse(readFileSync(join(env['XDG_RUNTIME_DIR']!, 'weir', 'counter.json'), 'utf8')) as Record<string, string>
  assert.equal(url, new URL(launchUrl).origin)
  assert.equal(await (await fetch(`${url}/count`, { headers: { authorization: `Bearer ${token}` } })).text(), '{"count":0}')
  const elsewhere = spawnSync(process.execPath, ['count.js'], {
    cwd: FOLDER,
    env: { ...env, XDG_RUNTIME_DIR: temporaryDirectory(t) },
    encoding: 'utf8',
  })
  assert.deepEqual([elsewhere.status, elsewhere.stderr], [1, 'The counter does not run: start it with node main.js\n'])
  assert.equal(run('count.js').stdout, '1\n')
})
