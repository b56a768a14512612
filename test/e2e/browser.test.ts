// What a person sees: the demo's page in a real browser, sent and read by clicking.
// With SCREENSHOTS=FOLDER it leaves a picture of each look there, for a person to judge.

import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'

import { launchChromium, noChromium } from '../support/chromium.ts'
import { type DemoRun, startDemo } from '../support/demo.ts'

const WIDE = { width: 1280, height: 900 }
const NARROW = { width: 360, height: 740 }

interface Visit extends DemoRun {
  readonly page: Page
  /** Errors and warnings of the console, exceptions that nobody caught, and requests that failed. */
  readonly complaints: string[]
}

/** One route on the page. */
interface RouteCard {
  readonly card: Locator
  send(): Promise<void>
  /** Waits for an answer with that status line. */
  answered(status: string, request: string): Promise<void>
  headers(): Promise<Record<string, string>>
  body(): Promise<string>
}

function routeCard(page: Page, title: string): RouteCard {
  const card = page.getByRole('region', { name: title, exact: true })
  const summary = card.getByRole('status')
  return {
    card,
    send: () => card.getByRole('button', { name: `Send ${title}` }).click(),
    async answered(status, request) {
      await summary.filter({ hasText: status }).filter({ hasText: request }).waitFor()
      assert.match((await summary.textContent()) ?? '', /\d+\.\d ms/)
    },
    async headers() {
      const names = await card.locator('dt').allTextContents()
      const values = await card.locator('dd').allTextContents()
      return Object.fromEntries(names.map((name, i) => [name, values[i]!]))
    },
    body: async () => (await card.getByRole('region', { name: `Body of the answer to ${title}` }).textContent()) ?? '',
  }
}

describe('the page in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  async function visit(t: TestContext, options: BrowserContextOptions = {}): Promise<Visit> {
    const run = await startDemo(t)
    const context = await browser.newContext({ viewport: WIDE, ...options })
    t.after(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(10_000)
    const complaints: string[] = []
    page.on('console', (message) => /^(?:error|warning)$/.test(message.type()) && complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('requestfailed', (request) => complaints.push(`${request.url()} failed`))
    await page.goto(`${run.origin}/`)
    return { ...run, page, complaints }
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [size, viewport] of [
      ['wide', WIDE],
      ['narrow', NARROW],
    ] as const) {
      test(`every request can be sent and read, ${colorScheme} and ${size}, without a complaint`, async (t) => {
        const { page, complaints } = await visit(t, { colorScheme, viewport })

        const user = routeCard(page, 'GET /users/:id')
        await user.card.getByLabel('id in the path').fill('7')
        await user.card.getByLabel('true', { exact: true }).check()
        await user.send()
        await user.answered('200 OK', 'GET /users/7?active=true')
        assert.equal(await user.body(), '{"id":7,"active":true}')
        assert.equal((await user.headers())['content-type'], 'application/json')

        const save = routeCard(page, 'POST /api/user/save')
        await save.card.getByLabel('body as it is sent').fill('Grüße\n  <b>Καλημέρα</b>')
        await save.send()
        await save.answered('200 OK', 'POST /api/user/save')
        assert.equal(await save.body(), 'Grüße\n  <b>Καλημέρα</b>')
        assert.equal((await save.headers())['content-type'], 'text/plain; charset=utf-8')

        const own = routeCard(page, 'GET /')
        await own.send()
        await own.answered('200 OK', 'GET /')
        assert.match(await own.body(), /^<!doctype html>/)
        assert.equal((await own.headers())['accept-ranges'], 'bytes')

        const [content, window] = await page
          .evaluate('[document.documentElement.scrollWidth, innerWidth]')
          .then((sizes) => sizes as number[])
        assert.equal(content, window, 'nothing sticks out at the side')
        const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
        const brightness = Number(/\d+/.exec(String(background))![0])
        assert.equal(brightness < 128, colorScheme === 'dark', `the background is ${background}`)
        assert.deepEqual(complaints, [])
        if (process.env['SCREENSHOTS']) {
          await page.screenshot({ path: `${process.env['SCREENSHOTS']}/demo-${colorScheme}-${size}.png`, fullPage: true })
        }
      })
    }
  }

  test('active that is left out comes back as false', async (t) => {
    const { page } = await visit(t)
    const user = routeCard(page, 'GET /users/:id')
    await user.send()
    await user.answered('200 OK', 'GET /users/42')
    assert.equal(await user.body(), '{"id":42,"active":false}')
  })

  test('an id that is no number shows what the server says about it', async (t) => {
    const { page, complaints } = await visit(t)
    const user = routeCard(page, 'GET /users/:id')
    await user.card.getByLabel('id in the path').fill('a/b?c')
    await user.send()
    await user.answered('400 Bad Request', 'GET /users/a%2Fb%3Fc')
    assert.match(await user.body(), /expected a whole number, got \\"a\/b\?c\\"/)
    assert.equal((await user.headers())['content-type'], 'application/problem+json')
    // Chromium notes each 4xx by itself; nothing else may be there.
    assert.deepEqual(complaints, ['Failed to load resource: the server responded with a status of 400 (Bad Request)'])
  })

  test('what the server repeats enters the page as text, never as markup', async (t) => {
    const { page, complaints } = await visit(t)
    const save = routeCard(page, 'POST /api/user/save')
    const attack = '</pre><script>document.title = "taken"</script><img src=x onerror="document.title = \'taken\'">'
    await save.card.getByLabel('body as it is sent').fill(attack)
    await save.send()
    await save.answered('200 OK', 'POST /api/user/save')
    assert.equal(await save.body(), attack)
    assert.equal(await page.title(), 'weir demo')
    assert.equal(await page.locator('.answer img, .answer script').count(), 0)
    assert.deepEqual(complaints, [])
  })

  test('the keyboard alone is enough', async (t) => {
    const { page } = await visit(t)
    await page.keyboard.press('Tab')
    await page.keyboard.type('13') // replaces: Tab selects what is in a field
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const user = routeCard(page, 'GET /users/:id')
    await user.answered('200 OK', 'GET /users/13?active=true')
    assert.equal(await user.body(), '{"id":13,"active":true}')
  })

  test('a server that is gone is shown as no answer', async (t) => {
    const { page, server } = await visit(t)
    await server.stop({ graceMs: 0 })
    const user = routeCard(page, 'GET /users/:id')
    await user.send()
    await user.answered('No answer', 'GET /users/42')
  })

  test('the page asks for nothing but itself', async (t) => {
    const asked: string[] = []
    const run = await startDemo(t, {}, (server) => {
      server.use((session, next) => {
        asked.push(session.request.url)
        return next()
      })
    })
    const context = await browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    await page.goto(`${run.origin}/`, { waitUntil: 'networkidle' })
    assert.deepEqual(asked, ['/'])
  })
})
