// The demo's second page in a real browser: what runs around a handler. With SCREENSHOTS=FOLDER it saves a screenshot of each look in that
// folder, for a person to judge.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'

import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { startDemo, temporaryFolder } from '../../packages/weirjs/test/support/demo.ts'
import { PLAYED_LOOKS, visitDemo } from '../../packages/weirjs/test/support/demo-page.ts'
import { pageFaults } from '../../packages/weirjs/test/support/page-faults.ts'

const FAILED = /^Failed to load resource: the server responded with a status of 4\d\d/

describe('the page about what runs around a handler, in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  /** @returns what the console has said, but for refusals, which Chromium logs itself */
  async function visit(t: TestContext, options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: () => string[] }> {
    const { page, complaints } = await visitDemo(t, browser, options)
    await page.getByRole('link', { name: 'Around a handler' }).click()
    await page.getByText('Listening. Send something above.').waitFor()
    return { page, complaints: () => complaints.filter((text) => !FAILED.test(text)) }
  }

  /** What a PNG begins with. */
  const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  const card = (page: Page, id: string): Locator => page.locator(`#${id}`)

  async function send(page: Page, id: string, status: string): Promise<string> {
    await card(page, id).getByRole('button', { name: /^Send/ }).click()
    return await answered(page, id, status)
  }

  /** @returns the body of the response to the last request, without a click to the one that a card sends by itself when it is first seen */
  async function answered(page: Page, id: string, status: string): Promise<string> {
    const region = card(page, id)
    await region.scrollIntoViewIfNeeded()
    await region.locator('[aria-busy=false]').waitFor()
    await region.getByRole('status', { includeHidden: true }).filter({ hasText: status }).waitFor({ state: 'attached' })
    return (await region.locator('.body').textContent()) ?? ''
  }

  for (const { name, look } of PLAYED_LOOKS) {
    test(`every request can be sent and read, ${name}`, async (t) => {
      const { page, complaints } = await visit(t, look)

      assert.match(await answered(page, 'groups', '401 Unauthorized'), /"status":401/)
      await card(page, 'groups').getByLabel('Grace, a member').check()
      assert.equal(await send(page, 'groups', '200 OK'), '{"team":"blue","you":{"name":"Grace","role":"member"}}')
      await card(page, 'groups').getByLabel('delete it').check()
      assert.match(await send(page, 'groups', '403 Forbidden'), /Only a captain may do that\./)
      const records = card(page, 'records')
      await records.getByRole('row').filter({ hasText: 'DELETE /teams/:team' }).filter({ hasText: '403' }).waitFor()
      await card(page, 'groups').getByLabel('Ada, the captain').check()
      assert.match(await send(page, 'groups', '200 OK'), /You may delete blue\./)
      await card(page, 'groups').getByLabel('nothing', { exact: true }).check()
      assert.match(await send(page, 'groups', '404 Not Found'), /The team blue has nothing at \/teams\/blue\/nothing\./)
      await card(page, 'groups').getByLabel('nobody').check()
      await card(page, 'groups').getByLabel('its rules').check()
      assert.match(await send(page, 'groups', '200 OK'), /open to everybody/)

      assert.match(await send(page, 'explain', '200 OK'), /sign-in \(route, in place of the group's\): nothing/)
      await card(page, 'explain').getByLabel('path with its query').fill('/usres/7')
      assert.match(await send(page, 'explain', 'target=%2Fusres'), /segment 1 is "usres", not "users"/)

      assert.match(
        await send(page, 'proxies', '200 OK'),
        /"clientAddress":"192\.0\.2\.44","isSecure":false,"origin":"http:\/\/shop\.example"/,
      )
      await card(page, 'proxies').getByLabel('X-Forwarded-For').fill('192.0.2.44, 127.0.0.1')
      await card(page, 'proxies').getByLabel('https', { exact: true }).check()
      await card(page, 'proxies').getByLabel('X-Forwarded-Host').fill('evil.test')
      const seen = await send(page, 'proxies', '200 OK')
      assert.match(seen, /"clientAddress":"192\.0\.2\.44","isSecure":true,"origin":"https:\/\/127\.0\.0\.1:\d+"/)

      assert.match(await send(page, 'query', '200 OK'), /"path":"\/teams\/:team\/rules"/)
      await card(page, 'query').getByRole('textbox').fill('{ "words": "" }')
      assert.match(await send(page, 'query', '400 Bad Request'), /"pointer":"\/words"/)
      await card(page, 'query').getByLabel('text', { exact: true }).check()
      await send(page, 'query', '415 Unsupported Media Type')
      assert.match((await card(page, 'query').locator('dl').textContent()) ?? '', /accept-queryapplication\/json/)

      assert.match(await send(page, 'fetch', '200 OK'), /"firstPiece":"\{\\"id\\":7,\\"active\\":true\}"/)
      await card(page, 'fetch').getByLabel('path').fill('/clock')
      assert.match(await send(page, 'fetch', '200 OK'), /"contentType":"text\/event-stream"/)

      await records.getByRole('row').filter({ hasText: 'QUERY /routes' }).filter({ hasText: 'WEIR_CONTENT_TYPE_UNSUPPORTED' }).waitFor()
      await records.getByRole('button', { name: 'Leave in the middle of a response' }).click()
      await records.getByRole('row').filter({ hasText: 'GET /clock' }).filter({ hasText: '200 client-gone' }).first().waitFor()

      assert.deepEqual(await pageFaults(page), [])
      assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, 'nothing overflows at the side')
      assert.deepEqual(complaints(), [])
      if (process.env['SCREENSHOTS'])
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/around-${name.replaceAll(' ', '-')}.png`, fullPage: true })
    })
  }

  test('a gate refuses a large file before it has been sent, and lets it in for somebody who is signed in', async (t) => {
    const { page, complaints } = await visit(t)
    const large = join(await temporaryFolder(t), 'large.bin')
    await writeFile(large, Buffer.alloc(64 * 1024 * 1024))
    const gates = card(page, 'gates')
    await gates.getByLabel('file').setInputFiles(large)
    await send(page, 'gates', '401 Unauthorized')
    const value = await gates.getByRole('progressbar').evaluate((element) => (element as unknown as { value: number }).value)
    assert.ok(value < 1, `${value} of it was sent`)
    await gates.getByLabel('Grace').check()
    assert.equal(await send(page, 'gates', '200 OK'), '{"team":"blue","bytes":67108864}')
    assert.deepEqual(complaints(), [])
  })

  for (const { name, look } of PLAYED_LOOKS) {
    test(`what a route declares can be tried, ${name}`, async (t) => {
      const { page, complaints } = await visit(t, look)
      const fieldsOf = async (id: string): Promise<string> => (await card(page, id).locator('dl').textContent()) ?? ''

      assert.equal(await answered(page, 'bodies', '201 Created'), '{"id":1,"station":"bridge","centimetres":212}')
      await card(page, 'bodies').getByLabel('form', { exact: true }).check()
      assert.equal(await send(page, 'bodies', '201 Created'), '{"id":2,"station":"mill","centimetres":187,"note":"rising"}')
      await card(page, 'bodies').getByLabel('text', { exact: true }).check()
      await send(page, 'bodies', '415 Unsupported Media Type')
      assert.match(await fieldsOf('bodies'), /accept-postapplication\/json, application\/x-www-form-urlencoded/)
      await card(page, 'bodies').getByLabel('JSON').check()
      await card(page, 'bodies').getByRole('textbox').fill('{ "station": "weir", "centimetres": -1 }')
      assert.match(await send(page, 'bodies', '400 Bad Request'), /"pointer":"\/station".*"pointer":"\/centimetres"/)

      await card(page, 'files').getByLabel('title').fill('')
      assert.match(await send(page, 'files', '400 Bad Request'), /"pointer":"\/title".*"name":"photo"/)
      const photo = (bytes: number, mimeType = 'image/png', name = 'river.png'): Promise<void> =>
        card(page, 'files')
          .getByLabel('photo', { exact: true })
          .setInputFiles({ name, mimeType, buffer: Buffer.concat([PNG, Buffer.alloc(bytes)]).subarray(0, bytes) })
      await photo(10, 'text/plain', 'river.txt')
      assert.match(await send(page, 'files', '415 Unsupported Media Type'), /WEIR_FILE_TYPE/)
      await card(page, 'files').getByLabel('title').fill('River')
      await photo(1024 * 1024 + 1)
      assert.match(await send(page, 'files', '413 Content Too Large'), /photo\.maxSize/)
      await photo(1024 * 1024)
      assert.equal(await send(page, 'files', '200 OK'), '{"title":"River","type":"image/png","bytes":1048576}')

      assert.equal(await send(page, 'json', '200 OK'), '{"outline":{"type":"string","coordinates":["number","number"]}}')
      await card(page, 'json').getByLabel('text', { exact: true }).check()
      await send(page, 'json', '415 Unsupported Media Type')
      await card(page, 'json').getByLabel('GeoJSON').check()
      await send(page, 'json', '200 OK')

      const parameters = card(page, 'parameters')
      assert.equal(await send(page, 'parameters', '200 OK'), '{"station":"bridge","unit":"cm","level":212}')
      await parameters.getByLabel('ft', { exact: true }).check()
      await parameters.getByLabel('mill').check()
      assert.equal(await send(page, 'parameters', '200 OK'), '{"station":"mill","unit":"ft","level":6.1}')
      await parameters.getByLabel('ell, which is not a unit').check()
      await parameters.getByLabel('harbour').check()
      const misfits = await send(page, 'parameters', '400 Bad Request')
      assert.match(misfits, /"in":"cookie".*"actual":"\(not shown\)".*"in":"header".*"actual":"ell"/)
      assert.doesNotMatch(misfits, /harbour/)
      await parameters.getByLabel('left out').check()
      await parameters.getByLabel('no cookie').check()
      assert.equal(await send(page, 'parameters', '200 OK'), '{"station":"bridge","unit":"cm","level":212}')

      assert.equal(await send(page, 'answers', '200 OK'), '{"id":1,"name":"Ada","station":"bridge"}')
      await card(page, 'answers').getByLabel('3, who does not exist').check()
      assert.match(await send(page, 'answers', '404 Not Found'), /There is no keeper 3\./)

      assert.equal(await answered(page, 'tags', '200 OK'), '{"bridge":212,"mill":187}')
      assert.equal(await send(page, 'tags', '304 Not Modified'), '')
      await card(page, 'tags').getByLabel('left out').check()
      await send(page, 'tags', '200 OK')

      const conditions = card(page, 'conditions')
      assert.equal(await answered(page, 'conditions', '200 OK'), '{"version":1,"open":30}')
      await send(page, 'conditions', '304 Not Modified')
      await conditions.getByLabel('set it', { exact: true }).check()
      assert.equal(await send(page, 'conditions', '200 OK'), '{"version":2,"open":45}')
      await conditions.getByLabel('open').fill('50')
      assert.equal(await send(page, 'conditions', '200 OK'), '{"version":3,"open":50}')
      await conditions.getByLabel('an old tag').check()
      await send(page, 'conditions', '412 Precondition Failed')
      await conditions.getByLabel('left out').check()
      assert.match(await send(page, 'conditions', '428 Precondition Required'), /If-Match/)

      await send(page, 'deprecated', '200 OK')
      assert.match(await fieldsOf('deprecated'), /deprecation@1767225600/)

      assert.deepEqual(await pageFaults(page), [])
      assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, 'nothing overflows at the side')
      assert.deepEqual(complaints(), [])
      if (process.env['SCREENSHOTS'])
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/declared-${name.replaceAll(' ', '-')}.png`, fullPage: true })
    })
  }

  test('what a route declares can be tried with the keyboard alone', async (t) => {
    const { page, complaints } = await visit(t)
    await page.getByRole('link', { name: 'Bodies' }).focus()
    await page.keyboard.press('Enter')
    await answered(page, 'bodies', '201 Created')
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowRight')
    assert.ok(await card(page, 'bodies').getByLabel('form', { exact: true }).isChecked())
    await page.keyboard.press('Tab')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('station=mill&centimetres=1')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    assert.equal(await answered(page, 'bodies', '201 Created'), '{"id":2,"station":"mill","centimetres":1}')
    assert.deepEqual(complaints(), [])
  })

  test('the explanation is of the request with its fields and its body, and without a file', async (t) => {
    const { page } = await visit(t)
    const why = async (id: string, text: RegExp): Promise<void> => {
      await card(page, id).getByRole('tab', { name: 'Why' }).click()
      await card(page, id).getByRole('tabpanel', { name: 'Why' }).getByText(text).waitFor()
    }
    await answered(page, 'parameters', '200 OK')
    await why('parameters', /unit from the header: .* received nothing, default/)
    await card(page, 'parameters').getByLabel('mill').check()
    await send(page, 'parameters', '200 OK')
    await why('parameters', /station from the cookie: .* received "\(not shown\)"/)
    await card(page, 'parameters').getByLabel('ell, which is not a unit').check()
    await send(page, 'parameters', '400 Bad Request')
    await why('parameters', /400 WEIR_PARAMETER_INVALID/)
    await card(page, 'bodies').getByRole('textbox').fill('{ "station": "weir" }')
    await send(page, 'bodies', '400 Bad Request')
    await why('bodies', /400 WEIR_BODY_INVALID/)
    await answered(page, 'proxies', '200 OK')
    await why('proxies', /client +192\.0\.2\.44, http:\/\/shop\.example, as a trusted proxy states/)
    await card(page, 'files').getByLabel('photo', { exact: true }).setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: PNG })
    await send(page, 'files', '200 OK')
    await why('files', /^Without the body, which has not been sent for this:/)
  })

  test('who was slower does not overwrite the sluice', async (t) => {
    const { page } = await visit(t)
    await answered(page, 'conditions', '200 OK')
    const origin = new URL(page.url()).origin
    const headers = { 'If-Match': '"v1"', 'Content-Type': 'application/json' }
    assert.equal((await fetch(`${origin}/gauge/sluice`, { method: 'PUT', headers, body: '{"open":1}' })).status, 200)
    await card(page, 'conditions').getByLabel('set it', { exact: true }).check()
    await send(page, 'conditions', '412 Precondition Failed')
    assert.deepEqual(await (await fetch(`${origin}/gauge/sluice`)).json(), { version: 2, open: 1 })
  })

  test('what the server repeats is shown as text, never as markup', async (t) => {
    const { page, complaints } = await visit(t)
    const attack = '/<img/src=x/onerror=document.title=1><script>document.title=1</script>'
    await card(page, 'explain').getByLabel('path with its query').fill(attack)
    assert.ok((await send(page, 'explain', '200 OK')).includes('<img/src=x/'))
    await card(page, 'fetch').getByLabel('path').fill(attack)
    await send(page, 'fetch', '200 OK')
    assert.equal(await page.title(), 'weir demo: around a handler')
    assert.equal(await page.locator('.answer img, .answer script').count(), 0)
    assert.deepEqual(complaints(), [])
  })
})

