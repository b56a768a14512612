// Forms as real clients send them: odd names, odd boundaries, other charsets, and what a browser makes of quotes.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser } from 'playwright-core'
import { FormData, fetch } from 'undici'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { curl, noCurl } from '../../packages/weirjs/test/support/curl.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

/** Returns the contents of a form, read in memory and as it arrives: both must be the same. */
async function start(t: TestContext, map: (server: HttpServer) => void = () => {}): Promise<{ server: HttpServer; origin: string }> {
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
  server.mapPost('/form', { body: 'buffer' }, async (_, { request }) => {
    const form = await request.bodyMultipart()
    const fields: [string, string][] = []
    const files: [string, string | null, string][] = []
    const isValid = await request.bodyMultipartStream({
      onField: (name, value) => void fields.push([name, value]),
      async onFile(info, content) {
        files.push([info.fieldName, info.fileName, Buffer.concat(await content.toArray()).toString()])
      },
    })
    if (form !== null) {
      assert.deepEqual([...form.fields], fields)
      assert.deepEqual(
        form.files.map((file) => [file.fieldName, file.fileName, Buffer.from(file.content).toString()]),
        files,
      )
    }
    return { isValid, fields, files }
  })
  server.mapPost('/urlencoded', (_, { request }) => ({ ...request.bodyForm() }))
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, origin: `http://127.0.0.1:${server.port}` }
}

describe('curl', { skip: noCurl }, () => {
  const NAMES = [
    'plain.txt',
    'a"b.txt',
    'C:\\dir\\c.txt',
    'back\\slash"quote.txt',
    'naïve 日本.txt',
    '100%.txt',
    'semi;colon=.txt',
    "o'brien.txt",
  ]

  for (const [way, options] of [
    ['as it does by default', []],
    ['with backslashes, as --form-escape has it', ['--form-escape']],
  ] as const) {
    test(`-F sends odd names, ${way}`, async (t) => {
      const { origin } = await start(t)
      const file = join(temporaryDirectory(t), 'file')
      writeFileSync(file, 'content')
      const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
      const parts = NAMES.flatMap((name) => ['-F', `${name.replaceAll('=', '')}=@${file};filename=${quoted(name)}`])
      const { response } = await curl([...options, ...parts, '-F', 'field=ü "x"', `${origin}/form`])
      assert.deepEqual(JSON.parse(response.text), {
        isValid: true,
        fields: [['field', 'ü "x"']],
        files: NAMES.map((name) => [name.replaceAll('=', ''), name, 'content']),
      })
    })
  }

  test('-F with a charset of the part', async (t) => {
    const { origin } = await start(t)
    const file = join(temporaryDirectory(t), 'value')
    writeFileSync(file, Buffer.from('J\xfcrgen', 'latin1'))
    const { response } = await curl(['-F', `name=<${file};type=text/plain; charset=ISO-8859-1`, `${origin}/form`])
    assert.deepEqual((JSON.parse(response.text) as { fields: unknown }).fields, [['name', 'Jürgen']])
  })

  for (const boundary of ['a$b*c#d', "!#$%&'*+-.^_`|~", '"quoted $*# one"']) {
    test(`a boundary ${boundary}`, async (t) => {
      const { origin } = await start(t)
      const plain = boundary.replaceAll('"', '')
      const body = `--${plain}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--${plain}--\r\n`
      const args = ['-H', `Content-Type: multipart/form-data; boundary=${boundary}`, '--data-binary', '@-', `${origin}/form`]
      const { response } = await curl(args, Buffer.from(body))
      assert.deepEqual(JSON.parse(response.text), { isValid: true, fields: [['a', '1']], files: [] })
    })
  }

  test('--data with a charset', async (t) => {
    const { origin } = await start(t)
    const type = 'Content-Type: application/x-www-form-urlencoded; charset=ISO-8859-1'
    const { response } = await curl(['-H', type, '--data-binary', '@-', `${origin}/urlencoded`], Buffer.from('name=J\xfcrgen', 'latin1'))
    assert.deepEqual(JSON.parse(response.text), { name: 'Jürgen' })
  })

  test('quotes of a cookie arrive as they were sent', async (t) => {
    const { origin } = await start(t, (server) => server.mapGet('/', (_, { request }) => ({ q: request.cookie('q') })))
    assert.deepEqual(JSON.parse((await curl(['--cookie', 'q="a b"; r=1', `${origin}/`])).response.text), { q: '"a b"' })
  })
})

