// weirjs/client in a browser: its size, what it loads, and calls of a real server from a page.

import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'

import type { Browser, Page } from 'playwright-core'
import { rolldown } from 'rolldown'

import { HttpError, HttpServer } from '../../../src/index.ts'
import { outlineOf } from '../../../src/modules/client/index.ts'
import { sse } from '../../../src/modules/sse/index.ts'
import { launchChromium, noChromium } from '../../support/chromium.ts'
import { shopContract } from '../../support/shop-contract.ts'

/** The entry as it is published. */
const CLIENT = resolve('packages/weirjs/dist/modules/client/index.js')
const CONTRACT = resolve('build/packages/weirjs/test/support/shop-contract.js')
const ENTRY = 'client-entry'

/** A program for browsers, in one file. */
async function bundled(code: string): Promise<string> {
  const bundle = await rolldown({
    input: ENTRY,
    platform: 'browser',
    plugins: [
      {
        name: 'program',
        resolveId: (id) =>
          id === ENTRY ? resolve('client-entry.js') : id === 'weirjs/client' || id.endsWith('modules/client/index.js') ? CLIENT : null,
        load: (id) => (id.endsWith('client-entry.js') ? code : null),
      },
    ],
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  assert.equal(output.length, 1)
  assert.deepEqual(output[0].imports, [], 'nothing is left to import')
  return output[0].code
}

test('the client and what contracts are made of have at most 2 KiB, and no schemas', async () => {
  const code = await bundled(`export { client, ClientError, contract, del, entry, get, patch, post, put, query } from 'weirjs/client'`)
  const size = gzipSync(code, { level: 9 }).length
  assert.ok(size <= 2048, `${size} bytes`)
})

test('the WebSocket client is one more KiB, for those who import it', async () => {
  const code = await bundled(`export { contract, openWebSocket, ws } from 'weirjs/client'`)
  assert.doesNotMatch(code, /ClientError/)
  const size = gzipSync(code, { level: 9 }).length
  assert.ok(size <= 1536, `${size} bytes`)
})

test('with schemas, nothing of Node is loaded either', async () => {
  const code = await bundled(`export * from 'weirjs/client'`)
  // A message names process.env, and frames of Node are told from those of the program by their names.
  assert.doesNotMatch(code.replace('such as process.env', ''), /["'`]node:\w|\bBuffer\b|\bprocess\b|\bglobalThis\.require\b/)
  assert.doesNotMatch(code, /HttpServer|createServer/)
  const size = gzipSync(code, { level: 9 }).length
  assert.ok(size <= 25.5 * 1024, `${size} bytes: docs/guide/contracts.md states how many`)
})

describe('in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  /** A page of a server that has the contract, with `program` as its script. */
  async function open(t: TestContext, program: string): Promise<Page> {
    const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
    const script = await bundled(program)
    server.mapContract(shopContract, {
      user: ({ id }, { response }) => (id === 5 ? { id, name: 'Ada' } : response.notFound()),
      order: ({ body: { name }, tags, tenant }) => ({ name, tags, tenant }),
      upload: ({ body: { fields, files } }) => {
        const { fileName: name, contentType: type, content } = files.photo
        return { title: fields.title, name, type, size: content.length }
      },
      ticks: (_, session) =>
        sse(session, async function* (signal) {
          for (let n = 0; !signal.aborted; n++) yield { data: { n } }
        }),
      find: ({ body }) => body.words,
      theme: ({ theme }) => theme,
      fails: () => {
        throw new HttpError(503, 'later')
      },
    })
    server.mapGet('/', (_, { response }) =>
      response.html('<!doctype html><title>waiting</title><script type="module" src="/script.js"></script>'),
    )
    server.mapGet('/script.js', (_, { response }) => response.contentType('text/javascript').text(script))
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(`http://127.0.0.1:${server.port}/`)
    await page.waitForFunction("document.title !== 'waiting'")
    return page
  }

  const CALLS = `
    const seen = []
    const user = await shop.user({ id: 5 })
    seen.push(user.status, user.body)
    seen.push((await shop.user({ id: 6 })).status)
    seen.push((await shop.order({ body: { name: 'tea' }, tags: ['a', 'b'], tenant: 'acme' })).body)
    seen.push((await shop.upload({ body: { fields: { title: 'Sea' }, files: { photo: new File(['...'], 'sea.png', { type: 'image/png' }) } } })).body)
    for await (const { data } of (await shop.ticks()).body) {
      seen.push(data.n)
      if (data.n === 2) break
    }
    seen.push(await shop.find({ body: { words: ['x'] } }).then(({ body }) => body))
    const aborted = new AbortController()
    const waiting = shop.ticks({}, { signal: aborted.signal }).then(async ({ body }) => { for await (const _ of body) aborted.abort() })
    seen.push(await waiting.catch(({ name }) => name))
    document.cookie = 'theme=dark'
    seen.push((await shop.theme()).body)
    seen.push(await shop.theme({ theme: 'light' }).catch(({ message }) => message))
    seen.push(await shop.fails().catch(({ name, status }) => [name, status]))
    document.title = JSON.stringify(seen)`
  const EXPECTED = [
    200,
    { id: 5, name: 'Ada' },
    404,
    { name: 'tea', tags: ['a', 'b'], tenant: 'acme' },
    { title: 'Sea', name: 'sea.png', type: 'image/png', size: 3 },
    0,
    1,
    2,
    ['x'],
    'AbortError',
    'dark',
    'a browser sends its own cookies',
    ['ClientError', 503],
  ]

  test('a page calls the server by a contract with its schemas', async (t) => {
    const page = await open(
      t,
      `import { client } from 'weirjs/client'
      import { shopContract } from ${JSON.stringify(CONTRACT)}
      const shop = client(shopContract, '')
      ${CALLS}`,
    )
    assert.deepEqual(JSON.parse(await page.title()), EXPECTED)
  })

  test('and by an outline, without them', async (t) => {
    const program = `import { client } from 'weirjs/client'
      const shop = client(${JSON.stringify(outlineOf(shopContract))}, location.origin)
      ${CALLS}`
    const page = await open(t, program)
    assert.deepEqual(JSON.parse(await page.title()), EXPECTED)
    assert.ok(gzipSync(await bundled(program), { level: 9 }).length < 3072, 'there are no schemas in it')
  })
})
