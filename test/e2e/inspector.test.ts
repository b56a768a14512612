// The page of the inspector, in Chromium.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, type TestContext, test } from 'node:test'

import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { WebSocket } from 'ws'
import { inspector } from '../../packages/dev/src/index.ts'
import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { staticFiles } from '../../packages/weirjs/src/modules/static/index.ts'
import { websocket } from '../../packages/weirjs/src/modules/websocket/index.ts'
import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { LOOKS } from '../../packages/weirjs/test/support/demo-page.ts'
import { pageFaults } from '../../packages/weirjs/test/support/page-faults.ts'

const TOKEN = 'token-of-these-tests-1'
const HOSTILE = `<script>document.title = 'run'</script><img src=x onerror="document.title = 'run'">'"`

let browser: Browser

before(async () => {
  if (noChromium === false) browser = await launchChromium()
})
after(() => browser?.close())

interface Shown {
  readonly origin: string
  readonly page: Page
  readonly complaints: string[]
}

async function show(t: TestContext, options: BrowserContextOptions = {}, before: readonly string[] = []): Promise<Shown> {
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  server.use(inspector({ token: TOKEN }))
  server.use(staticFiles({ assets: { 'note.txt': new TextEncoder().encode('a note') } }))
  server.use(websocket('/talk', { message: (socket, data) => void socket.send(`echo ${String(data)}`) }))
  server.mapGet('/hello/:name', ({ name }) => ({ name }))
  server.mapPost('/echo', (_, { request, response }) => response.header('X-Echo', 'yes').text(request.body))
  server.mapGet('/boom', (_, { request }) => {
    throw new Error(`out of order ${request.header('x-name')}`)
  })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const origin = `http://127.0.0.1:${server.port}`
  for (const path of before) await (await fetch(origin + path)).text()
  const context = await browser.newContext({ ...options, permissions: ['clipboard-read', 'clipboard-write'] })
  t.after(() => context.close())
  const page = await context.newPage()
  const complaints: string[] = []
  await page.goto(`${origin}/_weir#token=${TOKEN}`)
  await page.locator('#state.live').waitFor()
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { origin, page, complaints }
}

for (const { name, look } of LOOKS) {
  test(`is styled, fits on the screen, and has no faults: ${name}`, { skip: noChromium }, async (t) => {
    const { origin, page, complaints } = await show(t, look)
    await (await fetch(`${origin}/hello/${'x'.repeat(400)}?${'y'.repeat(400)}`)).text()
    await (await fetch(`${origin}/boom`, { headers: { 'x-name': 'z'.repeat(400) } })).text()
    await page.locator('.row').nth(1).waitFor()
    const check = async (): Promise<void> => {
      assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0)
      assert.deepEqual(await pageFaults(page), [])
    }
    await check()
    await page.locator('.row').first().click()
    await page.locator('.frame').first().waitFor()
    await check()
    assert.equal(await page.evaluate("getComputedStyle(document.querySelector('pre')).borderRadius"), '8px', 'its policy allows its style')
    const ground = (await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string
    assert.equal(Number(/\d+/.exec(ground)![0]) < 128, look.colorScheme === 'dark', ground)
    assert.deepEqual(complaints, [])
  })
}

test('exchanges appear as they end, and the filter, pause and clear work', { skip: noChromium }, async (t) => {
  const { origin, page, complaints } = await show(t)
  assert.match(await page.locator('#empty').innerText(), /No requests yet/)
  await (await fetch(`${origin}/hello/one`)).text()
  await (await fetch(`${origin}/nowhere`)).text()
  await page.locator('.row', { hasText: '/nowhere' }).waitFor()
  assert.match(await page.locator('.row').last().innerText(), /200\s+GET \/hello\/one/)
  await page.locator('#filter').fill('404')
  assert.equal(await page.locator('.row').count(), 1)
  await page.locator('#filter').fill('')
  await page.locator('#pause').click()
  await (await fetch(`${origin}/hello/two`)).text()
  await page.locator('#pause').click()
  await page.locator('.row', { hasText: '/hello/two' }).waitFor()
  assert.equal(await page.locator('.row').count(), 3)
  await page.locator('#clear').click()
  await page.locator('#empty').waitFor()
  assert.deepEqual(complaints, [])
})

test('whatever a client sends is shown as text, and nothing of it runs', { skip: noChromium }, async (t) => {
  const { origin, page, complaints } = await show(t)
  const name = encodeURIComponent(HOSTILE)
  await (await fetch(`${origin}/hello/${name}?q=${name}`, { headers: { 'x-name': HOSTILE } })).text()
  await (await fetch(`${origin}/echo`, { method: 'POST', body: HOSTILE, headers: { 'content-type': 'text/html' } })).text()
  await (await fetch(`${origin}/boom`, { headers: { 'x-name': HOSTILE } })).text()
  await page.locator('.row').nth(2).waitFor()
  for (const [i, expected] of ['Error: out of order <script>', '<script>document.title', 'x-name: <script>'].entries()) {
    await page.locator('.row').nth(i).click()
    await page.locator('#detail pre', { hasText: expected }).first().waitFor()
  }
  assert.equal(await page.title(), 'weir inspector')
  assert.equal(await page.locator('#detail script, #detail img, #rows script, #rows img').count(), 0)
  assert.deepEqual(complaints, [])
})

