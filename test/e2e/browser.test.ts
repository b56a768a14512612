// What a person sees: the routes on the demo's page in a real browser, sent and read by clicking. With SCREENSHOTS=FOLDER it saves a
// screenshot of each look in that folder, for a person to judge.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { HttpServer } from 'weirjs'

import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { onHandled, temporaryFolder } from '../../packages/weirjs/test/support/demo.ts'
import { PLAYED_LOOKS, visitDemo } from '../../packages/weirjs/test/support/demo-page.ts'
import { eventually, gate, within } from '../../packages/weirjs/test/support/serving.ts'

/** The text below the progress bar once it has moved. */
const SOMETHING_SENT = /^(?!0 B )[\d.]+ [kM]?B of [\d.]+ [kM]?B sent\.$/

const MIB = 1024 * 1024

/** One route on the page. */
interface RouteCard {
  readonly card: Locator
  send(): Promise<void>
  /** Waits until the last request has a response, which must have this status line. */
  answered(status: string, request: string): Promise<void>
  headers(): Promise<Record<string, string>>
  body(): Promise<string>
}

function routeCard(page: Page, title: string): RouteCard {
  const card = page.getByRole('region', { name: title, exact: true })
  const summary = card.getByRole('status')
  return {
    card,
    send: () => card.getByRole('button', { name: `Send ${title}` }).click(),
    async answered(status, request) {
      await card.locator('[aria-busy=false]').waitFor() // the card has sent a request by itself, whose response may still be shown
      await summary.filter({ hasText: status }).filter({ hasText: request }).waitFor()
      assert.match((await summary.textContent()) ?? '', /\d+\.\d ms/)
    },
    async headers() {
      const names = await card.locator('dt').allTextContents()
      const values = await card.locator('dd').allTextContents()
      return Object.fromEntries(names.map((name, i) => [name, values[i]!]))
    },
    body: async () => (await card.getByRole('region', { name: `Body of the response to ${title}` }).textContent()) ?? '',
  }
}

function textFile(name: string, text: string): { name: string; mimeType: string; buffer: Buffer } {
  return { name, mimeType: 'text/plain', buffer: Buffer.from(text) }
}

/**
 * A port that passes on this many bytes of each connection to the server, and then no more. An upload through it cannot become complete.
 * Slowing down the browser instead would not work, because it stops being slow once its page closes.
 */
async function lossyRoad(t: TestContext, port: number, bytes: number): Promise<number> {
  const road = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    let left = bytes
    near.on('data', (chunk) => {
      if (left > 0) far.write(chunk.subarray(0, left))
      left -= chunk.length
    })
    far.pipe(near)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => {}) // 'close' follows
      one.on('close', () => other.destroy())
    }
  })
  t.after(() => road.close())
  await once(road.listen(0, '127.0.0.1'), 'listening')
  return (road.address() as AddressInfo).port
}

