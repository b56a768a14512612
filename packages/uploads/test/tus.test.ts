// tus 1.0.0: its statuses and fields, by a clock that stands still.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpError, type HttpSession, t as schema } from '../../weirjs/src/index.ts'
import { cors } from '../../weirjs/src/modules/cors/index.ts'
import { base64Of, codeOf, hashOf, uploading } from '../../weirjs/test/support/uploading.ts'

test('an upload in two parts arrives whole, with what the client states about it', async (t) => {
  const { tus, received, clock } = uploading(t)
  const metadata = `filename ${base64Of('é.txt')},filetype ${base64Of('text/plain')},empty`
  const created = await tus('POST', '/files', { 'Upload-Length': 10, 'Upload-Metadata': metadata })
  const url = created.headers.get('location')!
  assert.equal(created.status, 201)
  assert.match(url, /^\/files\/[\w-]{32}$/)
  assert.equal(created.headers.get('upload-expires'), 'Tue, 02 Jan 2024 00:00:00 GMT')
  const first = await tus('PATCH', url, { 'Upload-Offset': 0 }, 'hello')
  assert.deepEqual([first.status, first.headers.get('upload-offset'), first.headers.get('tus-resumable')], [204, '5', '1.0.0'])
  await clock.advance(1_000)
  const status = await tus('HEAD', url)
  assert.equal(status.status, 204)
  assert.deepEqual(
    ['upload-offset', 'upload-length', 'upload-metadata', 'upload-defer-length', 'cache-control', 'upload-expires'].map((name) =>
      status.headers.get(name),
    ),
    ['5', '10', metadata, null, 'no-store', 'Tue, 02 Jan 2024 00:00:00 GMT'],
  )
  assert.deepEqual(received, [])
  const last = await tus('PATCH', url, { 'Upload-Offset': 5 }, 'world')
  assert.deepEqual([last.status, last.headers.get('upload-offset'), last.headers.get('upload-expires')], [204, '10', null])
  assert.deepEqual(received, [
    {
      id: url.slice('/files/'.length),
      size: 10,
      fileName: 'é.txt',
      type: 'text/plain',
      metadata: Object.assign(Object.create(null), { filename: 'é.txt', filetype: 'text/plain', empty: '' }),
      text: 'helloworld',
    },
  ])
  assert.equal((await tus('HEAD', url)).headers.get('upload-offset'), '10')
  assert.equal(received.length, 1)
})

test('OPTIONS states what is possible, with or without Tus-Resumable', async (t) => {
  const { send, tus } = uploading(t, { maxSize: 1000 })
  for (const response of [await send('OPTIONS', '/files'), await tus('OPTIONS', '/files', { 'Tus-Resumable': '0.1' })]) {
    assert.equal(response.status, 204)
    assert.deepEqual(
      ['tus-version', 'tus-max-size', 'tus-checksum-algorithm', 'tus-extension', 'upload-limit'].map((name) => response.headers.get(name)),
      [
        '1.0.0',
        '1000',
        'sha1,sha256,sha512',
        'creation,creation-with-upload,creation-defer-length,termination,expiration,checksum,concatenation',
        'max-size=1000, max-age=86400',
      ],
    )
  }
})

test('another version is refused with 412, and nothing is done', async (t) => {
  const { send, files } = uploading(t)
  for (const version of ['0.2.2', '1.0.1', '']) {
    const response = await send('POST', '/files', { 'Tus-Resumable': version, 'Upload-Length': 1 })
    assert.deepEqual([response.status, response.headers.get('tus-version'), codeOf(response)], [412, '1.0.0', 'WEIR_UPLOAD_VERSION'])
  }
  assert.equal((await send('POST', '/files', { 'Upload-Length': 1 })).status, 412)
  assert.deepEqual(files(), [])
})

test('a creation has exactly one length, and valid fields', async (t) => {
  const { tus, files } = uploading(t)
  for (const headers of [
    {},
    { 'Upload-Length': '1', 'Upload-Defer-Length': '1' },
    { 'Upload-Defer-Length': '2' },
    { 'Upload-Length': '-1' },
    { 'Upload-Length': '1.5' },
    { 'Upload-Length': '0x10' },
    { 'Upload-Length': '9'.repeat(16) },
    { 'Upload-Length': '1', 'Upload-Metadata': 'a b c' },
    { 'Upload-Length': '1', 'Upload-Metadata': 'a YQ==,a YQ==' },
    { 'Upload-Length': '1', 'Upload-Metadata': 'a Y' },
    { 'Upload-Length': '1', 'Upload-Concat': 'whole' },
    { 'Upload-Length': '1', 'Upload-Checksum': 'crc9 YQ==' },
  ] as Record<string, string>[]) {
    const response = await tus('POST', '/files', headers)
    assert.deepEqual([response.status, codeOf(response)], [400, 'WEIR_UPLOAD_REQUEST'], JSON.stringify(headers))
  }
  assert.deepEqual(files(), [])
})

