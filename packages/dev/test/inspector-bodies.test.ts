// The inspector: bodies that are streamed are seen as they pass, up to `maxBodySize`, and without secrets.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'

import { HttpServer } from '../../weirjs/src/index.ts'
import { compression } from '../../weirjs/src/modules/compression/index.ts'
import { decompression } from '../../weirjs/src/modules/decompression/index.ts'
import { staticFiles } from '../../weirjs/src/modules/static/index.ts'
import { connect } from '../../weirjs/src/testing/index.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { type InspectorOptions, inspector } from '../src/index.ts'

interface Body {
  readonly text: string
  readonly isBase64: boolean
  readonly length: number | null
  readonly cut: string | null
}
interface Detail {
  readonly url: string
  readonly requestBody: Body | null
  readonly responseBody: Body | null
}

const token = 'token-of-these-tests-1'
const HERE = { peer: { address: '127.0.0.1' }, headers: { authorization: `Bearer ${token}` } }
const whole = (text: string): Body => ({ text, isBase64: false, length: Buffer.byteLength(text), cut: null })

function inspected(t: TestContext, options: InspectorOptions = {}) {
  const root = temporaryDirectory(t)
  writeFileSync(join(root, 'page.txt'), 'a page')
  const server = new HttpServer({ logger: null }).use(inspector({ token, ...options })).use(compression())
  server.use(staticFiles({ root, prefix: '/files' }))
  server.mapPost('/read', { body: 'stream' }, async (_, { request }) => {
    let length = 0
    for await (const piece of request.bodyStream()) length += (piece as Buffer).length
    return length
  })
  server.mapPost('/whole', { body: 'stream' }, async (_, { request }) => {
    await request.bufferBody()
    return request.bodyLength
  })
  server.mapPost('/form', async (_, { request }) => {
    const names: string[] = []
    await request.bodyMultipartStream({ onField: (name) => void names.push(name) })
    return names
  })
  server.mapPost('/coded', { use: [decompression()] }, (_, { request }) => request.bodyLength)
  server.mapGet('/count/:most', ({ most }, { response }) =>
    response.stream(
      (async function* () {
        for (let i = 0; i < Number(most); i++) yield i % 2 === 0 ? `${i} ` : Buffer.from(`${i} `)
      })(),
      'text/plain',
    ),
  )
  server.mapGet('/breaks', (_, { response }) =>
    response.stream(
      (async function* () {
        yield 'a part'
        throw new Error('broken')
      })(),
    ),
  )
  const last = async (): Promise<Detail> => {
    const list = (await server.inject({ url: '/_weir/exchanges', ...HERE })).json() as { number: number }[]
    return (await server.inject({ url: `/_weir/exchanges/${list.at(-1)!.number}`, ...HERE })).json() as Detail
  }
  return { server, last }
}

test('streamed requests are kept as they pass, whoever reads them', async (t) => {
  const { server, last } = inspected(t)
  for (const url of ['/read', '/whole']) {
    await using client = connect(server)
    const pieces = (async function* () {
      for (const piece of ['gr', 'üße ', 'from a stream']) yield Buffer.from(piece)
    })()
    await (await client.request({ method: 'POST', url, body: pieces })).text()
    assert.deepEqual((await last()).requestBody, whole('grüße from a stream'), url)
  }
})

test('a streamed form is kept without its secrets', async (t) => {
  const { server, last } = inspected(t)
  const form = new FormData()
  form.set('note', 'kept')
  form.set('password', 'SECRET-1')
  assert.deepEqual((await server.inject({ method: 'POST', url: '/form', body: form })).json(), ['note', 'password'])
  const { text, cut } = (await last()).requestBody!
  assert.ok(text.includes('kept') && !text.includes('SECRET'), text)
  assert.equal(cut, null)
})

test('a compressed request is not kept, and is answered', async (t) => {
  const { server, last } = inspected(t)
  const body = gzipSync('{"password":"SECRET-2"}')
  const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' }
  assert.equal((await server.inject({ method: 'POST', url: '/coded', headers, body })).text(), '23')
  assert.deepEqual((await last()).requestBody, { text: '', isBase64: false, length: body.length, cut: 'coded' })
})

test('streamed responses and files are kept before they are compressed', async (t) => {
  const { server, last } = inspected(t)
  await server.inject({ url: '/count/4', headers: { 'accept-encoding': 'gzip' } })
  assert.deepEqual((await last()).responseBody, whole('0 1 2 3 '))
  assert.equal((await server.inject('/files/page.txt')).text(), 'a page')
  assert.deepEqual((await last()).responseBody, whole('a page'))
  await server.inject({ method: 'HEAD', url: '/files/page.txt' })
  assert.equal((await last()).responseBody, null)
})

test('a long stream is cut, and one that breaks is marked', async (t) => {
  const { server, last } = inspected(t, { maxBodySize: 5 })
  await server.inject('/count/100')
  assert.deepEqual((await last()).responseBody, { text: '0 1 2', isBase64: false, length: 290, cut: 'large' })
  const other = inspected(t)
  await other.server.inject('/breaks').catch(() => {})
  assert.deepEqual((await other.last()).responseBody, { text: 'a part', isBase64: false, length: 6, cut: 'stream' })
})