test('undici sends odd names with FormData', async (t) => {
  const { origin } = await start(t)
  const names = ['plain.txt', 'a"b.txt', 'C:\\dir\\c.txt', 'naïve 日本.txt', '100%.txt', 'line\r\nend"', "o'brien;=.txt"]
  const body = new FormData()
  for (const name of names) {
    body.append(name, 'ü "x"')
    body.append(name, new File(['content'], name))
  }
  const seen = await (await fetch(`${origin}/form`, { method: 'POST', body })).json()
  assert.deepEqual(seen, {
    isValid: true,
    fields: names.map((name) => [name, 'ü "x"']),
    files: names.map((name) => [name, name, 'content']),
  })
})

describe('Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser.close())

  /** A page in that charset with a form of each kind. */
  function pageOf(charset: string): Buffer {
    const inputs = '<input name="_charset_" type="hidden"><input name="text" value="&uuml;&euro;">'
    const forms = [
      `<form id="multipart" method="post" enctype="multipart/form-data" action="/form">${inputs}<input type="file" name="fi&quot;le"></form>`,
      `<form id="urlencoded" method="post" action="/urlencoded">${inputs}</form>`,
    ]
    return Buffer.from(`<!doctype html><meta charset="${charset}">${forms.join('')}`)
  }

  async function submit(t: TestContext, charset: string, id: string): Promise<unknown> {
    const { origin } = await start(t, (server) =>
      server.mapGet('/', (_, { response }) => response.body(pageOf(charset), `text/html; charset=${charset}`)),
    )
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(`${origin}/`)
    if (id === 'multipart') {
      await page.locator('input[type=file]').setInputFiles({ name: 'a"b 100%.txt', mimeType: 'text/plain', buffer: Buffer.from('content') })
    }
    const [reply] = await Promise.all([
      page.waitForResponse(/\/(?:form|urlencoded)$/),
      page.evaluate(`document.getElementById('${id}').submit()`),
    ])
    return reply.json()
  }

  test('a page in UTF-8 sends forms that come back whole, quotes in names too', async (t) => {
    assert.deepEqual(await submit(t, 'utf-8', 'urlencoded'), { _charset_: 'UTF-8', text: 'ü€' })
    const fields = [
      ['_charset_', 'UTF-8'],
      ['text', 'ü€'],
    ]
    assert.deepEqual(await submit(t, 'utf-8', 'multipart'), { isValid: true, fields, files: [['fi"le', 'a"b 100%.txt', 'content']] })
  })

  test('a page in another charset states it in _charset_ alone, which is a field: its text is read as UTF-8', async (t) => {
    assert.deepEqual(await submit(t, 'windows-1252', 'urlencoded'), { _charset_: 'windows-1252', text: '\ufffd\ufffd' })
  })

  test('a cookie has the same value here and in the page, quotes included', async (t) => {
    const { origin } = await start(t, (server) => {
      server.mapGet('/', (_, { response }) =>
        response.cookie('mine', 'a "b"').appendHeader('Set-Cookie', 'raw="x"').html('<!doctype html>'),
      )
      server.mapGet('/cookies', (_, { request }) => ({
        mine: request.cookie('mine'),
        raw: request.cookie('raw'),
        page: request.cookie('page'),
      }))
    })
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(`${origin}/`)
    await page.evaluate('document.cookie = \'page="y"\'')
    const inPage = (await page.evaluate('document.cookie')) as string
    assert.ok(inPage.includes('raw="x"') && inPage.includes('page="y"'), inPage)
    const reply = await page.goto(`${origin}/cookies`)
    assert.deepEqual(await reply!.json(), { mine: 'a "b"', raw: '"x"', page: '"y"' })
  })
})