describe('the page in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  const visit = (t: TestContext, options?: BrowserContextOptions, map?: (server: HttpServer) => void) => visitDemo(t, browser, options, map)

  for (const { name, look } of PLAYED_LOOKS) {
    test(`every request can be sent and read, ${name}, without complaints in the console`, async (t) => {
      const { page, complaints, uploadDir } = await visit(t, look)

      const user = routeCard(page, 'GET /users/:id')
      await user.card.getByLabel('id in the path').fill('7')
      await user.card.getByLabel('true', { exact: true }).check()
      await user.send()
      await user.answered('200 OK', 'GET /users/7?active=true')
      assert.equal(await user.body(), '{"id":7,"active":true}')
      assert.equal((await user.headers())['content-type'], 'application/json')

      const save = routeCard(page, 'POST /api/user/save')
      await save.card.getByLabel('body as it is sent').fill('Grüße\n  <b>Καλημέρα</b>')
      await save.send()
      await save.answered('200 OK', 'POST /api/user/save')
      assert.equal(await save.body(), 'Grüße\n  <b>Καλημέρα</b>')
      assert.equal((await save.headers())['content-type'], 'text/plain; charset=utf-8')

      const upload = routeCard(page, 'POST /api/user/upload')
      await upload.card.getByLabel('files').setInputFiles([textFile('a.txt', 'hello'), textFile('run.exe', 'x')])
      await upload.send()
      await upload.answered('415 Unsupported Media Type', 'POST /api/user/upload')
      assert.equal(await upload.body(), 'Wrong extension: only .gif, .jpeg, .jpg, .png, .txt, .webp.')

      const stream = routeCard(page, 'POST /api/user/upload-stream')
      await stream.card.getByLabel('files').setInputFiles([textFile('a.txt', 'hello'), textFile('b.txt', 'x'.repeat(200_000))])
      await stream.send()
      await stream.answered('200 OK', 'POST /api/user/upload-stream')
      assert.deepEqual((await readdir(uploadDir)).sort(), ['a.txt', 'b.txt'])

      const own = routeCard(page, 'GET /')
      await own.send()
      await own.answered('200 OK', 'GET /')
      assert.match(await own.body(), /^<!doctype html>/)
      assert.match((await own.headers())['content-encoding'] ?? '', /^(?:br|gzip|zstd)$/)

      const [content, window] = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]').then((sizes) => sizes as number[])
      assert.equal(content, window, 'nothing overflows at the side')
      const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
      const brightness = Number(/\d+/.exec(String(background))![0])
      assert.equal(brightness < 128, look.colorScheme === 'dark', `the background is ${background}`)
      // Chromium logs each 4xx itself; there must be nothing else.
      assert.deepEqual(complaints, ['Failed to load resource: the server responded with a status of 415 (Unsupported Media Type)'])
      if (process.env['SCREENSHOTS']) {
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/demo-${name.replaceAll(' ', '-')}.png`, fullPage: true })
      }
    })
  }

  test('the page opens with a wrong value, its 400 and why, and a right one gets through', async (t) => {
    const { page, complaints } = await visit(t)
    const first = page.locator('#first')
    await first.getByText('400 Bad Request').waitFor()
    await first.locator('.response', { hasText: '"expected": "a string"' }).waitFor()
    await first.locator('.why', { hasText: /^POST \/notes\n {2}response +400 WEIR_BODY_INVALID/ }).waitFor()
    await first.getByRole('button', { name: 'Send a right one' }).click()
    await first.locator('.response', { hasText: '"done": false' }).waitFor()
    assert.deepEqual(complaints, [])
  })

  test('on a wide page, the first card has no empty corner, and cards say what they are about to play', async (t) => {
    const { page } = await visit(t, { viewport: { width: 1440, height: 900 } })
    const first = page.locator('#first')
    await first.locator('.why', { hasText: 'WEIR_BODY_INVALID' }).waitFor()
    const bottomOf = async (selector: string): Promise<number> => {
      const { y, height } = (await first.locator(selector).boundingBox())!
      return y + height
    }
    const empty = (await bottomOf('.ask')) - (await bottomOf('.ask .send'))
    assert.ok(empty < 100, `${empty} px are empty below the buttons`)
    for (const id of ['cut', 'edit', 'gate']) {
      const card = page.locator(`#${id}`)
      assert.match((await card.getByRole('status').textContent())!, /^When you reach this card, or press Play, /)
      assert.equal(await card.getByRole('button', { name: 'Play', exact: true }).count(), 1)
    }
  })

  test('a card that is scrolled into view sends its request by itself, once: active is false if it is left out', async (t) => {
    let times = 0
    const { page } = await visit(t, {}, (server) => onHandled(server, '/users/', () => times++))
    const user = routeCard(page, 'GET /users/:id')
    assert.equal(times, 0)
    await user.card.scrollIntoViewIfNeeded()
    await user.answered('200 OK', 'GET /users/42')
    assert.equal(await user.body(), '{"id":42,"active":false}')
    await page.getByRole('heading', { name: 'weir demo' }).scrollIntoViewIfNeeded()
    await user.send()
    await user.answered('200 OK', 'GET /users/42')
    assert.equal(times, 2)
  })

  test('a card shows the code behind it, and why the server answers its last request so', async (t) => {
    const { page, complaints } = await visit(t)
    const user = routeCard(page, 'GET /users/:id')
    await user.card.scrollIntoViewIfNeeded()
    await user.answered('200 OK', 'GET /users/42')
    const tab = (name: string): Locator => user.card.getByRole('tab', { name })
    await tab('Response').press('ArrowRight')
    await user.card.getByRole('tabpanel', { name: 'Code' }).getByText("server.mapGet('/users/:id'").waitFor()
    assert.equal(await user.card.locator('dl').isVisible(), false)
    await page.keyboard.press('End')
    const why = user.card.getByRole('tabpanel', { name: 'Why' })
    await why.getByText(/^GET \/users\/42\n {2}response +the handler of GET \/users\/:id answers/).waitFor()
    await user.card.getByLabel('id in the path').fill('abc')
    await user.send()
    await why.getByText(/^GET \/users\/abc\n {2}response +400 WEIR_PARAMETER_INVALID/).waitFor()
    await tab('Why').press('ArrowRight')
    assert.equal(await tab('Response').getAttribute('aria-selected'), 'true', 'the last is followed by the first')
    await user.answered('400 Bad Request', 'GET /users/abc')
    assert.equal(complaints.filter((text) => !text.endsWith('400 (Bad Request)')).length, 0)
  })

  test('an id that is not a number shows the error of the server', async (t) => {
    const { page, complaints } = await visit(t)
    const user = routeCard(page, 'GET /users/:id')
    await user.card.scrollIntoViewIfNeeded()
    await user.answered('200 OK', 'GET /users/42')
    await user.card.getByLabel('id in the path').fill('a/b?c')
    await user.send()
    await user.answered('400 Bad Request', 'GET /users/a%2Fb%3Fc')
    assert.match(await user.body(), /expected a whole number, got \\"a\/b\?c\\"/)
    assert.equal((await user.headers())['content-type'], 'application/problem+json')
    // Chromium logs each 4xx itself; there must be nothing else.
    assert.deepEqual(complaints, ['Failed to load resource: the server responded with a status of 400 (Bad Request)'])
  })

  test('what the server repeats is shown as text, never as markup', async (t) => {
    const { page, complaints } = await visit(t)
    const save = routeCard(page, 'POST /api/user/save')
    const attack = '</pre><script>document.title = "taken"</script><img src=x onerror="document.title = \'taken\'">'
    await save.card.getByLabel('body as it is sent').fill(attack)
    await save.send()
    await save.answered('200 OK', 'POST /api/user/save')
    assert.equal(await save.body(), attack)
    assert.equal(await page.title(), 'weir demo')
    assert.equal(await save.card.locator('.answer img, .answer script').count(), 0)
    assert.deepEqual(complaints, [])
  })

  test('the page can be used with the keyboard alone', async (t) => {
    const { page } = await visit(t)
    await page.getByRole('heading', { name: 'GET /users/:id' }).click() // Tab continues from here
    await page.keyboard.press('Tab')
    await page.keyboard.type('13') // replaces: Tab selects what is in a field
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const user = routeCard(page, 'GET /users/:id')
    await user.answered('200 OK', 'GET /users/13?active=true')
    assert.equal(await user.body(), '{"id":13,"active":true}')
  })

  test('each kind of body has its own example, populates the model, and keeps what was typed', async (t) => {
    const { page, complaints } = await visit(t)
    const save = routeCard(page, 'POST /api/user/save')
    const body = save.card.getByLabel('body as it is sent')
    const user = { id: '0e37df36-f698-11e6-8dd4-cb9ced3df976', name: 'Ada', creation: '2024-01-31T09:30:00.000Z', enabled: true }
    for (const kind of ['JSON', 'form']) {
      await save.card.getByLabel(kind, { exact: true }).check()
      await save.send()
      await save.answered('200 OK', 'POST /api/user/save')
      assert.equal((await save.headers())['content-type'], 'application/json')
      assert.deepEqual(JSON.parse(await save.body()), { user }, kind)
      await save.card.getByLabel('text', { exact: true }).check()
      await save.send()
      await save.answered('200 OK', 'POST /api/user/save')
      assert.equal((await save.headers())['content-type'], 'text/plain; charset=utf-8')
      assert.equal(await save.body(), 'Hello from the page. Grüße! Καλημέρα!')
    }
    assert.deepEqual(complaints, [])

    await save.card.getByLabel('JSON', { exact: true }).check()
    await body.fill('{"enabled": "yes"}')
    await save.card.getByLabel('text', { exact: true }).check()
    await save.card.getByLabel('JSON', { exact: true }).check()
    assert.equal(await body.inputValue(), '{"enabled": "yes"}')
    await save.send()
    await save.answered('400 Bad Request', 'POST /api/user/save')
    assert.match(await save.body(), /"name":"enabled","in":"body","pointer":"\/enabled","expected":"true or false"/)
  })

  test('a small file is saved byte for byte', async (t) => {
    const { page, uploadDir, complaints } = await visit(t)
    const upload = routeCard(page, 'POST /api/user/upload')
    const bytes = randomBytes(100_000)
    const chooser = page.waitForEvent('filechooser')
    await upload.card.getByLabel('files').click()
    await (await chooser).setFiles({ name: 'Bild "1" ü.png', mimeType: 'image/png', buffer: bytes })
    await upload.send()
    await upload.answered('200 OK', 'POST /api/user/upload')
    assert.equal(await upload.body(), `Saved Bild _1_ ü.png (100000 bytes) in ${uploadDir}.`)
    assert.ok((await readFile(join(uploadDir, 'Bild _1_ ü.png'))).equals(bytes))
    assert.deepEqual(complaints, [])
  })

  test('refused files show the reason, and nothing is saved', async (t) => {
    const { page, uploadDir } = await visit(t)
    const upload = routeCard(page, 'POST /api/user/upload')
    await upload.card.getByLabel('files').setInputFiles([textFile('good.txt', 'good'), textFile('run.exe', 'bad')])
    await upload.send()
    await upload.answered('415 Unsupported Media Type', 'POST /api/user/upload')
    assert.equal(await upload.body(), 'Wrong extension: only .gif, .jpeg, .jpg, .png, .txt, .webp.')
    await upload.card.getByLabel('files').setInputFiles(textFile('long.txt', 'x'.repeat(1024 * 1024 + 1)))
    await upload.send()
    await upload.answered('413 Content Too Large', 'POST /api/user/upload')
    assert.equal(await upload.body(), 'A file may have at most 1048576 bytes.')
    assert.deepEqual(await readdir(uploadDir), [])
  })

  test('without a file the browser requests one, and sends nothing', async (t) => {
    let handled = 0
    const { page, uploadDir } = await visit(t, {}, (server) => onHandled(server, '/api/user/upload', () => handled++))
    for (const [title, status] of [
      ['POST /api/user/upload', '400 Bad Request'],
      ['POST /api/user/upload-stream', '200 OK'],
    ] as const) {
      const { card, send, answered } = routeCard(page, title)
      await card.scrollIntoViewIfNeeded()
      await answered(status, title) // by itself
      const before = handled
      await send()
      assert.equal(await card.locator('input[type=file]:focus:invalid').count(), 1)
      assert.equal(handled, before)
    }
    assert.deepEqual(await readdir(uploadDir), [])
  })

  test('the progress bar stops while the server does not read, and ends full', async (t) => {
    const reading = gate()
    const { page, uploadDir, complaints } = await visit(t, {}, (server) => {
      // The handler of an upload starts before its body has arrived, and reads nothing until this resolves.
      server.use(async (session, next) => {
        if (session.request.method === 'POST') await reading.promise
        return next()
      })
    })
    const large = join(await temporaryFolder(t), 'large.bin')
    const bytes = Buffer.alloc(32 * 1024 * 1024, randomBytes(100_003))
    await writeFile(large, bytes)

    const stream = routeCard(page, 'POST /api/user/upload-stream')
    const bar = stream.card.getByRole('progressbar', { name: 'upload progress' })
    const value = () => bar.evaluate((element) => (element as unknown as { value: number }).value)
    assert.equal(await value(), 0)
    await stream.card.getByLabel('title').fill('Ein großes Bild')
    await stream.card.getByLabel('files').setInputFiles(large)
    await stream.send()
    // The buffers of both kernels are full, and the rest waits.
    await stream.card.getByText(SOMETHING_SENT).waitFor()
    const held = await value()
    assert.ok(held > 0 && held < 1, `the bar is at ${held}`)
    assert.equal(await stream.card.getByRole('status').textContent(), 'No response yet.')
    if (process.env['SCREENSHOTS']) await stream.card.screenshot({ path: `${process.env['SCREENSHOTS']}/demo-progress.png` })

    reading.open()
    await stream.answered('200 OK', 'POST /api/user/upload-stream')
    assert.equal(await value(), 1)
    await stream.card.getByText('33.6 MB of 33.6 MB sent.').waitFor()
    assert.deepEqual(JSON.parse(await stream.body()), {
      ok: true,
      title: 'Ein großes Bild',
      uploadDir,
      files: [
        { field: 'file', originalName: 'large.bin', savedAs: 'large.bin', size: bytes.length, contentType: 'application/octet-stream' },
      ],
    })
    assert.ok((await readFile(join(uploadDir, 'large.bin'))).equals(bytes))
    assert.deepEqual(complaints, [])
  })

  test('a page that is closed in the middle of an upload leaves no file', async (t) => {
    const over = gate()
    let isOver = false
    const { page, server, uploadDir } = await visit(t, {}, (server) => {
      server.use(async ({ request }, next) => {
        try {
          return await next()
        } finally {
          // Cards send small requests by themselves.
          if (Number(request.header('content-length') ?? 0) > MIB) {
            isOver = true
            over.open()
          }
        }
      })
    })
    await page.goto(`http://127.0.0.1:${await lossyRoad(t, server.port, 1024 * 1024)}/`)
    const stream = routeCard(page, 'POST /api/user/upload-stream')
    const large = join(await temporaryFolder(t), 'large.bin')
    await writeFile(large, Buffer.alloc(32 * 1024 * 1024))
    await stream.card.getByLabel('files').setInputFiles(large)
    await stream.send()
    await stream.card.getByText(SOMETHING_SENT).waitFor()
    await eventually(() => readdirSync(uploadDir).length > 0, 'the first bytes of the file')
    assert.equal(isOver, false, 'the upload is in progress')
    await page.close()
    await within(over.promise, 'the end of the handler')
    assert.deepEqual(await readdir(uploadDir), [])
  })

  test('a server that is gone is shown as such', async (t) => {
    const { page, server } = await visit(t)
    await server.stop({ graceMs: 0 })
    const user = routeCard(page, 'GET /users/:id')
    await user.send()
    await user.answered('No answer', 'GET /users/42')
  })
})
