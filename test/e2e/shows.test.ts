// What the demo plays: the load on three servers, an upload that is cut, an edit under `weir dev`, and a refusal at the gate.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'

import type { Browser, Locator, Page } from 'playwright-core'

import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { startDemo } from '../../packages/weirjs/test/support/demo.ts'
import { PLAYED_LOOKS, visitDemo } from '../../packages/weirjs/test/support/demo-page.ts'
import { pageFaults } from '../../packages/weirjs/test/support/page-faults.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'

const MIB_64 = 64 * 1024 * 1024
/** Processes start, and 64 MiB are sent, which takes long on a machine that is busy. */
const PATIENCE = { timeout: 120_000 }
const noSockets = process.platform === 'win32' && 'weir dev cannot hold sockets here'

const ours = (): string[] => readdirSync(folder).filter((name) => name.startsWith('weir-demo-'))
const children = (): number => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length

async function begin(origin: string, path: string, type = 'application/json'): Promise<Response> {
  return await fetch(`${origin}${path}`, { method: 'POST', headers: { 'Content-Type': type }, body: '{}' })
}

/** Everything until a stream says that it is over. */
async function played(origin: string, path: string): Promise<string> {
  const leaving = new AbortController()
  const { body } = await fetch(`${origin}${path}`, { signal: leaving.signal })
  const started = await begin(origin, path)
  assert.deepEqual([started.status, await started.json()], [202, { joined: false }])
  let text = ''
  for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (/event: over\ndata: .*\n/.test(text)) break
  }
  leaving.abort()
  return text
}

// Folders of the demo are made here, so that the tests see what is left of them.
const folder = mkdtempSync(join(tmpdir(), 'weir-'))
process.env['TMPDIR'] = folder
after(() => rmSync(folder, { recursive: true, force: true }))

