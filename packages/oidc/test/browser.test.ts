// Logins of a person: Chromium, the app on localhost, and the provider on 127.0.0.1, which is another site.

import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser, Page } from 'playwright-core'

import { HttpServer } from '../../weirjs/src/index.ts'
import { memorySessions, type SessionsOptions, sealed, sessions } from '../../weirjs/src/modules/sessions/index.ts'
import { launchChromium, noChromium } from '../../weirjs/test/support/chromium.ts'
import { CLIENT, startProvider } from '../../weirjs/test/support/identity-provider.ts'
import { keyOf } from '../../weirjs/test/support/user-sessions.ts'
import { oidc } from '../src/index.ts'

async function startApp(t: TestContext, store: SessionsOptions['store']): Promise<string> {
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const origin = `http://localhost:${server.port}`
  const { issuer } = await startProvider(t, [origin])
  const users = sessions({ store })
  const login = oidc({ sessions: users, issuer, ...CLIENT, keys: [keyOf('one')] })
  server.use(users)
  server.use(login)
  const page = (path: string, session: Parameters<typeof users.of>[0]): void => {
    const { principal } = users.of(session)
    session.response.html(
      principal === null
        ? `<title>${path}</title><p>nobody</p><a href="${login.loginPath}?return=${path}">Log in</a>`
        : `<title>${path}</title><p>${principal.name}</p><form method=post action="${login.logoutPath}"><button>Log out</button></form>`,
    )
  }
  for (const path of ['/', '/one', '/two']) server.mapGet(path, (_, session) => page(path, session))
  return origin
}

async function logIn(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name: 'Log in' }).click()
  await fill(page, name)
}

/** Fills the forms of the provider. It asks a person only once to agree. */
async function fill(page: Page, name: string, agrees = true): Promise<void> {
  await page.locator('input[name=login]').fill(name)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  if (agrees) await page.locator('button[type=submit]').click()
}

const textOf = (page: Page) => page.locator('p').textContent()

describe('in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser.close())

  for (const [title, storeOf] of Object.entries({ sealed: () => sealed({ keys: [keyOf('one')] }), 'in a store': () => memorySessions() }))
    test(`a person logs in, stays, and logs out everywhere, with sessions ${title}`, async (t) => {
      const origin = await startApp(t, storeOf())
      const context = await browser.newContext()
      t.after(() => context.close())
      const page = await context.newPage()
      await page.goto(`${origin}/one`)
      await logIn(page, 'ann')
      await page.waitForURL(`${origin}/one`)
      assert.equal(await textOf(page), 'ANN')
      await page.goto(`${origin}/two`)
      assert.equal(await textOf(page), 'ANN')
      const names = (await context.cookies(origin)).map(({ name }) => name)
      assert.deepEqual(names, ['__Host-session'])
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByRole('button', { name: /yes/i }).click()
      await page.waitForURL(`${origin}/`)
      assert.equal(await textOf(page), 'nobody')
      await page.getByRole('link', { name: 'Log in' }).click()
      assert.equal(await page.locator('input[name=login]').count(), 1, 'the provider has forgotten the person, too')
    })

  test('two tabs log in at the same time, and both arrive', async (t) => {
    const origin = await startApp(t, memorySessions())
    const context = await browser.newContext()
    t.after(() => context.close())
    const [one, two] = [await context.newPage(), await context.newPage()]
    await one.goto(`${origin}/one`)
    await two.goto(`${origin}/two`)
    await one.getByRole('link', { name: 'Log in' }).click()
    await one.locator('input[name=login]').waitFor()
    await two.getByRole('link', { name: 'Log in' }).click()
    await two.locator('input[name=login]').waitFor()
    await fill(one, 'ann')
    await one.waitForURL(`${origin}/one`)
    assert.equal(await textOf(one), 'ANN')
    await fill(two, 'ann', false)
    await two.waitForURL(`${origin}/two`)
    assert.equal(await textOf(two), 'ANN')
    assert.deepEqual(
      (await context.cookies(origin)).map(({ name }) => name),
      ['__Host-session'],
    )
  })

  test('a person who refuses is not logged in', async (t) => {
    const origin = await startApp(t, memorySessions())
    const context = await browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    await page.goto(`${origin}/one`)
    await page.getByRole('link', { name: 'Log in' }).click()
    await page.locator('input[name=login]').waitFor()
    const answered = page.waitForResponse((response) => response.url().startsWith(`${origin}/auth/callback`))
    await page.getByRole('link', { name: /cancel/i }).click()
    const response = await answered
    assert.equal(response.status(), 403)
    assert.match(await response.text(), /WEIR_OIDC_DENIED/)
    await page.goto(`${origin}/one`)
    assert.equal(await textOf(page), 'nobody')
    assert.deepEqual(await context.cookies(origin), [])
  })

  test('a page of another site cannot log a person out', async (t) => {
    const origin = await startApp(t, memorySessions())
    const context = await browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    await page.goto(`${origin}/one`)
    await logIn(page, 'ann')
    await page.waitForURL(`${origin}/one`)
    await page.goto(`data:text/html,<form method=post action="${origin}/auth/logout"><button>go</button></form>`)
    const answered = page.waitForResponse((response) => response.url() === `${origin}/auth/logout`)
    await page.getByRole('button').click()
    assert.equal((await answered).status(), 403)
    await page.goto(`${origin}/one`)
    assert.equal(await textOf(page), 'ANN')
  })
})
