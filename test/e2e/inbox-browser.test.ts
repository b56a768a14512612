// The page of the application in examples/inbox, in Chromium.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { LOOKS } from '../../packages/weirjs/test/support/demo-page.ts'
import { pageFaults } from '../../packages/weirjs/test/support/page-faults.ts'
import { type InboxRun, PASSWORD, startInbox } from './inbox-server.ts'

describe('the page of the inbox in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  /** A browser of its own, with the page open. */
  async function visit(t: TestContext, { server }: InboxRun, complaints: string[], options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext(options)
    t.after(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 40[14]/.test(message.text())) complaints.push(message.text())
    })
    await page.goto(`http://localhost:${server.port}/`)
    return page
  }

  async function signIn(page: Page, name: string, button = 'Sign in'): Promise<void> {
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: button }).click()
    await page.getByText(`You are ${name}.`).waitFor()
  }

  test('two people write to each other, with a file, and see messages as they are sent', async (t) => {
    const run = await startInbox(t)
    const complaints: string[] = []
    const [ada, grace] = [await visit(t, run, complaints), await visit(t, run, complaints)]
    await Promise.all([signIn(ada, 'ada'), signIn(grace, 'grace', 'Create an account')])

    await ada.getByLabel('To').fill('grace')
    await ada.getByLabel('Text').fill('<b>hello</b>')
    await ada.getByRole('button', { name: 'Send' }).click()
    await ada.getByRole('status').getByText('Sent.').waitFor()
    await grace.getByRole('listitem').filter({ hasText: 'ada' }).getByText('<b>hello</b>').waitFor()

    await grace.getByLabel('To').fill('ada')
    const buffer = Buffer.from('some notes')
    await grace.getByLabel('or a file').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer })
    await grace.getByRole('button', { name: 'Send' }).click()
    const [download] = await Promise.all([ada.waitForEvent('download'), ada.getByRole('link', { name: 'notes.txt' }).click()])
    assert.equal(download.suggestedFilename(), 'notes.txt')
    assert.deepEqual(readFileSync(await download.path()), buffer)
    assert.deepEqual(readFileSync(join(run.folder, 'notes.txt')), buffer)
    assert.deepEqual(complaints, [])
  })

  test('older messages come in pages, each message once, and a session ends with signing out', async (t) => {
    const run = await startInbox(t)
    const complaints: string[] = []
    const [ada, bob] = [run.store.find('ada'), run.store.find('bob')]
    for (let i = 1; i <= 25; i++) run.store.post(bob, ada, `no. ${i}.`)
    const page = await visit(t, run, complaints)
    await signIn(page, 'ada')
    const items = page.getByRole('listitem')
    await items.nth(19).waitFor()
    run.store.post(bob, ada, 'no. 26.')
    await items.getByText('no. 26.').waitFor()
    await page.getByRole('button', { name: 'Older messages' }).click()
    await items.getByText('no. 1.').waitFor()
    const texts = await items.locator('p').allTextContents()
    assert.deepEqual(
      texts,
      Array.from({ length: 26 }, (_, i) => `no. ${26 - i}.`),
    )
    await page.reload()
    await page.getByText('You are ada.').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    assert.deepEqual(await page.context().cookies(), [])
    assert.deepEqual(complaints, [])
  })

  for (const { name, look } of LOOKS)
    test(`a first visit shows how to come in and nothing of a refusal, and the page has no faults: ${name}`, async (t) => {
      const run = await startInbox(t)
      run.store.post(run.store.find('bob'), run.store.find('ada'), `a long word: ${'x'.repeat(400)}`)
      const page = await visit(t, run, [], look)
      const check = async (): Promise<void> => {
        assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0)
        assert.deepEqual(await pageFaults(page), [])
      }
      await page.getByRole('button', { name: 'Create an account' }).waitFor()
      assert.equal(await page.getByRole('status').innerText(), '')
      await check()
      await signIn(page, 'ada')
      await page.getByRole('listitem').waitFor()
      await check()
      await page.getByRole('button', { name: 'Reply' }).click()
      assert.equal(await page.getByLabel('To').inputValue(), 'bob')
      if (process.env['SCREENSHOTS'])
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/inbox-${name.replaceAll(' ', '-')}.png` })
    })

  test('a mistake is shown to the user', async (t) => {
    const run = await startInbox(t)
    const page = await visit(t, run, [])
    await signIn(page, 'ada')
    await page.getByLabel('To').fill('nobody')
    await page.getByLabel('Text').fill('hello')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('status').getByText('There is no user with this name.').waitFor()
  })
})
