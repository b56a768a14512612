// The example in examples/local-tool: as its user, in Chromium and in a terminal, and attacked.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { RawClient } from '../../packages/weirjs/test/support/raw-client.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

const MAIN = 'examples/local-tool/main.js'
const CLIENT = 'examples/local-tool/client.js'
const EVIL = '<img src=x onerror=window.hit=1>.txt'
const HTML = '<script>window.hit = 1; parent.hit = 1</script>hello from a file'

interface Tool {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  readonly url: string
  readonly launchUrl: string
  readonly token: string
  readonly end: () => Promise<void>
}

/** Starts the tool on a folder with a secret beside it, to which links lead. */
async function started(t: TestContext): Promise<Tool> {
  const top = realpathSync(temporaryDirectory(t))
  const root = join(top, 'home')
  mkdirSync(join(root, 'photos', 'old'), { recursive: true })
  writeFileSync(join(top, 'secret.txt'), 'SECRET')
  mkdirSync(join(top, 'home-2'))
  writeFileSync(join(top, 'home-2', 'secret.txt'), 'SECRET')
  writeFileSync(join(root, 'photos', 'large.bin'), Buffer.alloc(300_000, 1))
  writeFileSync(join(root, 'photos', 'old', 'small.txt'), 'x'.repeat(9_000))
  writeFileSync(join(root, 'hello.txt'), '0123456789'.repeat(100))
  writeFileSync(join(root, 'page.html'), HTML)
  writeFileSync(join(root, EVIL), 'evil')
  symlinkSync(join(top, 'secret.txt'), join(root, 'link.txt'))
  symlinkSync(top, join(root, 'up'))
  const runtime = join(top, 'run')
  mkdirSync(runtime, { mode: 0o700 })
  const env = { ...process.env, XDG_RUNTIME_DIR: runtime, NO_OPEN: '1', NODE_TEST_CONTEXT: undefined }
  const child = spawn(process.execPath, [MAIN, root], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  const end = async (): Promise<void> => {
    child.kill('SIGKILL')
    await gone
  }
  t.after(end)
  let text = ''
  for await (const piece of child.stdout.setEncoding('utf8')) {
    text += piece
    if (text.includes('\n')) break
  }
  const launchUrl = /http:\S+/.exec(text)![0]
  const [name] = spawnSync('ls', [join(runtime, 'weir')], { encoding: 'utf8' })
    .stdout.trim()
    .split('\n')
  const { url, token } = JSON.parse(readFileSync(join(runtime, 'weir', name!), 'utf8')) as { url: string; token: string }
  assert.ok(launchUrl.startsWith(`${url}/_local#token=`))
  return { root, env, url, launchUrl, token, end }
}

/** What the tool knows of the folder, once it has seen everything. */
async function whole({ url, token }: Tool): Promise<{ count: number; size: number; entries: { name: string; size: number }[] }> {
  for (;;) {
    const seen = (await (await fetch(`${url}/api/folder`, { headers: { authorization: `Bearer ${token}` } })).json()) as {
      state: string
      count: number
      size: number
      entries: { name: string; size: number }[]
    }
    if (seen.state === 'done') return seen
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('the example has at most 250 lines besides its page', () => {
  const lines = [MAIN, CLIENT, 'examples/local-tool/scan.js'].map((file) => readFileSync(file, 'utf8').split('\n').length - 1)
  assert.ok(lines.reduce((sum, one) => sum + one, 0) <= 250, lines.join())
})

test('counts what is in the folder, without following links; a second start reuses the first, and a terminal shows the same', async (t) => {
  const tool = await started(t)
  const { count, entries } = await whole(tool)
  assert.equal(count, 5)
  assert.deepEqual(entries[0]!.name, 'photos')
  assert.ok(!entries.some(({ name }) => name === 'up' || name === 'link.txt'))
  const second = spawnSync(process.execPath, [MAIN, tool.root], { env: tool.env, encoding: 'utf8' })
  assert.equal(second.status, 0)
  assert.match(second.stdout, new RegExp(`^It runs already: ${tool.url}/_local#token=`))
  const client = spawnSync(process.execPath, [CLIENT, tool.root], { env: tool.env, encoding: 'utf8' })
  assert.match(client.stdout, /in 5 files \(done\)\n.* photos\/\n/)
  const inner = spawnSync(process.execPath, [CLIENT, tool.root, 'photos/old'], { env: tool.env, encoding: 'utf8' })
  assert.match(inner.stdout, /in 1 files.*\n.*small\.txt/)
  await tool.end()
  const none = spawnSync(process.execPath, [CLIENT, tool.root], { env: tool.env, encoding: 'utf8' })
  assert.deepEqual([none.status, none.stdout], [1, ''])
})

test('no path leads out of the folder, and previews have ranges and run nothing', async (t) => {
  const tool = await started(t)
  const headers = { authorization: `Bearer ${tool.token}` }
  const top = join(tool.root, '..')
  for (const path of [
    '../secret.txt',
    'photos/../../secret.txt',
    '..',
    '',
    '.',
    'photos',
    '/etc/passwd',
    `${top}/secret.txt`,
    '../home-2/secret.txt',
    'link.txt',
    'up/secret.txt',
    'up/home/hello.txt/../../secret.txt',
    'hello.txt\0.png',
    '..\\secret.txt',
    '%2e%2e/secret.txt',
    'none',
  ]) {
    const response = await fetch(`${tool.url}/api/file?path=${encodeURIComponent(path)}`, { headers })
    assert.equal(response.status, 404, path)
    assert.ok(!(await response.text()).includes('SECRET'), path)
  }
  for (const path of ['../home-2', 'up', 'none', 'constructor', '__proto__'])
    assert.equal((await fetch(`${tool.url}/api/folder?path=${encodeURIComponent(path)}`, { headers })).status, 404, path)
  const part = await fetch(`${tool.url}/api/file?path=hello.txt`, { headers: { ...headers, range: 'bytes=5-14' } })
  assert.deepEqual([part.status, await part.text(), part.headers.get('content-range')], [206, '5678901234', 'bytes 5-14/1000'])
  const html = await fetch(`${tool.url}/api/file?path=page.html`, { headers })
  assert.match(html.headers.get('content-type')!, /^text\/plain/)
  assert.equal(html.headers.get('content-security-policy'), "default-src 'none'; sandbox")
  assert.equal(html.headers.get('x-content-type-options'), 'nosniff')
})

test('nothing answers without the token or the cookie, whoever asks', async (t) => {
  const tool = await started(t)
  const port = Number(new URL(tool.url).port)
  for (const [head, ...fields] of [
    ['GET /'],
    ['GET /api/folder'],
    ['GET /api/file?path=hello.txt'],
    ['GET /api/events'],
    ['POST /api/scan', 'Content-Length: 0'],
    ['POST /api/cancel', 'Content-Length: 0'],
    ['GET /api/folder', 'Host: evil.example', 'Origin: http://evil.example'],
  ] as const) {
    const client = await RawClient.connect(port)
    const host = fields.some((field) => field.startsWith('Host')) ? [] : [`Host: 127.0.0.1:${port}`]
    client.send(`${[`${head} HTTP/1.1`, ...host, ...fields].join('\r\n')}\r\n\r\n`)
    const { status, text } = await client.message()
    assert.ok(status === 401 || status === 421, head)
    assert.doesNotMatch(text, /hello\.txt|photos/)
    client.destroy()
  }
})

test('the page shows the folder, previews files, cancels and scans again; names and files run nothing', { skip: noChromium }, async (t) => {
  const tool = await started(t)
  await whole(tool)
  const browser = await launchChromium('--host-resolver-rules=MAP *.evil.example 127.0.0.1')
  t.after(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  const complaints: string[] = []
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(tool.launchUrl)
  await page.locator('#state', { hasText: 'Complete' }).waitFor()
  assert.equal(await page.locator('#list li').count(), 4)
  assert.ok(await page.locator('#map > .tile[data-name=photos] .inner[data-name="large.bin"]').isVisible())
  await page.locator('#map > .tile[data-name=photos]').click()
  await page.locator('nav button', { hasText: 'photos' }).waitFor()
  await page.locator('#list button', { hasText: 'large.bin' }).click()
  await page
    .getByText('No preview: this is no text.')
    .or(page.locator('#preview pre', { hasText: '\x01' }))
    .first()
    .waitFor()
  await page.locator('#close').click()
  await page.locator('nav button').first().click()
  await page.locator('#list button', { hasText: 'page.html' }).click()
  await page.locator('#preview pre', { hasText: 'hello from a file' }).waitFor()
  await page.locator('#close').click()
  await page.locator('#list button', { hasText: EVIL }).click()
  await page.locator('#preview pre', { hasText: 'evil' }).waitFor()
  await page.locator('#close').click()
  assert.equal(await page.evaluate('window.hit'), undefined)
  writeFileSync(join(tool.root, 'new.bin'), Buffer.alloc(500_000, 1))
  await page.locator('#act', { hasText: 'Scan again' }).click()
  await page.locator('#list button', { hasText: 'new.bin' }).waitFor()
  await page.locator('#state', { hasText: 'Complete' }).waitFor()
  await page.setViewportSize({ width: 390, height: 844 })
  assert.ok(((await page.evaluate('document.documentElement.scrollWidth')) as number) <= 390, 'nothing is wider than a phone')
  assert.deepEqual(complaints, [])

  // A page of somebody else, in the same browser.
  const attacker = new HttpServer({ logger: null }).mapGet('/', (_, { response }) => response.html('<!doctype html>'))
  await attacker.start()
  t.after(() => attacker.stop({ grace: 0 }))
  for (const host of ['www.evil.example', '127.0.0.1']) {
    await page.goto(`http://${host}:${attacker.port}/`)
    const got = await page.evaluate(`Promise.all(['/api/folder', '/api/file?path=hello.txt'].map((path) =>
      fetch('${tool.url}' + path, { credentials: 'include' }).then((response) => response.text(), () => 'nothing')))`)
    assert.deepEqual(got, ['nothing', 'nothing'])
  }
  const rebound = await page.goto(`http://rebound.evil.example:${new URL(tool.url).port}/api/folder`)
  assert.ok(rebound!.status() === 401 || rebound!.status() === 421)
})

test('a scan can be cancelled while it works', async () => {
  const { Scan } = (await import(new URL('../../../examples/local-tool/scan.js', import.meta.url).href)) as {
    Scan: new (root: string) => { state: string; start(): Promise<void>; cancel(): void; view(path: string): { count: number } | null }
  }
  const scan = new Scan(realpathSync('node_modules'))
  const running = scan.start()
  while (scan.view('')!.count < 10) await new Promise((resolve) => setImmediate(resolve))
  scan.cancel()
  await running
  assert.equal(scan.state, 'cancelled')
  const { count } = scan.view('')!
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(scan.view('')!.count, count, 'nothing is added any more')
})