describe('the routes of that page', () => {
  test('each card has its code', async (t) => {
    const { origin } = await startDemo(t)
    const page = async (path: string): Promise<string> => await (await fetch(`${origin}/${path}`)).text()
    const cards = [...`${await page('')}${await page('around.html')}`.matchAll(/data-(?:ask|card)="(\w+)"/g)].map(([, card]) => card!)
    assert.ok(cards.length > 20)
    for (const card of cards) assert.match(await page(`code/${card}`), /^\/\/ examples\/demo\/[\w-]+\.ts\n\n\S/, card)
    assert.match(await page('code/clock'), /\n\/\*\* `GET \/clock`.*\nexport function clock\(\): Module \{\n.*\n {2}return \{\n.*\n\}\n$/s)
    assert.equal((await fetch(`${origin}/code/nothing`)).status, 404)
  })

  test('the server does not ask itself to ask itself, and says what it cannot be asked', async (t) => {
    const { origin } = await startDemo(t)
    const status = async (path: string): Promise<number> => (await fetch(`${origin}${path}`)).status
    for (const target of ['/inside?target=/', '/explain?method=GET&target=/', '/inside'])
      assert.equal(await status(`/inside?target=${encodeURIComponent(target)}`), 400, target)
    for (const target of ['', 'users', '/a b', '/a#b', `/${'x'.repeat(500)}`])
      assert.equal(await status(`/explain?method=GET&target=${encodeURIComponent(target)}`), 400, target)
    assert.equal(await status('/explain?method=TRACE&target=/'), 400)
    assert.equal(await status(`/explain?method=GET&target=${encodeURIComponent('/ü/%zz')}`), 200)
  })

  test('a record shows neither paths nor addresses', async (t) => {
    const { origin } = await startDemo(t)
    const stream = await fetch(`${origin}/records`)
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    await reader.read()
    await fetch(`${origin}/teams/secretteam?token=1`, { headers: { 'X-Forwarded-For': '198.51.100.7' } })
    const { value = '' } = await reader.read()
    assert.match(value, /"route":"GET \/teams\/:team","status":401,"outcome":"completed"/)
    assert.doesNotMatch(value, /secretteam|token|198\.51|127\.0/)
    await reader.cancel()
  })
})