test('PATCH needs its type, its offset, and an upload', async (t) => {
  const { tus, create } = uploading(t)
  const url = await create(5)
  const wrongType = await tus('PATCH', url, { 'Upload-Offset': 0, 'Content-Type': 'text/plain' }, 'a')
  assert.equal(wrongType.status, 415)
  assert.equal((await tus('PATCH', url, {}, 'a')).status, 400)
  const wrongOffset = await tus('PATCH', url, { 'Upload-Offset': 1 }, 'a')
  assert.deepEqual([wrongOffset.status, codeOf(wrongOffset)], [409, 'WEIR_UPLOAD_OFFSET'])
  assert.equal((await tus('PATCH', `/files/${'A'.repeat(32)}`, { 'Upload-Offset': 0 }, 'a')).status, 404)
  assert.equal((await tus('HEAD', url)).headers.get('upload-offset'), '0')
})

test('the length may come later, and only once', async (t) => {
  const { tus, received } = uploading(t, { maxSize: 8 })
  const created = await tus('POST', '/files', { 'Upload-Defer-Length': 1 })
  const url = created.headers.get('location')!
  assert.equal((await tus('HEAD', url)).headers.get('upload-defer-length'), '1')
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 0 }, 'abc')).headers.get('upload-offset'), '3')
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 3, 'Upload-Length': 2 }, 'd')).status, 400)
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 3, 'Upload-Length': 9 }, 'd')).status, 413)
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 3, 'Upload-Length': 5 }, 'd')).headers.get('upload-offset'), '4')
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 4, 'Upload-Length': 6 }, 'e')).status, 400)
  const status = await tus('HEAD', url)
  assert.deepEqual([status.headers.get('upload-length'), status.headers.get('upload-defer-length')], ['5', null])
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 4 }, 'e')).status, 204)
  assert.equal(received[0]?.text, 'abcde')
})

test('the creation may have the first bytes, or all of them', async (t) => {
  const { tus, received } = uploading(t)
  const part = await tus('POST', '/files', { 'Upload-Length': 5 }, 'ab')
  assert.deepEqual([part.status, part.headers.get('upload-offset')], [201, '2'])
  assert.equal((await tus('PATCH', part.headers.get('location')!, { 'Upload-Offset': 2 }, 'cde')).status, 204)
  const whole = await tus('POST', '/files', { 'Upload-Length': 3 }, 'xyz')
  assert.deepEqual([whole.status, whole.headers.get('upload-offset')], [201, '3'])
  const empty = await tus('POST', '/files', { 'Upload-Length': 0 })
  assert.equal(empty.status, 201)
  assert.deepEqual(
    received.map(({ text }) => text),
    ['abcde', 'xyz', ''],
  )
  assert.equal((await tus('POST', '/files', { 'Upload-Length': 3, 'Content-Type': 'text/plain' }, 'xyz')).status, 415)
  assert.equal((await tus('POST', '/files', { 'Upload-Length': 3 }, 'xyz!')).status, 400)
})

test('bytes without the stated checksum are discarded, and never count', async (t) => {
  const { tus, create, received } = uploading(t)
  const url = await create(10)
  await tus('PATCH', url, { 'Upload-Offset': 0 }, 'hello')
  const wrong = await tus('PATCH', url, { 'Upload-Offset': 5, 'Upload-Checksum': `sha1 ${hashOf('other', 'sha1')}` }, 'world')
  assert.deepEqual([wrong.status, codeOf(wrong)], [460, 'WEIR_UPLOAD_CHECKSUM'])
  assert.equal((await tus('HEAD', url)).headers.get('upload-offset'), '5')
  const unknown = await tus('PATCH', url, { 'Upload-Offset': 5, 'Upload-Checksum': 'md4 YQ==' }, 'world')
  assert.equal(unknown.status, 400)
  for (const [offset, text, algorithm] of [
    [5, 'wor', 'sha256'],
    [8, 'ld', 'sha512'],
  ] as const) {
    const right = await tus('PATCH', url, { 'Upload-Offset': offset, 'Upload-Checksum': `${algorithm} ${hashOf(text, algorithm)}` }, text)
    assert.equal(right.status, 204)
  }
  assert.equal(received[0]?.text, 'helloworld')
})

test('DELETE removes an upload and its files', async (t) => {
  const { tus, create, files } = uploading(t)
  const url = await create(5)
  await tus('PATCH', url, { 'Upload-Offset': 0 }, 'ab')
  assert.equal(files().length, 2)
  assert.equal((await tus('DELETE', url)).status, 204)
  assert.deepEqual(files(), [])
  for (const method of ['HEAD', 'DELETE']) assert.equal((await tus(method, url)).status, 404)
})

