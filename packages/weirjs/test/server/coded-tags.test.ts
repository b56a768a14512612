// A client may send back the tag that it has got, in whatever coding the response came: with compression, the cache and files, by real clients.

import assert from 'node:assert/strict'
import { mkdtempSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'

import { request } from 'undici'

import { HttpServer, type HttpSession } from '../../src/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { curl, noCurl } from '../support/curl.ts'

const TEXT = 'a line of a note\n'.repeat(200)

/** A note that a client reads and overwrites, one that is kept by a cache, and a file. */
async function noteServer(t: TestContext): Promise<{ readonly url: string; readonly runs: () => number }> {
  const root = mkdtempSync(join(tmpdir(), 'weir-tags-'))
  writeFileSync(join(root, 'page.txt'), TEXT)
  utimesSync(join(root, 'page.txt'), 0, 0)
  let version = 1
  let runs = 0
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  server.use(compression())
  const get = ({ response }: HttpSession) => {
    runs++
    return response.precondition({ etag: `v${version}` }) ? response : response.text(TEXT)
  }
  server.mapGet('/note', (_, session) => get(session))
  server.mapPut('/note', (_, { response }) => {
    if (response.precondition({ etag: `v${version}` })) return response
    return response.header('ETag', `"v${++version}"`).text(TEXT)
  })
  server.mapGet('/kept', { use: [cache({ maxAge: '1h' })] }, (_, session) => get(session))
  server.mapGet('/bytes', { etag: true }, () => TEXT)
  server.use(staticFiles({ root, prefix: '/files' }))
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return { url: `http://127.0.0.1:${server.port}`, runs: () => runs }
}

const PATHS = ['/note', '/kept', '/bytes', '/files/page.txt']
const CODINGS = ['gzip', 'br', 'deflate', 'identity']

describe('undici', () => {
  async function ask(url: string, headers: Record<string, string>, method: 'GET' | 'PUT' | 'HEAD' = 'GET') {
    const { statusCode, headers: fields, body } = await request(url, { method, headers })
    const bytes = Buffer.from(await body.arrayBuffer())
    return { status: statusCode, etag: String(fields['etag']), coding: fields['content-encoding'] ?? 'identity', bytes }
  }

  test('each coding has a strong tag of its own, and each of them revalidates what has it', async (t) => {
    const { url } = await noteServer(t)
    for (const path of PATHS) {
      const tags: string[] = []
      for (const coding of CODINGS) {
        const headers = { 'Accept-Encoding': coding }
        const response = await ask(url + path, headers)
        assert.deepEqual([response.status, response.coding], [200, coding], path)
        assert.match(response.etag, /^"[^"]+"$/, path)
        assert.equal((await ask(url + path, headers, 'HEAD')).etag, response.etag, path)
        tags.push(response.etag)
        for (const held of [response.etag, `"other", ${response.etag}`, `W/${response.etag}`]) {
          const again = await ask(url + path, { ...headers, 'If-None-Match': held })
          assert.deepEqual([again.status, again.etag, again.bytes.length], [304, response.etag, 0], `${path} ${held}`)
        }
      }
      assert.equal(new Set(tags).size, CODINGS.length, `${path}: ${tags.join()}`)
      const [gzip, , , identity] = tags
      const other = await ask(url + path, { 'Accept-Encoding': 'br', 'If-None-Match': gzip! })
      assert.deepEqual([other.status, other.coding], [200, 'br'], `${path}: a cache that has gzip alone`)
      const both = await ask(url + path, { 'Accept-Encoding': 'gzip', 'If-None-Match': `${gzip}, ${identity}` })
      assert.deepEqual([both.status, both.etag], [304, identity], path)
    }
  })

  test('a client overwrites what it has read, whatever coding it got, and not what has changed since', async (t) => {
    const { url } = await noteServer(t)
    for (const coding of CODINGS) {
      const { etag } = await ask(`${url}/note`, { 'Accept-Encoding': coding })
      const written = await ask(`${url}/note`, { 'Accept-Encoding': coding, 'If-Match': etag }, 'PUT')
      assert.deepEqual([written.status, written.coding], [200, coding])
      const lost = await ask(`${url}/note`, { 'Accept-Encoding': coding, 'If-Match': etag }, 'PUT')
      assert.equal(lost.status, 412, coding)
      const next = await ask(`${url}/note`, { 'If-Match': written.etag }, 'PUT')
      assert.equal(next.status, 200, 'the tag in the response to PUT counts as well')
    }
  })

  test('the cache answers them, and no handler runs again', async (t) => {
    const { url, runs } = await noteServer(t)
    for (const coding of CODINGS) {
      const { etag } = await ask(`${url}/kept`, { 'Accept-Encoding': coding })
      assert.equal((await ask(`${url}/kept`, { 'Accept-Encoding': coding, 'If-None-Match': etag })).status, 304)
    }
    assert.equal(runs(), 1)
  })

  test('a range is one of the uncompressed file: the tag of a coding does not continue it', async (t) => {
    const { url } = await noteServer(t)
    const path = `${url}/files/page.txt`
    const { etag } = await ask(path, { 'Accept-Encoding': 'gzip' })
    const whole = await ask(path, { 'Accept-Encoding': 'gzip', Range: 'bytes=5-', 'If-Range': etag })
    assert.deepEqual([whole.status, whole.coding], [200, 'gzip'])
    const { etag: plain } = await ask(path, { 'Accept-Encoding': 'identity' })
    const part = await ask(path, { Range: 'bytes=5-', 'If-Range': plain })
    assert.deepEqual([part.status, part.bytes.toString()], [206, TEXT.slice(5)])
  })
})

describe('curl', { skip: noCurl }, () => {
  test('--compressed and a PUT with the tag that came', async (t) => {
    const { url } = await noteServer(t)
    const { response } = await curl(['--compressed', `${url}/note`])
    assert.equal(response.text, TEXT)
    const etag = response.header('etag')!
    assert.match(etag, /^"v1~(?:gzip|br|deflate|zstd)"$/)
    assert.equal((await curl(['--compressed', '-H', `If-None-Match: ${etag}`, `${url}/note`])).response.status, 304)
    const put = ['-X', 'PUT', '-H', `If-Match: ${etag}`, `${url}/note`]
    assert.equal((await curl(put)).response.status, 200)
    const late = (await curl(put)).response
    assert.deepEqual([late.status, late.header('content-type')], [412, 'application/problem+json'])
    assert.deepEqual(JSON.parse(late.text), {
      title: 'Precondition Failed',
      status: 412,
      detail: 'no tag in If-Match is that of the current state',
      code: 'WEIR_CONDITION_FAILED',
    })
  })
})

test('a 412 says which condition failed, and not the current tag', async () => {
  const server = new HttpServer({ logger: null })
  const CHANGED = new Date(Date.UTC(2020, 0, 1))
  server.map(null, '/strong', (_, { response }) => (response.precondition({ etag: 'own', lastModified: CHANGED }) ? response : 'done'))
  server.map(null, '/weak', (_, { response }) => (response.precondition({ etag: 'W/"own"' }) ? response : 'done'))
  server.map(null, '/dated', (_, { response }) => (response.precondition({ lastModified: CHANGED }) ? response : 'done'))
  server.map(null, '/none', (_, { response }) => (response.precondition(null) ? response : 'done'))
  for (const [path, field, value, detail] of [
    ['/strong', 'If-Match', '"x"', /^no tag in If-Match is that of the current state$/],
    ['/strong', 'If-Match', 'own', /^no tag in If-Match is in double quotes: send If-Match: "v1", as in ETag$/],
    ['/weak', 'If-Match', 'v1, v2', /in double quotes/],
    ['/dated', 'If-Match', 'v1', /in double quotes/],
    ['/weak', 'If-Match', 'W/"own"', /If-Match never matches a weak tag/],
    ['/dated', 'If-Match', '"x"', /the current state has none/],
    ['/none', 'If-Match', '*', /there is none/],
    ['/strong', 'If-None-Match', '*', /one that If-None-Match excludes/],
    ['/strong', 'If-None-Match', '"own~br"', /one that If-None-Match excludes/],
    ['/strong', 'If-Unmodified-Since', 'Sun, 06 Nov 1994 08:49:37 GMT', /newer than If-Unmodified-Since/],
  ] as const) {
    const response = await server.inject({ method: 'PUT', url: path, headers: { [field]: value } })
    const problem = JSON.parse(response.text()) as { detail: string }
    assert.equal(response.status, 412, `${path} ${field}`)
    assert.match(problem.detail, detail)
    assert.ok(!problem.detail.includes('own'), problem.detail)
  }
})