test('the keyboard chooses an exchange, Escape closes it, and / goes to the filter', { skip: noChromium }, async (t) => {
  const { origin, page } = await show(t)
  for (const one of ['a', 'b', 'c']) await (await fetch(`${origin}/hello/${one}`)).text()
  await page.locator('.row').nth(2).waitFor()
  await page.locator('#rows').focus()
  await page.keyboard.press('ArrowDown')
  await page.locator('#detail h2', { hasText: '/hello/c' }).waitFor()
  await page.keyboard.press('End')
  await page.locator('#detail h2', { hasText: '/hello/a' }).waitFor()
  assert.match((await page.locator('#rows').getAttribute('aria-activedescendant'))!, /^row-\d+$/)
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('#detail').isVisible(), false)
  await page.keyboard.press('/')
  assert.equal(await page.evaluate('document.activeElement.id'), 'filter')
})

test('opens with the newest failure, and the arrow keys work at once', { skip: noChromium }, async (t) => {
  const { page } = await show(t, {}, ['/boom', '/hello/a', '/boom?newest', '/nowhere', '/hello/b', '/_weir-reload'])
  await page.locator('#detail h2', { hasText: '/boom?newest' }).waitFor()
  await page.locator('.frame').first().waitFor()
  await page.keyboard.press('ArrowUp')
  await page.locator('#detail h2', { hasText: '/nowhere' }).waitFor()
  await page.keyboard.press('Home')
  await page.locator('#detail h2', { hasText: '/hello/b' }).waitFor()
  await page.locator('#filter').fill('a')
  await page.keyboard.press('Home')
  assert.equal(await page.evaluate('document.activeElement.selectionStart'), 0, 'keys of the filter are its own')
  assert.ok((await page.locator('#detail h2').innerText()).includes('/hello/b'))
})

test('without a failure, it opens with what was refused last, and without that, with the newest', { skip: noChromium }, async (t) => {
  const refused = await show(t, {}, ['/nowhere', '/hello/a'])
  await refused.page.locator('#detail h2', { hasText: '/nowhere' }).waitFor()
  const fine = await show(t, {}, ['/hello/a', '/hello/b'])
  await fine.page.locator('#detail h2', { hasText: '/hello/b' }).waitFor()
})

test('a file has the module that answered, in the list, the details and the explanation', { skip: noChromium }, async (t) => {
  const { page, complaints } = await show(t, {}, ['/note.txt'])
  assert.match(await page.locator('.row .when').innerText(), /^static \//)
  assert.match(await page.locator('.facts').innerText(), /static \//)
  await page.locator('#detail pre', { hasText: /^static \/.* has answered\. Without it:/ }).waitFor()
  await page.locator('#filter').fill('static')
  assert.equal(await page.locator('.row').count(), 1)
  assert.deepEqual(complaints, [])
})

test('the messages of a WebSocket are shown, in both directions', { skip: noChromium }, async (t) => {
  const { origin, page, complaints } = await show(t)
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/talk`)
  t.after(() => socket.terminate())
  await once(socket, 'open')
  const answered = once(socket, 'message')
  socket.send('good morning')
  await answered
  await page.locator('.row', { hasText: '101' }).click()
  await page.locator('.messages .received', { hasText: 'good morning' }).waitFor()
  await page.locator('.messages .sent', { hasText: 'echo good morning' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('on a narrow screen, the arrows stay in the list, and Enter opens an exchange', { skip: noChromium }, async (t) => {
  const { origin, page } = await show(t, { viewport: { width: 360, height: 740 } })
  for (const one of ['a', 'b']) await (await fetch(`${origin}/hello/${one}`)).text()
  await page.locator('.row').nth(1).waitFor()
  await page.locator('#rows').focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  assert.equal(
    await page
      .locator('.row[aria-selected=true]')
      .innerText()
      .then((text) => text.includes('/hello/a')),
    true,
  )
  assert.equal(await page.evaluate('document.activeElement.id'), 'rows')
  await page.keyboard.press('Enter')
  await page.locator('#detail h2', { hasText: '/hello/a' }).waitFor()
  await page.waitForFunction("document.activeElement.id === 'back'")
  await page.keyboard.press('Enter')
  assert.equal(await page.locator('#detail').isVisible(), false)
  assert.equal(await page.evaluate('document.activeElement.id'), 'rows')
})

test('copies a request as curl and as inject; curl sends the same again', { skip: noChromium }, async (t) => {
  const { origin, page } = await show(t)
  await (
    await fetch(`${origin}/echo?a=[1]`, { method: 'POST', body: `it's "this" $HOME \`x\``, headers: { 'content-type': 'text/plain' } })
  ).text()
  await page.locator('.row').first().click()
  await page.getByText('Copy as curl').click()
  await page.getByText('Copied').waitFor()
  const command = (await page.evaluate('navigator.clipboard.readText()')) as string
  const { spawnSync } = await import('node:child_process')
  const { spawn } = await import('node:child_process')
  if (spawnSync('curl', ['--version']).status === 0) {
    const curl = spawn('sh', ['-c', `${command} -s`.replace(/ -- (.*) -s$/, ' -s -- $1')])
    let out = ''
    curl.stdout.on('data', (chunk) => (out += chunk))
    await new Promise((resolve) => curl.on('close', resolve))
    assert.match(out, /^HTTP\/1\.1 200/)
    assert.ok(out.endsWith(`it's "this" $HOME \`x\``), out)
    await page.locator('.row').nth(1).waitFor()
  }
  await page.getByText('Copy as inject').click()
  const inject = (await page.evaluate('navigator.clipboard.readText()')) as string
  assert.match(inject, /^const response = await server\.inject\(\{\n {4}method: "POST",\n {4}url: "\/echo\?a=\[1\]",/)
  const download = page.waitForEvent('download')
  await page.getByText('Save as test').click()
  assert.match((await download).suggestedFilename(), /^exchange-\d+\.test\.js$/)
})
