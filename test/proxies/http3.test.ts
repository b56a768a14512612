// HTTP/3 as docs/guide/deploy.md shows it: Caddy in front of a server, and Chromium, which reports the protocol that it used.

import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { chromium } from 'playwright-core'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { findChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'
import { DEPLOYING } from './documented.ts'
import { noCaddy } from './hops.ts'
import { freePort, run, temporaryFolder } from './proxy.ts'

test('a page arrives over HTTP/3', { skip: noCaddy || noChromium }, async (t) => {
  const server = new HttpServer('127.0.0.1', 0, { proxies: { trust: ['loopback'], hosts: ['app.example.com'] } })
  server.mapGet('/', (_, { isSecure, clientAddress }) => `${isSecure} ${clientAddress}`)
  await server.start()
  t.after(() => server.stop())

  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'Caddyfile')
  const [, site] = /^```caddy\n(app\.example\.com \{[\s\S]*?)^```$/m.exec(DEPLOYING) ?? assert.fail('no configuration')
  const here = site!
    .replace('app.example.com {', `https://app.example.com:${port} {\n  bind 127.0.0.1\n  tls internal`)
    .replace('8081', String(server.port))
  const options = `admin off\nauto_https disable_redirects\nskip_install_trust\nstorage file_system ${folder}`
  writeFileSync(file, `{\n${options}\n}\n${here}`)
  await run(t, folder, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], port)
  const certificate = join(folder, 'certificates/local/app.example.com/app.example.com.crt')
  // Caddy creates the file before it writes it.
  await eventually(() => existsSync(certificate) && readFileSync(certificate, 'utf8').includes('-----END'), 'a certificate')

  const key = new X509Certificate(readFileSync(certificate)).publicKey.export({ type: 'spki', format: 'der' })
  const browser = await chromium.launch({
    executablePath: findChromium()!,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--host-resolver-rules=MAP app.example.com 127.0.0.1',
      `--origin-to-force-quic-on=app.example.com:${port}`,
      `--ignore-certificate-errors-spki-list=${createHash('sha256').update(key).digest('base64')}`,
    ],
  })
  t.after(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`https://app.example.com:${port}/`)
  assert.equal(await page.textContent('body'), 'true 127.0.0.1')
  assert.equal(await page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol"), 'h3')
})
