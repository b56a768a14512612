// Vite's development server in middleware mode: its modules, and a change that reaches the page over its WebSocket.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createServer } from 'vite'

import { launchChromium } from '../../../packages/weirjs/test/support/chromium.ts'
import { guest } from '../support/guest.mjs'

guest('Vite', {
  kind: 'application',
  packages: ['vite'],
  driven:
    'its development server in middleware mode: a page, transformed modules, conditions, a change that reaches the page over its WebSocket',
  app: async () => {
    const root = mkdtempSync(join(tmpdir(), 'weir-guest-vite-'))
    cpSync(join(import.meta.dirname, '../apps/vite'), root, { recursive: true })
    const upgrades = new EventEmitter() // in place of the server: Vite listens to `upgrade`, and nothing else
    const vite = await createServer({
      root,
      configFile: false,
      logLevel: 'silent',
      appType: 'spa',
      server: { middlewareMode: true, hmr: { server: upgrades }, watch: { usePolling: true, interval: 50 } },
    })
    return {
      root,
      handler: vite.middlewares,
      upgrade: (request, socket, head) => upgrades.emit('upgrade', request, socket, head),
      close: async () => {
        await vite.close()
        rmSync(root, { recursive: true, force: true })
      },
    }
  },
  async drive({ get }, { origin }, { root }) {
    assert.match((await get('/', { hidden: true, headers: { accept: 'text/html' } })).text, /\/@vite\/client/)
    const script = await get('/main.jsx', { hidden: true })
    assert.match(script.header('content-type'), /javascript/)
    assert.equal((await get('/main.jsx', { hidden: true, headers: { 'if-none-match': script.header('etag') } })).status, 304)
    const browser = await launchChromium()
    try {
      const page = await browser.newPage()
      const complaints = []
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(String(error)))
      const connected = page.waitForEvent('console', (message) => message.text().includes('[vite] connected.'))
      await page.goto(origin)
      await page.getByText('first').waitFor()
      await connected
      await page.evaluate(() => {
        window.isKept = true
      })
      writeFileSync(join(root, 'text.js'), "export const text = 'second'\n")
      await page.getByText('second').waitFor()
      assert.ok(await page.evaluate(() => window.isKept), 'the page was loaded again')
      assert.deepEqual(complaints, [])
    } finally {
      await browser.close()
    }
  },
})