describe('what the demo plays, in Chromium', { skip: noChromium || noSockets }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  const status = async (card: Locator, text: string | RegExp): Promise<string> => {
    const shown = card.getByRole('status').filter({ hasText: text })
    await shown.waitFor(PATIENCE)
    return (await shown.textContent())!
  }

  /** @param deleted the paths to which the page has sent DELETE */
  async function watchCut(page: Page, origin: string, deleted: readonly string[]): Promise<void> {
    const card = page.locator('#cut')
    await card.locator('.answer').scrollIntoViewIfNeeded()
    await status(card, /^The same SHA-256 on both sides: \d.*B were not sent again\.$/)
    const steps = await card.getByRole('listitem').allTextContents()
    assert.equal(steps[0], 'POST /parts Upload-Length: 67108864 201 Created The server keeps a place for it.')
    assert.match(steps[1]!, /^PATCH \/parts\/… Upload-Offset: 0 Cut by the page, when the browser had passed on \d.*B\.$/)
    const offset = Number(/204 No Content Upload-Offset: (\d+)/.exec(steps.at(-3)!)?.[1])
    assert.ok(offset > 0 && offset < MIB_64, `${offset} have arrived`)
    assert.match(steps.at(-2)!, new RegExp(`^PATCH /parts/… Upload-Offset: ${offset} 200 OK ${MIB_64} bytes, SHA-256 [0-9a-f]{12}…$`))
    assert.match(steps.at(-1)!, /^DELETE \/parts\/… +204 No Content/)
    await card.getByRole('button', { name: 'Play again' }).waitFor()
    assert.equal(deleted.length, 1)
    assert.equal((await fetch(`${origin}${deleted[0]}`, { method: 'HEAD' })).status, 404)
  }

  async function watchEdit(page: Page): Promise<void> {
    const card = page.locator('#edit')
    await card.locator('.answer').scrollIntoViewIfNeeded()
    const [, asked, waited] = /^(\d+) requests\. (\d+) waited for the second version, at most \d+ ms\. None refused\.$/.exec(
      await status(card, 'refused.'),
    )!
    assert.equal(await card.locator('.timeline line').count(), Number(asked))
    assert.equal(await card.locator('.timeline line.waited').count(), Number(waited))
    assert.ok((await card.locator('.timeline line.first').count()) >= 20)
    assert.equal(await card.locator('.timeline line.refused').count(), 0)
  }

  async function watchGate(page: Page): Promise<void> {
    const card = page.locator('#gate')
    await card.locator('.answer').scrollIntoViewIfNeeded()
    await status(card, '401 Unauthorized')
    const [body, sent, read] = await card.locator('.bars dd').allTextContents()
    assert.equal(body, '67.1 MB')
    assert.notEqual(sent, '67.1 MB')
    assert.equal(read, '0 B')
    assert.match((await card.locator('.refusal').textContent())!, /"status":401/)
  }

  async function watchLoad(page: Page): Promise<void> {
    const card = page.locator('#load')
    assert.match((await card.getByRole('status').textContent())!, /^Start the load: /)
    assert.equal(await card.getByLabel('progress').isVisible(), false)
    await card.getByRole('button', { name: 'Start the load' }).click()
    await card.getByLabel('progress').waitFor()
    assert.equal(await page.evaluate('document.activeElement.id'), 'load-begin', 'the focus is not lost')
    await status(
      card,
      /^(?:Express|node:http) needs \d+\.\d times and (?:Express|node:http) \d+\.\d times the CPU of weir for this request\.$/,
    )
    const values = await card.locator('.bars dd').allTextContents()
    assert.equal(values.length, 9)
    for (const [i, form] of [/^[\d,]+$/, /^\d+\.\d µs$/, /^\d+\.\d MB$/].entries())
      for (const value of values.slice(3 * i, 3 * i + 3)) assert.match(value, form)
    assert.ok(await card.getByRole('button', { name: 'Start the load' }).isEnabled())
  }

  for (const { name, look } of PLAYED_LOOKS) {
    test(`each card plays, is true, and leaves nothing behind, ${name}`, async (t) => {
      const { page, origin, complaints } = await visitDemo(t, browser, look, undefined, { loadRounds: 1 })
      const deleted: string[] = [] // a card plays as soon as half of it can be seen
      page.on('request', (request) => request.method() === 'DELETE' && deleted.push(new URL(request.url()).pathname))
      const before = children()
      await watchLoad(page)
      await watchCut(page, origin, deleted)
      await watchEdit(page)
      await watchGate(page)
      assert.deepEqual(await pageFaults(page), [])
      assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, 'nothing overflows at the side')
      assert.deepEqual(complaints, [])
      await eventually(() => children() === before, 'the end of all processes')
      assert.deepEqual(
        ours().flatMap((name) => readdirSync(join(folder, name))),
        [],
        'no file is left',
      )
    })
  }
})

test('a second request joins the load that is measured', async (t) => {
  const { origin } = await startDemo(t, { loadRounds: 1 })
  const before = children()
  const playing = played(origin, '/load')
  await eventually(() => children() > before, 'the first process')
  assert.deepEqual(await (await begin(origin, '/load')).json(), { joined: true })
  const last = /event: over\ndata: (.*)\n/.exec(await playing)![1]!
  assert.match(
    last,
    /^\{"done":1,"servers":\[\{"name":"weir","isMissing":false,"requestsPerSecond":[\d.]+,"cpuMicros":[\d.]+,"memoryBytes":\d+/,
  )
  await eventually(() => children() === before, 'the end of all processes')
})

test('no page of another site can begin what the demo plays', async (t) => {
  const { origin } = await startDemo(t)
  for (const path of ['/load', '/edit'])
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      assert.equal((await begin(origin, path, type)).status, 415, `${path} ${type}`)
  assert.equal(children(), 0)
})

test('what is played ends with the server', async (t) => {
  const { origin, server } = await startDemo(t)
  const before = children()
  for (const path of ['/load', '/edit']) await begin(origin, path)
  await eventually(() => children() > before, 'the first process')
  await server.stop({ graceMs: 0 })
  await eventually(() => children() === before, 'the end of all processes')
  await eventually(() => ours().length === 0, 'the end of the folder')
})
