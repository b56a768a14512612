// What a person sees of the modules on the demo's page: the gallery, the clock and the chat, in a real browser.

import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { HttpServer } from 'weirjs'

import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { LOOKS, visitDemo } from '../../packages/weirjs/test/support/demo-page.ts'
import { pageFaults } from '../../packages/weirjs/test/support/page-faults.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'

const card = (page: Page, title: RegExp): Locator => page.getByRole('region', { name: title })
const gallery = (page: Page): Locator => card(page, /^Gallery/)
const clock = (page: Page): Locator => card(page, /^Clock/)
const chat = (page: Page): Locator => card(page, /^Chat/)

async function join(page: Page, name: string, room = 'lobby'): Promise<void> {
  await chat(page).getByLabel('your name').fill(name)
  await chat(page).getByLabel('room', { exact: true }).fill(room)
  await chat(page).getByRole('button', { name: 'Join' }).click()
  await status(page, chat, `In ${room}: `)
}

async function say(page: Page, text: string): Promise<void> {
  await chat(page).getByLabel('message').fill(text)
  await page.keyboard.press('Enter')
}

/** Waits for what a screen reader would read out. */
async function status(page: Page, of: (page: Page) => Locator, text: string | RegExp): Promise<string> {
  const shown = of(page).getByRole('status').filter({ hasText: text })
  await shown.waitFor()
  return (await shown.textContent())!
}

