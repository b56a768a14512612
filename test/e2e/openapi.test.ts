// The page of weir/openapi, in Chromium: it shows every operation, and tries them.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import type { Browser } from 'playwright-core'

import { file, HttpServer, multipart, t, text } from '../../src/index.ts'
import { openapi } from '../../src/modules/openapi/index.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'

let browser: Browser

before(async () => {
  if (noChromium === false) browser = await launchChromium()
})
after(() => browser?.close())

const User = t.named('User', t.object({ id: t.int, name: t.string }))

function shop(): HttpServer {
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  server.useModule(openapi({ info: { title: 'Shop', version: '1' }, ui: '/docs' }))
  server.mapGet('/users/:id', { id: t.int, operationId: 'show', answers: { 200: User } }, ({ id }) => ({ id, name: 'Ada' }))
  server.mapPost('/users', { body: User, operationId: 'save', answers: { 201: User } }, ({ body }) => body)
  server.mapPost(
    '/photos',
    { body: multipart({ files: { photo: file() } }), operationId: 'photo', answers: { 200: text() } },
    ({ body }) => body.files.photo.fileName ?? '',
  )
  return server
}

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