test('an upload that has expired is gone, and its files are deleted', async (t) => {
  const { tus, create, clock, files } = uploading(t, { expiresAfter: '1h' })
  const url = await create(5)
  await tus('PATCH', url, { 'Upload-Offset': 0 }, 'ab')
  await clock.advance(3_599_000)
  assert.equal((await tus('HEAD', url)).status, 204)
  await clock.advance(1_000)
  assert.equal((await tus('HEAD', url)).status, 404)
  for (let i = 0; i < 200 && files().length > 0; i++) {
    await clock.advance(600_000)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  assert.deepEqual(files(), [])
})

test('partial uploads become one, in the order of the list', async (t) => {
  const { tus, create, received, files } = uploading(t)
  const parts = ['hello', ' ', 'world'].map(async (text) => {
    const url = await create(text.length, { 'Upload-Concat': 'partial' })
    assert.equal((await tus('PATCH', url, { 'Upload-Offset': 0 }, text)).status, 204)
    return url
  })
  const [first, second, third] = (await Promise.all(parts)) as [string, string, string]
  assert.deepEqual(received, [])
  assert.equal((await tus('HEAD', first)).headers.get('upload-concat'), 'partial')
  const concat = `final;${first} http://localhost${second} ${third}`
  const final = await tus('POST', '/files', { 'Upload-Concat': concat, 'Upload-Metadata': `filename ${base64Of('a')}` })
  assert.equal(final.status, 201)
  const url = final.headers.get('location')!
  const status = await tus('HEAD', url)
  assert.deepEqual([status.headers.get('upload-length'), status.headers.get('upload-concat')], ['11', concat])
  assert.deepEqual(
    received.map(({ text, fileName }) => [text, fileName]),
    [['hello world', 'a']],
  )
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 11 }, 'x')).status, 403)
  assert.equal((await tus('HEAD', first)).status, 404)
  assert.equal(files().length, 2)
})

test('only complete partial uploads are concatenated', async (t) => {
  const { tus, create } = uploading(t)
  const whole = await create(0)
  const unfinished = await create(5, { 'Upload-Concat': 'partial' })
  for (const url of [whole, unfinished]) assert.equal((await tus('POST', '/files', { 'Upload-Concat': `final;${url}` })).status, 400)
  assert.equal((await tus('POST', '/files', { 'Upload-Concat': 'final;/files/../x' })).status, 404)
  assert.equal((await tus('POST', '/files', { 'Upload-Concat': `final;${unfinished}`, 'Upload-Length': 5 })).status, 400)
  await tus('PATCH', unfinished, { 'Upload-Offset': 0 }, 'hello')
  assert.equal((await tus('POST', '/files', { 'Upload-Concat': `final;${unfinished} http://a${unfinished}` })).status, 400, 'twice')
  assert.equal((await tus('POST', '/files', { 'Upload-Concat': `final;${unfinished}` })).status, 201)
})

test('clients that cannot send PATCH or DELETE send POST', async (t) => {
  const { tus, create, received } = uploading(t)
  const url = await create(2)
  assert.equal((await tus('POST', url, { 'X-HTTP-Method-Override': 'PATCH', 'Upload-Offset': 0 }, 'ab')).status, 204)
  assert.equal((await tus('POST', url, { 'X-HTTP-Method-Override': 'HEAD' })).headers.get('upload-offset'), '2')
  assert.equal((await tus('POST', url, { 'X-HTTP-Method-Override': 'DELETE' })).status, 204)
  assert.equal((await tus('POST', url)).status, 405)
  assert.equal(received.length, 1)
})

test('when onComplete fails, the client is told to come back, and it is called again', async (t) => {
  let failures = 2
  const { tus, create, received } = uploading(t, {}, () => {
    if (failures-- > 0) throw new Error('the database is away')
  })
  const url = await create(2)
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 0 }, 'ab')).status, 500)
  // tus-js-client uploads everything again after any other status.
  assert.equal((await tus('HEAD', url)).status, 423)
  const done = await tus('HEAD', url)
  assert.deepEqual([done.status, done.headers.get('upload-offset')], [204, '2'])
  await tus('HEAD', url)
  assert.equal(received.length, 3)
})

test('an upload that onComplete refuses is deleted', async (t) => {
  const { tus, create, files } = uploading(t, {}, () => {
    throw new HttpError(415, 'no pictures')
  })
  const url = await create(2)
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 0 }, 'ab')).status, 415)
  assert.equal((await tus('HEAD', url)).status, 404)
  assert.deepEqual(files(), [])
})

test('an upload is not kept if the client cannot learn where it is', async (t) => {
  const { tus, files } = uploading(t, {}, () => {
    throw new Error('the database is away')
  })
  assert.equal((await tus('POST', '/files', { 'Upload-Length': 2 }, 'ab')).status, 500)
  assert.deepEqual(files(), [])
})

