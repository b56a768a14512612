// Attacks on a server of `local` by pages that its user has open, in Chromium. docs/local-threats.md names these tests.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser, BrowserContext, Page } from 'playwright-core'

import { HttpServer } from '../../../src/index.ts'
import { type LocalServer, local } from '../../../src/modules/local/index.ts'
import { sse } from '../../../src/modules/sse/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { launchChromium, noChromium } from '../../support/chromium.ts'
import { emptyEnvironment } from '../../support/local-programs.ts'

interface Tool {
  readonly running: LocalServer
  /** What got through to a handler. */
  readonly ran: string[]
}

async function tool(t: TestContext, port?: number): Promise<Tool> {
  const server = new HttpServer({ logger: null })
  const ran: string[] = []
  const noted = <T>(what: string, answer: T): T => {
    ran.push(what)
    return answer
  }
  server.mapGet('/', (_, { response }) => response.html('<!doctype html><title>tool</title><p>secret'))
  server.mapGet('/deep', (_, { response }) => response.html('<!doctype html><title>deep</title>'))
  server.mapGet('/secret', () => noted('secret', 'the secret'))
  server.mapGet('/script.js', (_, { response }) => noted('script', response.contentType('text/javascript').text('window.stolen = 1')))
  server.mapPost('/run', () => noted('run', 'it ran'))
  server.mapGet('/events', (_, session) => noted('events', sse(session, secrets)))
  server.useModule(websocket('/socket', { open: () => void ran.push('socket') }))
  const running = await local(server, { name: 'tool', environment: emptyEnvironment(t), ...(port === undefined ? {} : { port }) })
  t.after(() => running.stop())
  return { running, ran }
}

async function* secrets(): AsyncGenerator<string> {
  yield 'secret'
}

/** A page of somebody else, at a name that leads to this machine. */
async function page(t: TestContext, context: BrowserContext, host: string, html = '<!doctype html><title>evil</title>'): Promise<Page> {
  const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end(html))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const opened = await context.newPage()
  await opened.goto(`http://${host}:${(server.address() as AddressInfo).port}/`)
  return opened
}

