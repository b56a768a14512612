// The page that `debug` shows for an error, in Chromium.

import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'

import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

import { HttpServer, t } from '../../packages/weirjs/src/index.ts'
import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { LOOKS } from '../../packages/weirjs/test/support/demo-page.ts'
import { pageFaults } from '../../packages/weirjs/test/support/page-faults.ts'

const HOSTILE = `<script>document.title = 'run'</script><img src=x onerror="document.title = 'run'">`

let browser: Browser

before(async () => {
  if (noChromium === false) browser = await launchChromium()
})
after(() => browser?.close())

interface Shown {
  readonly page: Page
  /** What the console says, but for the status of the page itself. */
  readonly complaints: string[]
}

async function show(t_: TestContext, path: string, options: BrowserContextOptions = {}): Promise<Shown> {
  const server = new HttpServer('127.0.0.1', 0, { debug: true, logger: null })
  server.mapGet('/orders/:id', { id: t.int }, ({ id }) => {
    throw new Error(`order ${id} cannot be read${HOSTILE}`, { cause: new RangeError('a'.repeat(500)) })
  })
  server.mapGet('/orders/:id/a-rather-long-segment-of-the-path/another-long-segment-of-the-path/:value', () => '')
  await server.start()
  t_.after(() => server.stop({ graceMs: 0 }))
  const context = await browser.newContext(options)
  t_.after(() => context.close())
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (!message.text().startsWith('Failed to load resource: the server responded with a status of')) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(`http://127.0.0.1:${server.port}${path}`)
  return { page, complaints }
}

for (const { name, look } of LOOKS) {
  test(`is styled, and fits on the screen: ${name}`, { skip: noChromium }, async (t_) => {
    for (const path of ['/orders/7', '/orders/x', `/orders/${'x'.repeat(400)}/y`, `/${encodeURIComponent(HOSTILE)}`]) {
      const { page, complaints } = await show(t_, path, look)
      for (const details of await page.locator('details').all()) await details.locator('summary').click()
      assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, path)
      assert.equal(
        await page.evaluate("getComputedStyle(document.querySelector('section')).borderRadius"),
        '8px',
        'its policy allows its style',
      )
      const ground = (await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string
      assert.equal(Number(/\d+/.exec(ground)![0]) < 128, look.colorScheme === 'dark', ground)
      assert.deepEqual(await pageFaults(page), [])
      assert.deepEqual(complaints, [])
    }
  })
}

test('shows what was thrown as text, the line that threw it, and why the route was chosen', { skip: noChromium }, async (t_) => {
  const { page, complaints } = await show(t_, '/orders/7')
  assert.equal(await page.locator('h1').innerText(), `Error: order 7 cannot be read${HOSTILE}`)
  assert.match(await page.locator('pre .at').first().innerText(), /throw new Error\(`order/)
  assert.match(await page.locator('section', { hasText: 'Caused by' }).innerText(), /RangeError: a{100}/)
  assert.match(await page.locator('dt:text-is("route") + dd').innerText(), /^GET \/orders\/:id$/)
  assert.equal(await page.title(), '500 Internal Server Error', 'no script has run')
  assert.deepEqual(complaints, [])
})