test('what onComplete returns is the response, with the fields of the protocol', async (t) => {
  const { tus, create } = uploading(t, {}, ({ size }) => Response.json({ size }, { status: 202, headers: { 'X-Own': '1' } }))
  const url = await create(2)
  const response = await tus('PATCH', url, { 'Upload-Offset': 0 }, 'ab')
  assert.deepEqual([response.status, response.text(), response.headers.get('x-own')], [202, '{"size":2}', '1'])
  assert.deepEqual([response.headers.get('upload-offset'), response.headers.get('tus-resumable')], ['2', '1.0.0'])
})

test('pages of other origins can upload with the options that the guide states', async (t) => {
  const { server, send } = uploading(t)
  server.use(
    cors({
      origins: ['https://app.example'],
      methods: ['POST', 'GET', 'HEAD', 'PATCH', 'DELETE', 'OPTIONS'],
      exposedHeaders: ['Location', 'Upload-Offset', 'Upload-Length', 'Tus-Resumable'],
    }),
  )
  const preflight = await send('OPTIONS', '/files', {
    Origin: 'https://app.example',
    'Access-Control-Request-Method': 'PATCH',
    'Access-Control-Request-Headers': 'tus-resumable,upload-offset,content-type',
  })
  assert.equal(preflight.status, 204)
  assert.match(preflight.headers.get('access-control-allow-methods')!, /PATCH/)
  assert.equal(preflight.headers.get('access-control-allow-headers'), 'tus-resumable, upload-offset, content-type')
  const created = await send('POST', '/files', { Origin: 'https://app.example', 'Tus-Resumable': '1.0.0', 'Upload-Length': 5 })
  assert.match(created.headers.get('access-control-expose-headers')!, /Location/)
})

test('onCreate may refuse an upload before it is created, and before its bytes are read', async (t) => {
  const asked: unknown[] = []
  const { tus, received } = uploading(t, {
    onCreate: async (upload, { request }) => {
      asked.push(upload)
      await null
      if (request.header('x-user') === null) throw new HttpError(403, 'sign in first')
    },
  })
  const fields = { 'Upload-Length': 5, 'Upload-Metadata': `filename ${base64Of('a.txt')}` }
  const refused = await tus('POST', '/files', fields, 'hello')
  assert.equal(refused.status, 403)
  assert.equal(refused.headers.get('location'), null)
  assert.match(refused.text(), /sign in first/)
  assert.deepEqual(received, [])
  assert.equal((await tus('POST', '/files', { ...fields, 'X-User': 'ada' })).status, 201)
  assert.equal((await tus('POST', '/files', { 'Upload-Defer-Length': 1, 'X-User': 'ada' })).status, 201)
  const metadata = Object.assign(Object.create(null), { filename: 'a.txt' })
  assert.deepEqual(asked, [
    { size: 5, metadata },
    { size: 5, metadata },
    { size: null, metadata: Object.create(null) },
  ])
})

for (const [what, result] of [
  ['a response', (session: HttpSession) => session.response.forbidden('no room')],
  ['a promise of one', async (session: HttpSession) => session.response.forbidden('no room')],
  ['false', () => false],
] as const)
  test(`onCreate that returns ${what} is an error, and nothing is created`, async (t) => {
    const { tus, received } = uploading(t, { onCreate: (_: unknown, session: HttpSession) => result(session) as never })
    const refused = await tus('POST', '/files', { 'Upload-Length': 5 }, 'hello')
    assert.equal(refused.status, 500)
    assert.equal(refused.headers.get('location'), null)
    assert.deepEqual(received, [])
  })

test('the options onCreate and onComplete are functions', (t) => {
  assert.throws(() => uploading(t, { onCreate: true as never }), { code: 'WEIR_OPTION_INVALID', message: /onCreate is .*true/ })
})

test('answers are those of onComplete, and the responses of the protocols are declared beside them', async (t) => {
  const answers = { 200: schema.object({ id: schema.string }) }
  const { tus } = uploading(t, { answers }, ({ id }) => ({ id, secret: 'not declared' }))
  const created = await tus('POST', '/files', { 'Upload-Length': 5 })
  assert.equal(created.status, 201)
  const url = created.headers.get('location')!
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 0 }, 'he')).status, 204)
  assert.equal((await tus('HEAD', url)).status, 204)
  const last = await tus('PATCH', url, { 'Upload-Offset': 2 }, 'llo')
  assert.deepEqual([last.status, last.json()], [200, { id: url.slice('/files/'.length) }])
  assert.throws(() => uploading(t, { answers: [] as never }), { code: 'WEIR_OPTION_INVALID', message: /answers is / })
})
