// What every built application has to do, in Chromium and for a client of HTTP. They all have the same pages. docs/guests.md lists it.
import assert from 'node:assert/strict'

import { launchChromium } from '../../../packages/weirjs/test/support/chromium.ts'

/** Bots get whole pages. */
const BROWSER = 'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

/** The certificate is that of the tests. */
const UNVERIFIED = { ignoreHTTPSErrors: true }

export async function driveApp(client, { origin }, { island = false } = {}) {
  if (origin.startsWith('http:')) await driveByHttp(client)
  const browser = await launchChromium()
  try {
    await driveInBrowser(browser, origin, { island })
    await driveWithoutScripts(browser, origin)
  } finally {
    await browser.close()
  }
}

async function driveByHttp({ get, post, send, open, note }) {
  const home = await get('/')
  assert.equal(home.status, 200)
  assert.match(home.text, /<h1>Home<\/h1>/)
  assert.equal((await send('HEAD', '/')).text, '')

  const [, address] = /(?:src|href|component-url)="([^"]+\.js)(?:\?[^"]*)?"/.exec(home.text) ?? /import\("(.+?\.js)"\)/.exec(home.text)
  const script = new URL(address, 'http://a/').pathname
  const file = await get(script)
  assert.equal(file.status, 200, script)
  assert.match(file.header('content-type'), /javascript/)
  assert.match(file.header('cache-control'), /^public, ?max-age=31536000, ?immutable$/)
  const tag = file.header('etag')
  if (tag) assert.equal((await get(script, { headers: { 'if-none-match': tag } })).status, 304)
  assert.equal((await get('/dot.png')).header('content-type'), 'image/png')
  assert.equal((await get('/dot.png', { headers: { range: 'bytes=1-3' } })).text, 'PNG')

  const streaming = open(`GET /slow HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n${BROWSER}\r\n\r\n`)
  const shell = await streaming.read('<h1>Slow</h1>')
  assert.doesNotMatch(shell, /It came late/, 'the page was not streamed')
  await streaming.read('It came late')
  streaming.leave()
  const left = open(`GET /slow HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n${BROWSER}\r\n\r\n`)
  await left.read('<h1>Slow</h1>')
  left.leave()

  const api = await get('/api/hello?name=%C3%BC')
  assert.deepEqual([api.json().hello, api.header('x-api')], ['ü', 'yes'])
  const posted = await post('/api/hello', 'héllo', { headers: { 'content-type': 'text/plain', origin: `http://localhost` } })
  note('posted', posted.text)
  const none = await get('/none/at/all', { headers: { accept: 'text/html' } })
  assert.equal(none.status, 404)
  assert.match(none.text, /Nothing here/)
}

async function driveInBrowser(browser, origin, { island }) {
  const page = await browser.newPage(UNVERIFIED)
  const complaints = []
  page.on(
    'console',
    (message) => ['error', 'warning'].includes(message.type()) && complaints.push(`${message.text()} ${message.location().url}`),
  )
  page.on('pageerror', (error) => complaints.push(String(error)))
  const at = (heading) => page.getByRole('heading', { name: heading }).waitFor()

  await page.goto(origin, { waitUntil: 'load' })
  const protocol = await page.evaluate(() => performance.getEntriesByType('navigation')[0].nextHopProtocol)
  assert.equal(protocol, origin.startsWith('https:') ? 'h2' : 'http/1.1')
  await at('Home')
  assert.match(await page.title(), / in weir$/)
  assert.ok((await page.getByAltText('a dot').evaluate((image) => image.naturalWidth)) > 0, 'the image was loaded')
  const counter = page.getByRole('button', { name: /Count/ })
  await page.waitForLoadState('networkidle') // hydration has no event of its own
  await counter.click()
  await page.getByRole('button', { name: 'Count 1' }).waitFor()

  await page.evaluate(() => {
    window.isKept = true
  })
  const isKept = () => page.evaluate(() => window.isKept === true)
  await page.getByRole('link', { name: 'Other' }).click()
  await at('Other')
  assert.ok(await isKept(), 'the link has loaded the page again')
  await page.getByText('Who are you?').waitFor()
  await page.getByLabel('Name').fill('Ada ü')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Hello Ada ü').waitFor()
  assert.ok(await isKept(), 'the form has loaded the page again')

  await page.getByRole('link', { name: 'Slow' }).click()
  await at('Slow')
  await page.getByText('It came late').waitFor()
  if (island) await page.getByText('An island for Ada ü').waitFor()
  await page.goBack()
  await at('Other')
  assert.ok(await isKept(), 'going back has loaded the page again')

  await page.goto(`${origin}/slow`)
  await page.getByText('It came late').waitFor()
  await page.goto(`${origin}/other`)
  await page.getByText('Hello Ada ü').waitFor()
  assert.deepEqual(complaints, [])
}

async function driveWithoutScripts(browser, origin) {
  const context = await browser.newContext({ javaScriptEnabled: false, ...UNVERIFIED })
  const page = await context.newPage()
  await page.goto(`${origin}/other`)
  await page.getByLabel('Name').fill('Grace')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Hello Grace').waitFor()
}
