// The page of @weirjs/openapi, in Chromium: it shows every operation, and tries them.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import type { Browser, Locator, Page } from 'playwright-core'
import { openapi } from '../../packages/openapi/src/index.ts'
import { file, HttpServer, multipart, t, text } from '../../packages/weirjs/src/index.ts'
import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { visitDemo } from '../../packages/weirjs/test/support/demo-page.ts'

let browser: Browser

before(async () => {
  if (noChromium === false) browser = await launchChromium()
})
after(() => browser?.close())

const User = t.named('User', t.object({ id: t.int, name: t.string }))

function shop(): HttpServer {
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  server.use(openapi({ info: { title: 'Shop', version: '1' }, ui: '/docs' }))
  server.mapGet('/users/:id', { id: t.int, operationId: 'show', answers: { 200: User } }, ({ id }) => ({ id, name: 'Ada' }))
  server.mapPost('/users', { body: User, operationId: 'save', answers: { 201: User } }, ({ body }) => body)
  server.mapPost(
    '/photos',
    { body: multipart({ files: { photo: file() } }), operationId: 'photo', answers: { 200: text() } },
    ({ body }) => body.files.photo.fileName ?? '',
  )
  return server
}

test('the page follows the colours that the browser asks for, also when they change', { skip: noChromium }, async (t) => {
  const server = shop()
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const context = await browser.newContext({ colorScheme: 'dark' })
  t.after(() => context.close())
  const page = await context.newPage()
  await page.goto(`http://127.0.0.1:${server.port}/docs`)
  await page.locator('.opblock').first().waitFor()
  const [ground, ink] = await page.evaluate<string[]>(
    "[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.querySelector('.title')).color]",
  )
  const lightness = (colour: string) => Number(/\d+/.exec(colour)![0])
  assert.ok(lightness(ground!) < 64 && lightness(ink!) > 192, `${ground} ${ink}`)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.waitForFunction("!document.documentElement.classList.contains('dark-mode')")
})

for (const has32 of [false, true])
  test(`the page shows and tries operations of OpenAPI ${has32 ? '3.2' : '3.1'}`, { skip: noChromium }, async (t) => {
    const server = shop()
    if (has32) server.mapQuery('/users', { body: User, operationId: 'find', answers: { 200: User } }, ({ body }) => body)
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const origin = `http://127.0.0.1:${server.port}`
    const context = await browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    const complaints: string[] = []
    const asked: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(`${origin}/docs`)

    const operation = (id: string) => page.locator(`.opblock:has(#operations-default-${id}), #operations-default-${id}`).first()
    const tryOut = async (id: string) => {
      const block = operation(id)
      await block.locator('.opblock-summary-control').click()
      await block.locator('.try-out__btn').click()
      return block
    }
    const show = await tryOut('show')
    await show.locator('input[placeholder="id"]').fill('5')
    await show.locator('.execute').click()
    await show.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
    assert.match(await show.locator('.live-responses-table').innerText(), /"name": "Ada"/)

    const save = await tryOut('save')
    await save.locator('.execute').click()
    await save.locator('.live-responses-table .response-col_status', { hasText: '201' }).waitFor()

    const photo = await tryOut('photo')
    await photo.locator('input[type=file]').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: Buffer.from('x') })
    await photo.locator('.execute').click()
    await photo.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
    assert.match(await photo.locator('.live-responses-table').innerText(), /a\.png/)

    if (has32) {
      const find = await tryOut('find')
      await find.locator('.execute').click()
      await find.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
    }
    assert.deepEqual(complaints, [])
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(origin) && !url.startsWith('data:')),
      [],
    )
  })

