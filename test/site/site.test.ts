// The built documentation, served by weir, in Chromium. `npm run site` builds it.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { after, before, type TestContext, test } from 'node:test'

import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'

import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'

const noSite: string | false = existsSync('site/dist/index.html') ? false : 'the site is not built: npm run site'
const skip = noSite || noChromium
const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 390, height: 844 }
const LOOKS = [
  { name: 'light and wide', look: { colorScheme: 'light', viewport: WIDE } },
  { name: 'light and narrow', look: { colorScheme: 'light', viewport: NARROW } },
  { name: 'dark and wide', look: { colorScheme: 'dark', viewport: WIDE } },
  { name: 'dark and narrow', look: { colorScheme: 'dark', viewport: NARROW } },
] as const
/** One page of each kind: home, lists, files, tabs, a picture, tables, and the reference. The longest would take axe a minute. */
const PAGES = [
  '/',
  '/guide/',
  '/guide/getting-started',
  '/guide/cookies',
  '/guide/request-flow',
  '/limits',
  '/dependencies',
  '/reference/weirjs-static',
]
const axe = noSite === false ? readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8') : ''

let origin: string
let browser: Browser
let stop: () => void = () => {}

before(async () => {
  if (noSite !== false) return
  const server = spawn(process.execPath, ['site/serve.js'], { env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] })
  stop = () => server.kill()
  const [line] = (await once(createInterface(server.stdout), 'line')) as [string]
  origin = /http:\/\/[\d.:]+/.exec(line)?.[0] ?? assert.fail(line)
  if (noChromium === false) browser = await launchChromium()
})
after(async () => {
  await browser?.close()
  stop()
})

interface Visit {
  readonly page: Page
  readonly complaints: string[]
}

async function visit(t: TestContext, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ viewport: WIDE, reducedMotion: 'reduce', ...options })
  t.after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const complaints: string[] = []
  page.on('console', (message) => /^(?:error|warning)$/.test(message.type()) && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { page, complaints }
}

/** Waits until the page's script runs: a click before that selects a tab, of which the script then knows nothing. */
async function hydrated(page: Page): Promise<void> {
  await page.locator('.DocSearch-Button').waitFor()
  await page.locator('.VPSwitchAppearance[title^="Switch to"]').first().waitFor({ state: 'attached' })
}

/** Opens a tab. A click that comes while the page still moves can miss it, as a person's can. */
async function openTab(page: Page, name: string, shown: Locator): Promise<void> {
  await hydrated(page)
  const tab = page.locator('.vp-code-group .tabs label', { hasText: name }).first()
  await eventually(async () => {
    await tab.click()
    return shown.isVisible()
  }, `the tab "${name}"`)
}

for (const { name, look } of LOOKS) {
  test(`pages have no fault that axe finds, and fit on the screen: ${name}`, { skip }, async (t) => {
    const { page, complaints } = await visit(t, look)
    for (const path of PAGES) {
      await page.goto(origin + path, { waitUntil: 'load' })
      await hydrated(page)
      const terminals = page.locator('.vp-code-group .tabs label', { hasText: 'In a terminal' })
      if ((await terminals.count()) > 0) await terminals.first().click()
      await page.evaluate(axe) // by the browser itself, which no policy of the page forbids
      const faults = await page.evaluate<string[]>(
        "axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))",
      )
      assert.deepEqual(faults, [], path)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, `${path} is wider than the screen`)
    }
    const isDark = await page.evaluate("document.documentElement.classList.contains('dark')")
    assert.equal(isDark, look.colorScheme === 'dark')
    assert.deepEqual(complaints, [])
  })
}

