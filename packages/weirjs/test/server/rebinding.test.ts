// DNS rebinding in Chromium: a page on a name of its own, which then leads to this machine, and so to every server on it.

import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser } from 'playwright-core'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { csrf } from '../../src/modules/csrf/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'

const EVIL = 'evil.example'

describe('a name that leads to this machine', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium(`--host-resolver-rules=MAP ${EVIL} 127.0.0.1`)
  })
  after(() => browser?.close())

  /** What a page finds on its own origin once its name leads to the server, and what the server has done for it. */
  async function attack(t: TestContext, options: ServerOptions): Promise<{ found: unknown; done: string[] }> {
    const done: string[] = []
    // The page comes from the attacker's server. Then the server of this machine takes its place.
    const attacker = new HttpServer({ hosts: 'any', logger: null })
    attacker.mapGet('/page', (_, { response }) => response.html('<title>evil</title>'))
    await attacker.start()
    const { port } = attacker
    t.after(() => attacker.stop({ grace: 0 }))
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(`http://${EVIL}:${port}/page`)
    await attacker.stop({ grace: 0 })

    const server = new HttpServer({ port, logger: null, ...options })
    server.use(csrf()).use(websocket('/ws', { accept: () => void done.push('socket') }))
    server.mapGet('/secret', () => 'secret')
    server.mapPost('/run', (_, { request }) => {
      done.push(request.bodyString)
      return 'ran'
    })
    await server.start()
    t.after(() => server.stop({ grace: 0 }))
    const found = await page.evaluate(`(async () => {
      const text = async (path, init) => { try { return await (await fetch(path, init)).text() } catch (error) { return error.name } }
      const socket = new WebSocket('ws://' + location.host + '/ws')
      const opened = await new Promise((resolve) => { socket.onopen = () => resolve(true); socket.onerror = () => resolve(false) })
      const form = document.body.appendChild(document.createElement('iframe'))
      form.src = '/secret'
      await new Promise((resolve) => { form.onload = resolve })
      const framed = form.contentDocument?.body?.innerText ?? ''
      const headers = { 'X-Forwarded-Host': 'app.example.org', 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https' }
      const secrets = [await text('/secret'), await text('/secret', { headers }), await text('/run', { method: 'POST', body: 'evil' }), framed]
      return { read: secrets.filter((one) => /^(?:secret|ran)$/.test(one)), opened }
    })()`)
    return { found, done }
  }

  test('a page whose name leads to this machine reads nothing, sends nothing and opens no WebSocket', async (t) => {
    assert.deepEqual(await attack(t, {}), { found: { read: [], opened: false }, done: [] })
  })

  test('nor does it where proxies on this machine are trusted, although it sends their fields', async (t) => {
    const proxies = { trust: ['loopback'], hosts: ['app.example.org'] }
    assert.deepEqual(await attack(t, { proxies }), { found: { read: [], opened: false }, done: [] })
  })

  test('where every host is answered, the same page gets everything: the test would notice', async (t) => {
    const { found, done } = await attack(t, { hosts: 'any' })
    assert.deepEqual(found, { read: ['secret', 'secret', 'ran', 'secret'], opened: true })
    assert.deepEqual(done.toSorted(), ['evil', 'socket'])
  })
})
