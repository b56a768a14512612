// The inspector, and pages of other sites that a developer has open, in Chromium.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { after, before, type TestContext, test } from 'node:test'

import type { Browser, Page } from 'playwright-core'
import { inspector } from '../../packages/dev/src/index.ts'
import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'

const TOKEN = 'token-of-these-tests-1'

let browser: Browser

before(async () => {
  // A name of the attacker that leads to this machine.
  if (noChromium === false) browser = await launchChromium('--host-resolver-rules=MAP *.evil.example 127.0.0.1')
})
after(() => browser?.close())

interface Developer {
  /** The server with the inspector. */
  readonly port: number
  /** That of the attacker. */
  readonly attackerPort: number
  readonly page: Page
  /** The statuses of responses below `/_weir`. */
  readonly statuses: number[]
  readonly kept: () => Promise<number>
  /** Opens the inspector with its link under that name, so that the browser has its cookie. */
  readonly signIn: (host: string) => Promise<void>
}

async function develop(t: TestContext, page: Page): Promise<Developer> {
  const server = new HttpServer('127.0.0.1', 0, { hosts: 'any', logger: null }).use(inspector({ token: TOKEN }))
  const statuses: number[] = []
  server.mapGet('/', () => 'hello')
  server.mapPost('/echo', (_, { request, response }) => response.body(request.bodyBytes, 'application/octet-stream'))
  const own = new WeakSet<object>()
  let isSigningIn = false
  let hasSignedIn = false
  server.observe({
    begin: ({ session }) => {
      // The inspector's own page may still ask when it is shown: no attack on it is of the same origin.
      const isOfPage = hasSignedIn && session.request.header('sec-fetch-site') === 'same-origin'
      if (isSigningIn || isOfPage) own.add(session)
    },
    end: ({ session, status }) => {
      if (session?.request.path.startsWith('/_weir') && !own.has(session)) statuses.push(status!)
    },
  })
  const attacker = new HttpServer('127.0.0.1', 0, { logger: null })
  attacker.mapGet('/', (_, { response }) => response.html('<!doctype html><title>fine</title>'))
  for (const one of [server, attacker]) {
    await one.start()
    t.after(() => one.stop({ graceMs: 0 }))
  }
  await (await fetch(`http://127.0.0.1:${server.port}/`)).text()
  const kept = async (): Promise<number> => {
    const all = (await (
      await fetch(`http://127.0.0.1:${server.port}/_weir/exchanges`, { headers: { authorization: `Bearer ${TOKEN}` } })
    ).json()) as unknown[]
    statuses.pop()
    return all.length
  }
  const signIn = async (host: string): Promise<void> => {
    isSigningIn = hasSignedIn = true
    await page.goto(`http://${host}:${server.port}/_weir#token=${TOKEN}`)
    await page.locator('#state.live').waitFor()
    isSigningIn = false
  }
  t.after(() => page.close())
  return { port: server.port, attackerPort: attacker.port, page, statuses, kept, signIn }
}

/** Everything that a page can do to another address, and what it gets. */
const ATTACK = `async (there) => {
  const got = {}
  const settle = (name, promise) => promise.then((value) => { got[name] = String(value) }, () => { got[name] = 'nothing' })
  const element = (tag, properties) => new Promise((resolve, reject) => {
    const made = Object.assign(document.createElement(tag), properties)
    made.onload = () => resolve('loaded')
    made.onerror = reject
    document.body.append(made)
  })
  await settle('fetch', fetch(there + '/exchanges').then((response) => response.text()))
  await settle('har', fetch(there + '/har', { credentials: 'include' }).then((response) => response.text()))
  await settle('opaque', fetch(there + '/exchanges', { mode: 'no-cors' }).then((response) => response.status + response.type))
  await settle('clear', fetch(there + '/clear', { method: 'POST', mode: 'no-cors' }).then((response) => response.status))
  await settle('preflight', fetch(there + '/clear', { method: 'POST', headers: { 'x-a': 'b' } }).then((response) => response.status))
  await settle('script', element('script', { src: there + '/inspector.js' }))
  await settle('style', element('link', { rel: 'stylesheet', href: there + '/inspector.css' }))
  await settle('image', element('img', { src: there }))
  await settle('events', new Promise((resolve, reject) => {
    const events = new EventSource(there + '/events')
    events.onopen = () => resolve('open')
    events.onmessage = ({ data }) => resolve(data)
    events.onerror = () => { events.close(); reject() }
  }))
  const frame = document.createElement('iframe')
  frame.name = 'framed'
  document.body.append(frame)
  const loaded = () => new Promise((resolve) => { frame.onload = resolve })
  let done = loaded()
  frame.src = there
  await done
  const form = Object.assign(document.createElement('form'), { method: 'post', action: there + '/clear', target: 'framed' })
  document.body.append(form)
  done = Promise.race([loaded(), new Promise((resolve) => setTimeout(resolve, 500))])
  form.submit()
  await done
  return got
}`