/** The demo's response to each operation, as Swagger UI sends it with the values below. */
const DEMO: Readonly<Record<string, number>> = {
  'GET /chat/{room}': 426, // a page that tries operations opens no WebSocket
  'GET /clock': 200,
  'POST /clock/end': 204,
  'GET /records': 200,
  'GET /users/{id}': 200,
  'POST /api/user/save': 200,
  'POST /api/user/upload': 400, // these two read the form in the handler, so the page sends none
  'POST /api/user/upload-stream': 400,
  'GET /teams/{team}': 401,
  'DELETE /teams/{team}': 401,
  'GET /teams/{team}/rules': 200,
  'POST /teams/{team}/pictures': 401,
  'POST /gauge/readings': 201,
  'POST /notes': 200,
  'POST /gauge/photos': 200,
  'POST /gauge/outline': 400, // nothing is declared of its body
  'GET /gauge/level': 200,
  'GET /gauge/levels': 200,
  'GET /gauge/all-levels': 200,
  'GET /gauge/keepers/{id}': 200,
  'GET /gauge/sluice': 200,
  'PUT /gauge/sluice': 428,
  'QUERY /routes': 200,
  'GET /explain': 200,
  'GET /inside': 200,
  'GET /code/{card}': 200,
  'GET /load': 200,
  'POST /load': 202,
  'GET /edit': 200,
  'POST /edit': 202,
  'OPTIONS /parts': 204,
  'POST /parts': 400, // the page does not follow a protocol of uploads
  'OPTIONS /parts/{id}': 204,
  'GET /parts/{id}': 404,
  'PATCH /parts/{id}': 400,
  'DELETE /parts/{id}': 404,
  'POST /parts/{id}': 405,
  'GET /whoami': 200,
}
const VALUES: Readonly<Record<string, string>> = { id: '1', team: 'otters', card: 'clock', target: '/whoami' }

/** Without waiting until nothing moves, which takes a second with this page. */
async function press(button: Locator): Promise<void> {
  await button.dispatchEvent('click')
}

/** Tries one operation of the page. @returns the status that the browser received */
async function tryOperation(page: Page, index: number): Promise<readonly [name: string, status: number]> {
  const block = page.locator('.opblock').nth(index)
  const method = await block.locator('.opblock-summary-method').innerText()
  const path = (await block.locator('.opblock-summary [data-path]').first().getAttribute('data-path'))!
  await press(block.locator('.opblock-summary-control'))
  await press(block.locator('.try-out__btn'))
  for (const row of await block.locator('tr[data-param-name]').all()) {
    const value = VALUES[(await row.getAttribute('data-param-name'))!]
    const input = row.locator('input[type=text]')
    if (value !== undefined && (await input.count()) > 0) await input.fill(value)
  }
  for (const input of await block.locator('input[type=file]').all())
    await input.setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: Buffer.from('89504e470d0a1a0a', 'hex') })
  for (const input of await block.locator('.parameters-col_description input[type=text]').all())
    if ((await input.inputValue()) === '') await input.fill('x')
  // Not the page's own report: it never shows a stream that does not end.
  const [response] = await Promise.all([
    page.waitForResponse((one) => one.request().method() === method && !one.url().includes('/docs')),
    block.locator('.execute').click(),
  ])
  await press(block.locator('.opblock-summary-control')) // the page becomes slow with many open ones
  return [`${method} ${path}`, response.status()]
}

test('each operation of the demo can be tried on its page', { skip: noChromium }, async (t) => {
  const { page, origin } = await visitDemo(t, browser)
  const asked: string[] = []
  await page.getByRole('link', { name: 'OpenAPI' }).click()
  page.on('request', (request) => asked.push(request.url()))
  await page.locator('.opblock').first().waitFor()
  const tried: Record<string, number> = {}
  for (let index = 0; index < (await page.locator('.opblock').count()); index++) {
    const [name, status] = await tryOperation(page, index)
    tried[name] = status
  }
  assert.deepEqual(tried, DEMO)
  assert.deepEqual(
    asked.filter((url) => !url.startsWith(origin) && !url.startsWith('data:')),
    [],
  )
})