describe('local in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium('--host-resolver-rules=MAP *.example 127.0.0.1')
  })
  after(() => browser?.close())

  async function signedIn(t: TestContext): Promise<Tool & { readonly context: BrowserContext; readonly own: Page }> {
    const { running, ran } = await tool(t)
    const context = await browser.newContext()
    t.after(() => context.close())
    const own = await context.newPage()
    await own.goto(running.newLaunchUrl('/deep'))
    await own.waitForURL(`${running.url}/deep`)
    assert.equal(await own.title(), 'deep')
    return { running, ran, context, own }
  }

  test('a link opens the program, and leaves no secret in the address or the history', async (t) => {
    const { running, own } = await signedIn(t)
    assert.equal(await own.evaluate('document.cookie'), '')
    await own.goto(running.url)
    assert.equal(await own.textContent('p'), 'secret')
    await own.goBack()
    assert.equal(own.url(), `${running.url}/deep`)
    assert.equal(await own.evaluate('history.length'), 3) // the empty page, /deep in place of the link, and the start
    assert.equal(await own.evaluate(`fetch('/run', { method: 'POST' }).then((r) => r.text())`), 'it ran')
    const opens = `new Promise((resolve) => { const s = new WebSocket(location.origin.replace('http', 'ws') + '/socket'); s.onopen = () => resolve(true); s.onerror = () => resolve(false) })`
    assert.equal(await own.evaluate(opens), true)
  })

  test('a link that was copied into a chat works once, and elsewhere the page says what to do', async (t) => {
    const { running } = await tool(t)
    const link = running.newLaunchUrl()
    for (const [i, works] of [true, false].entries()) {
      const context = await browser.newContext()
      t.after(() => context.close())
      const opened = await context.newPage()
      await opened.goto(link)
      if (works) await opened.waitForURL(`${running.url}/`)
      else await opened.getByText('This link has been used').waitFor()
      assert.equal(await opened.title(), works ? 'tool' : 'tool is closed', String(i))
    }
  })

  test('a link cannot lead to another site', async (t) => {
    const { running } = await tool(t)
    for (const to of ['//evil.example/', 'https://evil.example/', '/\\evil.example', 'javascript:alert(1)']) {
      const context = await browser.newContext()
      const opened = await context.newPage()
      await opened.goto(running.newLaunchUrl(to))
      await opened.waitForLoadState('networkidle')
      assert.equal(new URL(opened.url()).origin, running.url, to)
      await context.close()
    }
  })

  const TRIES = {
    'a GET': `fetch(at + '/secret').then((r) => r.text())`,
    'a GET with credentials': `fetch(at + '/secret', { credentials: 'include' }).then((r) => r.text())`,
    'a GET without CORS': `fetch(at + '/secret', { mode: 'no-cors', credentials: 'include' }).then(() => 'sent')`,
    'a POST without CORS': `fetch(at + '/run', { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'x' }).then(() => 'sent')`,
    'a POST with a preflight': `fetch(at + '/run', { method: 'POST', credentials: 'include', headers: { 'X-Own': '1' } }).then((r) => r.text())`,
    'a beacon': `navigator.sendBeacon(at + '/run', 'x')`,
    'a form': `new Promise((resolve) => { const f = document.createElement('form'); f.method = 'post'; f.action = at + '/run'; f.target = 'away'; const i = document.createElement('iframe'); i.name = 'away'; i.onload = () => setTimeout(() => resolve('sent'), 100); document.body.append(i, f); f.submit() })`,
    'an event source': `new Promise((resolve) => { const s = new EventSource(at + '/events', { withCredentials: true }); s.onmessage = (e) => resolve(e.data); s.onerror = () => { s.close(); resolve('refused') } })`,
    'a WebSocket': `new Promise((resolve) => { const s = new WebSocket(at.replace('http', 'ws') + '/socket'); s.onopen = () => resolve('open'); s.onerror = () => resolve('refused') })`,
    'a script': `new Promise((resolve) => { const s = document.createElement('script'); s.src = at + '/script.js'; s.onload = s.onerror = () => resolve(String(window.stolen)); document.head.append(s) })`,
    'an image': `new Promise((resolve) => { const i = new Image(); i.src = at + '/secret'; i.onload = i.onerror = () => resolve('asked') })`,
    'a frame': `new Promise((resolve) => { const i = document.createElement('iframe'); i.src = at + '/'; i.onload = () => { try { resolve(i.contentDocument.body.textContent) } catch { resolve('closed') } }; document.body.append(i) })`,
    'a window': `new Promise((resolve) => { const w = open(at + '/secret', 'w' + Math.random()); setTimeout(() => { try { resolve(w.document.body.textContent) } catch { resolve('closed') } }, 300) })`,
    'the enter path': `fetch(at + '/_weir/local/enter', { method: 'POST', mode: 'no-cors', credentials: 'include' }).then(() => 'sent')`,
    'the proof': `fetch(at + '/_weir/local/hello', { headers: { 'weir-challenge': 'x'.repeat(22) } }).then((r) => r.text())`,
  }

  for (const [where, host] of [
    ['another site', 'evil.example'],
    ['another port of this machine', '127.0.0.1'],
  ] as const)
    test(`no page of ${where} reads anything, runs anything, or opens a socket`, async (t) => {
      const { running, ran, context } = await signedIn(t)
      const evil = await page(t, context, host)
      for (const [name, attempt] of Object.entries(TRIES)) {
        const got = await evil.evaluate(`((at) => ${attempt}.catch?.((e) => 'error ' + e) ?? 'sent')(${JSON.stringify(running.url)})`)
        assert.ok(!/the secret|it ran|^open$|^1$|^secret$/.test(String(got)), `${name}: ${got}`)
        assert.deepEqual(ran, [], name)
      }
    })

  test('DNS rebinding: a page whose own name leads here is told nothing, and gets no cookie', async (t) => {
    const { running, ran, context } = await signedIn(t)
    const rebound = await context.newPage()
    const at = `http://evil.example:${running.port}`
    await rebound.goto(`${at}/secret`)
    assert.doesNotMatch((await rebound.textContent('body')) ?? '', /the secret/)
    for (const attempt of [
      `fetch('/secret').then((r) => r.text())`,
      `fetch('/run', { method: 'POST' }).then((r) => r.text())`,
      `new Promise((resolve) => { const s = new WebSocket(${JSON.stringify(at.replace('http', 'ws'))} + '/socket'); s.onopen = () => resolve('open'); s.onerror = () => resolve('refused') })`,
    ])
      assert.doesNotMatch(String(await rebound.evaluate(attempt)), /the secret|it ran|^open$/)
    assert.deepEqual(ran, [])
  })

  test('after a crash, another program at the port gets a cookie that opens nothing', async (t) => {
    const { running, context, own } = await signedIn(t)
    await running.stop()
    const heard: string[] = []
    const thief = createServer((request, response) => {
      heard.push(request.headers.cookie ?? '')
      response.setHeader('Content-Type', 'text/html').end('thief')
    })
    await new Promise<void>((resolve) => thief.listen(running.port, '127.0.0.1', resolve))
    await own.goto(running.url)
    thief.closeAllConnections()
    await new Promise((resolve) => thief.close(resolve))
    const next = await tool(t, running.port)
    assert.equal(next.running.port, running.port)
    for (const cookie of heard) assert.equal((await fetch(`${next.running.url}/secret`, { headers: { Cookie: cookie } })).status, 401)
    const again = await context.newPage()
    await again.goto(next.running.url)
    assert.equal(await again.title(), 'tool is closed')
    assert.deepEqual(next.ran, [])
  })
})