for (const [name, host] of [
  ['another site', 'www.evil.example'],
  ['another port of this machine', 'localhost'],
] as const)
  test(`a page of ${name} can neither read nor clear anything`, { skip: noChromium }, async (t) => {
    const { port, attackerPort, page, statuses, kept, signIn } = await develop(t, await browser.newPage())
    for (const name of ['127.0.0.1', 'localhost']) await signIn(name)
    await page.goto(`http://${host}:${attackerPort}/`)
    for (const target of ['127.0.0.1', 'localhost']) {
      const got = (await page.evaluate(`(${ATTACK})('http://${target}:${port}/_weir')`)) as Record<string, string>
      const { opaque, clear, ...others } = got
      assert.deepEqual([opaque, clear], ['0opaque', '0'], 'responses that the page cannot read')
      assert.deepEqual(new Set(Object.values(others)), new Set(['nothing']), JSON.stringify(got))
    }
    assert.ok(
      statuses.every((status) => status === 403 || status === 405 || status === 204) && statuses.includes(403),
      JSON.stringify(statuses),
    )
    assert.equal(await kept(), 1, 'nothing was cleared')
  })

test('a page whose name was led to this machine gets nothing, though it is of the same origin', { skip: noChromium }, async (t) => {
  const { port, page, statuses, kept } = await develop(t, await browser.newPage())
  const response = await page.goto(`http://rebound.evil.example:${port}/_weir`)
  assert.equal(response?.status(), 403)
  await page.goto(`http://rebound.evil.example:${port}/`)
  const read = await page.evaluate("fetch('/_weir/exchanges').then(async (response) => response.status + await response.text())")
  assert.match(String(read), /^403/)
  assert.equal(await page.evaluate("fetch('/_weir/clear', { method: 'POST' }).then((response) => response.status)"), 403)
  assert.deepEqual([...new Set(statuses)], [403])
  assert.ok((await kept()) >= 2)
})

test('a large binary body is shown as base64 up to 64 KiB, and an HTTP Archive has no secret', { skip: noChromium }, async (t) => {
  const { port, page } = await develop(t, await browser.newPage())
  const origin = `http://127.0.0.1:${port}`
  const bytes = Buffer.alloc(100 * 1024, Uint8Array.of(0xff, 0x00, 0x3c, 0x73))
  await (
    await fetch(`${origin}/echo?api_key=SECRET-1`, { method: 'POST', body: bytes, headers: { authorization: 'Bearer SECRET-2' } })
  ).arrayBuffer()
  await page.goto(`${origin}/_weir#token=${TOKEN}`)
  await page.locator('.row', { hasText: '/echo' }).click()
  await page.getByText('100.0 KiB · shown as base64 · only the beginning is kept').first().waitFor()
  const shown = await page.locator('#detail pre').allInnerTexts()
  assert.ok(shown.includes(bytes.subarray(0, 64 * 1024).toString('base64')))
  const download = page.waitForEvent('download')
  await page.locator('#har').click()
  const har = readFileSync((await (await download).path())!, 'utf8')
  assert.equal((JSON.parse(har) as { log: { entries: unknown[] } }).log.entries.length, 2)
  for (const text of [har, await page.content()]) assert.equal(text.match(/SECRET/), null)
})