describe('the modules in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  const visit = (t: TestContext, options?: BrowserContextOptions, map?: (server: HttpServer) => void) => visitDemo(t, browser, options, map)

  test('the gallery is sent compressed, shows that, and is not sent again', async (t) => {
    const { page, complaints } = await visit(t)
    const [, whole, sent] = /^6 pictures of ([\d.]+) kB were sent as ([\d.]+) kB\.$/.exec(await status(page, gallery, 'were sent as'))!
    assert.ok(Number(sent) < Number(whole) / 2, `${whole} kB were sent as ${sent} kB`)
    const [picture] = await Promise.all([page.waitForResponse(/rain\.svg/), page.reload()])
    assert.equal(picture.status(), 304)
    await status(page, gallery, '6 pictures, none of them sent again.')
    await gallery(page).getByText('Rain not sent again').waitFor()
    const areShown = await page.evaluate(`[...document.querySelectorAll('figure img')].map((image) => image.naturalWidth > 0)`)
    assert.deepEqual(areShown, Array(6).fill(true))
    assert.deepEqual(complaints, [])
  })

  test('the clock ticks, and after its stream has ended the browser reconnects and gets what it missed', async (t) => {
    const saidIds: (string | null)[] = []
    const { page, complaints } = await visit(t, {}, (server) => {
      server.use((session, next) => {
        if (session.request.path === '/clock') saidIds.push(session.request.header('last-event-id'))
        return next()
      })
    })
    const ticks = clock(page).getByRole('listitem')
    await ticks.nth(1).waitFor()
    assert.equal(await status(page, clock, /./), 'Listening.')
    const shown = await clock(page).locator('time').getAttribute('datetime')
    assert.ok(Math.abs(Date.parse(shown!) - Date.now()) < 60_000, `${shown} is now`)

    await clock(page).getByRole('button', { name: 'End the stream' }).click()
    const [, last] = /ended after (\d+)\. The browser will reconnect\.$/.exec(await status(page, clock, 'The stream ended'))!
    assert.match(
      await status(page, clock, 'Reconnected: '),
      new RegExp(`sent Last-Event-ID ${last}, and got what it had missed: [1-9]\\d*\\.$`),
    )
    assert.deepEqual(saidIds, [null, last])
    const ids = (await ticks.allTextContents()).map(Number)
    assert.deepEqual(
      ids,
      ids.map((_, i) => ids[0]! + i),
      'none is missing, and none is repeated',
    )
    assert.ok((await clock(page).locator('.missed').count()) > 0)
    assert.deepEqual(complaints, [])
  })

  test('a page that does not listen or is not visible has no stream', async (t) => {
    let streams = 0
    const { page, complaints } = await visit(t, {}, (server) => {
      server.use((session, next) => {
        if (session.request.path === '/clock') {
          streams++
          session.signal.addEventListener('abort', () => streams--)
        }
        return next()
      })
    })
    await status(page, clock, 'Listening.')
    assert.equal(streams, 1)
    await clock(page).getByRole('button', { name: 'Stop listening' }).click()
    await status(page, clock, 'Not listening.')
    await eventually(() => streams === 0, 'the end of the stream')
    await clock(page).getByRole('button', { name: 'Listen' }).click()
    await status(page, clock, 'Listening.')

    const turn = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true }), document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await turn(true)
    await eventually(() => streams === 0, 'the end of the stream of a hidden page')
    await turn(false)
    await eventually(() => streams === 1, 'a stream of the page that is visible again') // the status has not changed in between
    await status(page, clock, 'Listening.')
    assert.equal(streams, 1)
    assert.deepEqual(complaints, [])
  })

  test('two pages talk in a room and see who is there, and messages are shown as text', async (t) => {
    const { page: ada, open, complaints } = await visit(t)
    await join(ada, 'Ada', 'Küche & Bad/1')
    const grace = await open()
    await join(grace, '<i>Grace</i>', 'Küche & Bad/1')
    const elsewhere = await open()
    await join(elsewhere, 'Edsger', 'hall')
    await status(ada, chat, 'In Küche & Bad/1: Ada, <i>Grace</i>.')

    const attack = '<img src=x onerror="document.title = 1"> & Grüße'
    await say(ada, attack)
    const log = (page: Page) => chat(page).getByRole('log').locator('p')
    await log(grace).getByText(attack).waitFor()
    await say(grace, 'I hear you')
    await log(ada).getByText('I hear you').waitFor()
    assert.deepEqual(await log(ada).allTextContents(), [
      'Ada has joined.',
      '<i>Grace</i> has joined.',
      `Ada ${attack}`,
      '<i>Grace</i> I hear you',
    ])
    assert.deepEqual(await log(elsewhere).allTextContents(), ['Edsger has joined.'])

    await chat(grace).getByRole('button', { name: 'Leave' }).click()
    await status(grace, chat, 'You have left.')
    await status(ada, chat, 'In Küche & Bad/1: Ada.')
    await ada.close()
    await join(grace, 'Grace', 'Küche & Bad/1')
    await status(grace, chat, 'In Küche & Bad/1: Grace.')
    assert.deepEqual(complaints, [])
  })

  test('a message above the limit is reported and not delivered, and its author can join again', async (t) => {
    const { page, open } = await visit(t)
    await join(page, 'Ada')
    const other = await open()
    await join(other, 'Grace')
    const limit = chat(page).locator('#chat-limit')
    await chat(page).getByLabel('message').fill('ä'.repeat(250))
    assert.equal(await limit.textContent(), '500 of 500 bytes')
    assert.equal(await limit.getAttribute('class'), 'hint')
    await page.keyboard.press('Enter')
    await chat(other).getByText('ä'.repeat(250)).waitFor()
    await chat(page).getByLabel('message').fill('x'.repeat(501))
    assert.equal(await limit.getAttribute('class'), 'hint beyond')
    await page.keyboard.press('Enter')
    await status(page, chat, 'That message was too long')
    await status(other, chat, 'In lobby: Grace.')
    assert.equal(await chat(other).getByText('xxx').count(), 0)
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Join', 'the focus is not lost')
    await page.keyboard.press('Enter')
    await status(page, chat, 'In lobby: Grace, Ada.')
    assert.equal(await page.evaluate('document.activeElement.name'), 'text')
  })

  test('the server stops without waiting for clients, and the page shows it', async (t) => {
    const { page, server } = await visit(t)
    await join(page, 'Ada')
    await clock(page).getByRole('listitem').first().waitFor()
    assert.deepEqual(await server.stop(), { aborted: 0 })
    await status(page, chat, 'The server has stopped.')
    await status(page, clock, 'The stream ended')
  })

  test('the page loads nothing from other servers', async (t) => {
    const { page, origin, complaints } = await visit(t)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.reload()
    await status(page, clock, 'Listening.')
    assert.ok(asked.length > 10)
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(`${origin}/`)),
      [],
    )
    assert.deepEqual(complaints, [])
  })

  for (const { name, look } of LOOKS) {
    test(`everything has a name, enough contrast and a visible focus, ${name}`, async (t) => {
      const { page } = await visit(t, look)
      await join(page, 'Ada')
      await say(page, 'x'.repeat(300))
      await chat(page).getByLabel('message').fill('x'.repeat(600))
      await status(page, gallery, 'were sent as')
      await clock(page).getByRole('listitem').first().waitFor()
      await page.getByRole('button', { name: 'Send GET /users/:id' }).click()
      await page.getByText('GET /users/42').nth(1).waitFor()
      assert.deepEqual(await pageFaults(page), [])
      const [content, window] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as number[]
      assert.equal(content, window, 'nothing overflows at the side')
      if (process.env['SCREENSHOTS']) {
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/modules-${name.replaceAll(' ', '-')}.png`, fullPage: true })
      }
      await page.reload()
      const focused: string[] = []
      for (;;) {
        await page.keyboard.press('Tab')
        const [element, outline] = (await page.evaluate(
          '[document.activeElement.outerHTML.slice(0, 80), getComputedStyle(document.activeElement).outlineStyle]',
        )) as [string, string]
        if (element.startsWith('<body')) break
        assert.equal(outline, 'solid', element)
        focused.push(element)
      }
      assert.ok(focused.length > 20, `${focused.length} elements can be reached`)
    })
  }
})
