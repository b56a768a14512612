// Links that are signed, and expire.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { HttpServer } from '../../src/index.ts'
import { type Signing, signing } from '../../src/modules/signing/index.ts'
import { connect, TestClock } from '../../src/testing/index.ts'

const KEY = randomBytes(32)
const links = signing({ keys: [KEY] })

function serverOf(own: Signing = links, basePath?: string): HttpServer {
  const server = new HttpServer({ logger: null, ...(basePath !== undefined && { basePath }) })
  server.map(null, '/files/:name', { use: [own.required()] }, ({ name }) => name)
  return server
}

async function statusOf(url: string, method = 'GET', server: HttpServer = serverOf()): Promise<string> {
  const response = await server.inject({ method, url })
  return response.status === 200 ? '200' : `${response.status} ${(response.json() as { code: string }).code}`
}

const INVALID = '403 WEIR_SIGNATURE_INVALID'

test('a signed link works, any number of times, and none other does', async () => {
  const link = links.sign('/files/a', { expiresIn: '5m' })
  assert.match(link, /^\/files\/a\?signature=1\.\d+\.[\w-]{43}$/)
  const server = serverOf()
  assert.deepEqual([await statusOf(link, 'GET', server), await statusOf(link, 'GET', server)], ['200', '200'])
  assert.equal(await statusOf('/files/a'), INVALID)
})

test('a refusal says whether the link lacks a signature in the right form, or has a wrong one', async () => {
  const link = links.sign('/files/a', { expiresIn: '5m' })
  const detailOf = async (url: string) => ((await serverOf().inject(url)).json() as { detail: string }).detail
  for (const url of ['/files/a', `${link}x`, `${link}&x=1`])
    assert.match(await detailOf(url), /no signature at its end, or one of another form$/)
  assert.match(await detailOf(link.replace('/a', '/b')), /no key has signed this link for this method$/)
})

describe('a link that was changed is refused', () => {
  const link = links.sign('/files/a?size=a4', { expiresIn: '1d' }) // the tests of many files may come first
  const [, expires] = /signature=1\.(\d+)/.exec(link)!
  const CHANGED: Readonly<Record<string, string>> = {
    'another path': link.replace('/a', '/b'),
    'another form of the path': link.replace('/a', '/%61'),
    'another query': link.replace('a4', 'a5'),
    'no query': link.replace('size=a4&', ''),
    'more query in front': link.replace('?', '?x=1&'),
    'more query behind': `${link}&x=1`,
    'a later time': link.replace(expires!, String(Number(expires) + 1)),
    'a longer time': link.replace(expires!, `0${expires}`),
    'another signature': link.slice(0, -1) + (link.endsWith('A') ? 'E' : 'A'),
    'a shorter signature': link.slice(0, -1),
    'another version': link.replace('signature=1', 'signature=2'),
    'a signature as a part of the value before it': link.replace('&signature', '?signature'),
    'two signatures': `${link}&${link.slice(link.indexOf('signature'))}`,
  }
  for (const [what, url] of Object.entries(CHANGED)) test(what, async () => assert.equal(await statusOf(url), INVALID))

  test('a signature as a part of the path', async () => {
    assert.equal(await statusOf(links.sign('/files/a', { expiresIn: '5m' }).replace('?', '&')), INVALID)
  })

  test('while the link itself works', async () => assert.equal(await statusOf(link), '200'))
})

test('a link works for one method, and one for GET for HEAD too', async () => {
  const put = links.sign('/files/a', { expiresIn: '5m', method: 'PUT' })
  const get = links.sign('/files/a', { expiresIn: '5m' })
  assert.deepEqual([await statusOf(put, 'PUT'), await statusOf(put, 'GET'), await statusOf(get, 'PUT')], ['200', INVALID, INVALID])
  assert.equal((await serverOf().inject({ method: 'HEAD', url: get })).status, 200)
})

test('an expired link is gone', async () => {
  const clock = new TestClock()
  const own = signing({ keys: [KEY], clock })
  const server = serverOf(own)
  const get = async (url: string): Promise<string> => {
    await using client = connect(server, { clock })
    const response = await client.get(url)
    return response.status === 200 ? '200' : `${response.status} ${(response.json() as { code: string }).code}`
  }
  const link = own.sign('/files/a', { expiresIn: '5m' })
  await clock.advance(299_999)
  assert.equal(await get(link), '200')
  await clock.advance(1)
  assert.equal(await get(link), '410 WEIR_SIGNATURE_EXPIRED')
  assert.equal(await get(link.replace('/a', '/b')), INVALID, 'only who has a link learns that it has expired')
})

