// The inspector behind proxies and tunnels that state nothing, so that what they forward looks like a request of this machine.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspector } from '../../packages/dev/src/index.ts'
import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { freePort, noHaproxy, noNginx, run, runHaproxy, temporaryFolder } from './proxy.ts'

/** `proxy_pass` and nothing else: it sends the address of the server as Host. */
async function bareNginx(t: TestContext, upstream: number): Promise<number> {
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'nginx.conf')
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; events { worker_connections 64; }
http { access_log off; ${paths} server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${upstream}; } } }`,
  )
  await run(t, folder, 'nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], port)
  return port
}

async function haproxy(t: TestContext, upstream: number, mode: string, more: string): Promise<number> {
  const configure = (port: number): string => `
defaults
  mode ${mode}
  timeout connect 5s
  timeout server 10s
  timeout client 10s
frontend front
  bind 127.0.0.1:${port}
  default_backend behind
backend behind
${more}
  server weir 127.0.0.1:${upstream}
`
  return (await runHaproxy(t, configure)).port
}

const FRONTS = [
  { name: 'nginx with proxy_pass alone', skip: noNginx, start: bareNginx },
  {
    name: 'HAProxy with Host: localhost',
    skip: noHaproxy,
    start: (t: TestContext, port: number) => haproxy(t, port, 'http', '  http-request set-header Host localhost'),
  },
  { name: 'a tunnel, such as that of ssh -R', skip: noHaproxy, start: (t: TestContext, port: number) => haproxy(t, port, 'tcp', '') },
]

for (const { name, skip, start } of FRONTS)
  test(`${name} leads nobody to the inspector without its token`, { skip }, async (t) => {
    const told: string[] = []
    const server = new HttpServer('127.0.0.1', 0, { logger: { error: assert.fail, info: (text) => void told.push(text) } })
    server.use(inspector()).mapGet('/', () => 'SECRET')
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const origin = `http://localhost:${await start(t, server.port)}`
    const ask = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${origin}${path}`, { redirect: 'manual', ...init })
      return [response.status, await response.text()] as const
    }
    assert.deepEqual(await ask('/'), [200, 'SECRET'])
    for (const path of ['/_weir', '/_weir/exchanges', '/_weir/exchanges/1', '/_weir/har', '/_weir/events', '/_weir/inspector.js']) {
      const [status, text] = await ask(path)
      assert.equal(status, 401, path)
      assert.ok(!text.includes('SECRET') && !told.some((link) => text.includes(link.split('=')[1]!)), path)
    }
    for (const path of ['/_weir/clear', '/_weir/enter']) assert.equal((await ask(path, { method: 'POST' }))[0], 401)
    // Where nothing shows that it was forwarded, the token is what counts.
    const authorization = `Bearer ${told[0]!.split('=')[1]!}`
    assert.equal((await ask('/_weir/exchanges', { headers: { authorization } }))[0], 200)
  })

test('the printed link opens the page in a browser, and nothing of the token stays in its address', { skip: noChromium }, async (t) => {
  const told: string[] = []
  const server = new HttpServer('127.0.0.1', 0, { logger: { error: assert.fail, info: (text) => void told.push(text) } })
  server.use(inspector()).mapGet('/', () => 'hello')
  const targets: string[] = []
  server.observe({ end: ({ session }) => void targets.push(`${session?.request.rawTarget} ${session?.request.header('referer')}`) })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const browser = await launchChromium()
  t.after(() => browser.close())
  const page = await browser.newPage()
  const link = /http:\S+$/.exec(told[0]!)![0]
  const origin = `http://127.0.0.1:${server.port}`
  await page.goto(`${origin}/_weir`)
  await page.getByRole('heading', { name: 'The inspector is private' }).waitFor()
  await page.goto(`${link}x`) // the page is open already: only its fragment changes
  await page.getByText('This link is not valid').waitFor()
  await page.goto(link)
  await page.locator('#state.live').waitFor()
  assert.equal(page.url(), `${origin}/_weir`)
  await page.goto(link)
  await page.waitForURL(`${origin}/_weir`)
  await page.reload()
  await page.locator('#state.live').waitFor()
  assert.equal(await page.evaluate('document.cookie'), '')
  const [cookie, ...more] = await page.context().cookies()
  assert.deepEqual(
    [cookie!.name, cookie!.httpOnly, cookie!.sameSite, cookie!.path, more.length],
    [`weir-inspector-${server.port}`, true, 'Strict', '/_weir', 0],
  )
  const token = link.split('=')[1]!
  assert.ok(targets.length > 0 && targets.every((text) => !text.includes(token) && text.endsWith(' null')), targets.join('\n'))
})