test('the search finds a page of the guide and opens it', { skip }, async (t) => {
  const { page, complaints } = await visit(t)
  await page.goto(`${origin}/`)
  await page.locator('.DocSearch-Button').click()
  await page.locator('.search-input').fill('precompressed')
  await page.locator('.result', { hasText: 'Precompressed files' }).first().click()
  await page.waitForURL(/\/guide\/static#precompressed-files$/)
  await page.locator('h1', { hasText: 'Static files' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('the search finds a page of the guide before the error codes that have the very word', { skip }, async (t) => {
  const { page } = await visit(t)
  await page.goto(`${origin}/`)
  await page.locator('.DocSearch-Button').click()
  for (const [word, name] of [
    ['upload', 'uploads'],
    ['session', 'sessions'],
  ] as const) {
    await page.locator('.search-input').fill(word)
    await page.locator(`.result[href^="/guide/${name}"]`).first().waitFor()
    const found = await page.evaluate<string[]>("[...document.querySelectorAll('.result')].map((link) => link.getAttribute('href'))")
    const [first, code] = [`/guide/${name}`, '/errors#weir_'].map((start) => found.findIndex((href) => href.startsWith(start)))
    assert.ok(code === -1 || first! < code!, `${word}: ${found.join(' ')}`)
  }
})

test('a program and what it prints are tabs, which keys change', { skip }, async (t) => {
  const { page, complaints } = await visit(t)
  await page.goto(`${origin}/guide/cookies`)
  await hydrated(page)
  const [program, terminal] = [
    page.locator('.language-ts', { hasText: 'await server.start()' }).first(),
    page.locator('.language-console').first(),
  ]
  await program.waitFor()
  assert.equal(await terminal.isVisible(), false)
  await page.locator('.vp-code-group input').first().focus()
  await page.keyboard.press('ArrowRight')
  await terminal.waitFor()
  assert.match((await terminal.textContent())!, /\$ curl http/)
  assert.equal(await program.isVisible(), false)
  assert.deepEqual(complaints, [])
})

test('of a terminal, the commands are copied, without the prompt and what they print', { skip }, async (t) => {
  const { page, complaints } = await visit(t, { permissions: ['clipboard-read', 'clipboard-write'] })
  await page.goto(`${origin}/guide/logging`)
  const terminal = page.locator('.language-console').first()
  await openTab(page, 'In a terminal', terminal)
  await terminal.hover()
  await terminal.locator('button.copy').click()
  await terminal.locator('button.copy.copied').waitFor()
  const copied = (await page.evaluate<string>('navigator.clipboard.readText()')).split('\n').filter((line) => line !== '')
  assert.equal(copied.length, 3)
  for (const line of copied) assert.match(line, /^curl /)
  assert.match((await terminal.textContent())!, /^.*\$ curl [\s\S]*"WEIR_TARGET_DOT_SEGMENT"/)
  assert.deepEqual(complaints, [])
})

test('what the program itself prints is a tab of its own', { skip }, async (t) => {
  const { page } = await visit(t)
  await page.goto(`${origin}/guide/logging`)
  await openTab(page, 'Where it runs', page.locator('.language-console', { hasText: 'GET /nowhere 404 refused' }))
})

test('every link of the sidebar leads to a page', { skip }, async (t) => {
  const { page } = await visit(t)
  await page.goto(`${origin}/guide/`)
  const links = await page.evaluate<string[]>("[...document.querySelectorAll('.VPSidebar a[href]')].map(({ href }) => href)")
  const addresses = [...new Set(links)]
  assert.ok(addresses.length > 90, `${addresses.length} links`)
  for (const address of addresses) assert.equal((await fetch(address)).status, 200, address)
})

test('a page is compressed, and Markdown for who prefers it', { skip: noSite }, async () => {
  const page = await fetch(`${origin}/guide/routing`, { headers: { accept: 'text/html,*/*;q=0.8', 'accept-encoding': 'br' } })
  assert.equal(page.headers.get('content-encoding'), 'br')
  assert.match(page.headers.get('vary')!, /Accept, Accept-Encoding/)
  assert.match(await page.text(), /^<!DOCTYPE html>/)
  for (const path of ['/guide/routing', '/guide/', '/reference/weirjs-static']) {
    const markdown = await fetch(origin + path, { headers: { accept: 'text/markdown, text/html;q=0.5' } })
    assert.match(markdown.headers.get('content-type')!, /^text\/markdown/)
    assert.match(await markdown.text(), /^# /m)
  }
  const browsers = await fetch(`${origin}/guide/routing`, { headers: { accept: 'text/html, text/markdown;q=0.5' } })
  assert.match(browsers.headers.get('content-type')!, /^text\/html/)
})

test('a page that does not exist is a 404 that a person can read', { skip: noSite }, async () => {
  const missing = await fetch(`${origin}/guide/nothing`, { headers: { accept: 'text/html' } })
  assert.equal(missing.status, 404)
  assert.match(missing.headers.get('content-type')!, /^text\/html/)
})