test('keys are replaced: the first one signs, all of them are accepted', async () => {
  const next = randomBytes(32).toString('base64')
  const both = signing({ keys: [next, KEY] })
  const old = links.sign('/files/a', { expiresIn: '5m' })
  const made = both.sign('/files/a', { expiresIn: '5m' })
  assert.deepEqual([await statusOf(old, 'GET', serverOf(both)), await statusOf(made, 'GET', serverOf(both))], ['200', '200'])
  assert.deepEqual([await statusOf(made), await statusOf(old, 'GET', serverOf(signing({ keys: [next] })))], [INVALID, INVALID])
})

test('what a URL cannot have is encoded as clients do it', async () => {
  for (const path of ['/files/ä b', '/files/a?q=ü&x=a b"\'<>', '/files/a%2Fb?', '/files/...', '/files/a?q=/../b']) {
    const link = links.sign(path, { expiresIn: '5m' })
    const { pathname, search } = new URL(link, 'http://localhost')
    assert.equal(pathname + search, link)
    assert.equal(await statusOf(link), '200', path)
  }
})

test('no link is signed for a path to which dots in a name would lead', () => {
  for (const name of ['../admin', '..', '.', './a', 'a/../../admin', '..\\admin', '%2e%2E/admin', '.%2e/admin', '../admin?q=1', '%2e'])
    assert.throws(
      () => links.sign(`/files/${name}`, { expiresIn: '5m' }),
      { code: 'WEIR_OPTION_INVALID', message: /dot segment: encode/ },
      name,
    )
})

test('the base path of the server is no part of what is signed', async () => {
  const link = links.sign('/files/a', { expiresIn: '5m' })
  assert.equal(await statusOf(`/app${link}`, 'GET', serverOf(links, '/app')), '200')
})

test('no shared cache keeps what only a link opens, unless the program says so', async () => {
  const server = new HttpServer({ logger: null })
  const links = signing({ keys: [KEY] })
  const group = server.group('/files', { use: [links.required()] })
  group.mapGet('/text', () => 'x')
  group.mapGet('/file', (_, { response }) => response.file(import.meta.filename))
  group.mapGet('/own', (_, { response }) => response.header('Cache-Control', 'public, max-age=60').text('x'))
  group.mapGet('/own-file', (_, { response }) => response.file(import.meta.filename, { cacheControl: 'max-age=60' }))
  server.mapGet('/open', () => 'x')
  const stated = async (path: string, isSigned = true): Promise<string | null> =>
    (await server.inject(isSigned ? links.sign(path, { expiresIn: '5m' }) : path)).headers.get('cache-control')
  assert.equal(await stated('/files/text'), 'private, no-cache')
  assert.equal(await stated('/files/file'), 'private, no-cache')
  assert.equal(await stated('/files/own'), 'public, max-age=60')
  assert.equal(await stated('/files/own-file'), 'max-age=60')
  assert.equal(await stated('/files/text', false), 'private, no-cache')
  assert.equal(await stated('/open', false), null)
})

test('documents say how requests are refused, and where the signature is', () => {
  const { refuses, parameters } = links.required().describe!() as { refuses: number[]; parameters: { name: string; in: string }[] }
  assert.deepEqual(refuses, [403, 410])
  assert.deepEqual(
    parameters.map((one) => [one.in, one.name]),
    [['query', 'signature']],
  )
})

test('mistakes of the program are errors, and never contain a key', () => {
  for (const keys of [[], undefined, 'x'.repeat(40), ['short secret'], [new Uint8Array(31)], [5]])
    assert.throws(
      () => signing({ keys } as never),
      (error: Error & { code?: string }) => error.code === 'WEIR_OPTION_INVALID' && !/secret|xxx/.test(error.message),
    )
  for (const path of [
    'files/a',
    '//evil.example/a',
    '/\\evil.example',
    '/\t/evil.example/a',
    '/\n\\evil.example/a',
    'https://a.example/',
    '/a#b',
    '/a?signature=1',
    '',
    5,
  ])
    assert.throws(() => links.sign(path as never, { expiresIn: '5m' }), { code: 'WEIR_OPTION_INVALID' }, String(path))
  for (const options of [undefined, {}, { expiresIn: 0 }, { expiresIn: '5 parsecs' }, { expiresIn: 5, method: 'A B' }])
    assert.throws(() => links.sign('/a', options as never), { code: 'WEIR_OPTION_INVALID' })
})
