// draft-ietf-httpbis-resumable-upload, interop version 8.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request as requestOverHttp } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { test } from 'node:test'

import { gzipSync } from 'node:zlib'

import { HttpError } from '../../weirjs/src/index.ts'
import { decompression } from '../../weirjs/src/modules/decompression/index.ts'
import { connect } from '../../weirjs/src/testing/index.ts'
import { codeOf, hashOf, uploading } from '../../weirjs/test/support/uploading.ts'

const PART = 'application/partial-upload'
const FIELDS = ['upload-complete', 'upload-offset', 'upload-length'] as const

function fieldsOf(response: { readonly headers: Headers }): (string | null)[] {
  return FIELDS.map((name) => response.headers.get(name))
}

test('a whole upload in one request gets the response of onComplete', async (t) => {
  const { send, received } = uploading(t, {}, ({ size }) => ({ size }))
  const headers = {
    'Upload-Complete': '?1',
    'Content-Type': 'image/png',
    'Content-Disposition': `inline; filename="x"; filename*=UTF-8''%C3%A9.png`,
  }
  const response = await send('POST', '/files', headers, 'hello')
  assert.deepEqual([response.status, response.text(), ...fieldsOf(response)], [200, '{"size":5}', '?1', '5', null])
  assert.deepEqual(
    received.map(({ text, fileName, type }) => [text, fileName, type]),
    [['hello', 'é.png', 'image/png']],
  )
})

test('an upload in parts: created, continued, completed', async (t) => {
  const { send, received } = uploading(t, {}, ({ size }) => ({ size }))
  const created = await send('POST', '/files', { 'Upload-Complete': '?0', 'Upload-Length': 10 }, 'hel')
  const url = created.headers.get('location')!
  assert.deepEqual([created.status, ...fieldsOf(created)], [201, '?0', '3', null])
  assert.equal(created.headers.get('upload-limit'), 'max-size=1073741824, max-age=86400')
  const patch = { 'Content-Type': PART, 'Upload-Complete': '?0', 'Upload-Offset': 3 }
  const part = await send('PATCH', url, patch, 'lo')
  assert.deepEqual([part.status, ...fieldsOf(part)], [204, '?0', '5', null])
  const status = await send('HEAD', url)
  assert.deepEqual([status.status, ...fieldsOf(status)], [204, '?0', '5', '10'])
  assert.equal(status.headers.get('cache-control'), 'no-store')
  assert.deepEqual(fieldsOf(await send('GET', url)), ['?0', '5', '10'])
  const last = await send('PATCH', url, { ...patch, 'Upload-Complete': '?1', 'Upload-Offset': 5 }, 'world')
  assert.deepEqual([last.status, last.text(), ...fieldsOf(last)], [200, '{"size":10}', '?1', '10', null])
  assert.deepEqual(fieldsOf(await send('HEAD', url)), ['?1', '10', '10'])
  assert.equal(received[0]?.text, 'helloworld')
})

test('an upload of unknown length is complete when the client says so, with or without bytes', async (t) => {
  const { send, received } = uploading(t)
  const created = await send('POST', '/files', { 'Upload-Complete': '?0' })
  const url = created.headers.get('location')!
  await send('PATCH', url, { 'Content-Type': PART, 'Upload-Complete': '?0', 'Upload-Offset': 0 }, 'abc')
  assert.deepEqual(fieldsOf(await send('HEAD', url)), ['?0', '3', null])
  const last = await send('PATCH', url, { 'Content-Type': PART, 'Upload-Complete': '?1', 'Upload-Offset': 3 })
  assert.deepEqual([last.status, ...fieldsOf(last)], [204, '?1', '3', null])
  const empty = await send('POST', '/files', { 'Upload-Complete': '?1' })
  assert.deepEqual([empty.status, ...fieldsOf(empty)], [204, '?1', '0', null])
  assert.deepEqual(
    received.map(({ text }) => text),
    ['abc', ''],
  )
  // The response was lost, and the client asks again.
  const again = await send('PATCH', url, { 'Content-Type': PART, 'Upload-Complete': '?1', 'Upload-Offset': 3 })
  assert.deepEqual([again.status, ...fieldsOf(again)], [204, '?1', '3', null])
  assert.equal(received.length, 2)
})

test('another offset is refused with a problem that has both', async (t) => {
  const { send } = uploading(t)
  const url = (await send('POST', '/files', { 'Upload-Complete': '?0' }, 'abc')).headers.get('location')!
  const response = await send('PATCH', url, { 'Content-Type': PART, 'Upload-Complete': '?0', 'Upload-Offset': 2 }, 'x')
  assert.deepEqual([response.status, ...fieldsOf(response)], [409, '?0', '3', null])
  assert.equal(response.headers.get('content-type'), 'application/problem+json')
  const { type, 'expected-offset': expected, 'provided-offset': provided } = response.json() as Record<string, unknown>
  assert.deepEqual([type, expected, provided], ['https://iana.org/assignments/http-problem-types#mismatching-upload-offset', 3, 2])
})

test('lengths that disagree are refused with a problem', async (t) => {
  const { send } = uploading(t)
  const type = 'https://iana.org/assignments/http-problem-types#inconsistent-upload-length'
  const refusals = [
    await send('POST', '/files', { 'Upload-Complete': '?1', 'Upload-Length': 4 }, 'abc'),
    await send('POST', '/files', { 'Upload-Complete': '?0', 'Upload-Length': 2 }, 'abc'),
  ]
  const url = (await send('POST', '/files', { 'Upload-Complete': '?0', 'Upload-Length': 5 })).headers.get('location')!
  const patch = { 'Content-Type': PART, 'Upload-Offset': 0 }
  refusals.push(await send('PATCH', url, { ...patch, 'Upload-Complete': '?0', 'Upload-Length': 6 }, 'abc'))
  refusals.push(await send('PATCH', url, { ...patch, 'Upload-Complete': '?1' }, 'abc'))
  refusals.push(await send('PATCH', url, { ...patch, 'Upload-Complete': '?0' }, 'abcdef'))
  for (const response of refusals) {
    assert.deepEqual([response.status, response.headers.get('upload-complete')], [400, '?0'])
    assert.equal((response.json() as { type: string }).type, type)
  }
  assert.deepEqual(fieldsOf(await send('HEAD', url)), ['?0', '0', '5'])
})

test('structured fields are read strictly', async (t) => {
  const { send, files } = uploading(t)
  for (const value of ['1', 'true', '?2', '"?1"', '']) {
    const response = await send('POST', '/files', { 'Upload-Complete': value, 'Upload-Draft-Interop-Version': '8' })
    assert.deepEqual([response.status, codeOf(response)], [400, 'WEIR_UPLOAD_REQUEST'], value)
  }
  assert.deepEqual(files(), [])
  const url = (await send('POST', '/files', { 'Upload-Complete': '?0' })).headers.get('location')!
  for (const offset of ['-0', '0.0', '"0"', '00000000000000000'])
    assert.equal((await send('PATCH', url, { 'Content-Type': PART, 'Upload-Complete': '?0', 'Upload-Offset': offset })).status, 400)
  assert.equal((await send('PATCH', url, { 'Content-Type': 'text/plain', 'Upload-Complete': '?0', 'Upload-Offset': 0 }, 'a')).status, 415)
})

test('a content digest that does not fit discards the bytes', async (t) => {
  const { send, received } = uploading(t)
  const url = (await send('POST', '/files', { 'Upload-Complete': '?0' }, 'abc')).headers.get('location')!
  const patch = { 'Content-Type': PART, 'Upload-Complete': '?1', 'Upload-Offset': 3 }
  const wrong = await send('PATCH', url, { ...patch, 'Content-Digest': `md5=:AA==:, sha-256=:${hashOf('x')}:` }, 'def')
  assert.deepEqual([wrong.status, codeOf(wrong)], [400, 'WEIR_UPLOAD_CHECKSUM'])
  assert.deepEqual(fieldsOf(await send('HEAD', url)), ['?0', '3', '6'])
  const right = await send('PATCH', url, { ...patch, 'Content-Digest': `sha-512=:${hashOf('def', 'sha512')}:` }, 'def')
  assert.equal(right.headers.get('upload-complete'), '?1')
  assert.equal(received[0]?.text, 'abcdef')
})

test('encoded content is refused: nobody could decode a part of it', async (t) => {
  const { server, send, files } = uploading(t)
  const response = await send('POST', '/files', { 'Upload-Complete': '?0', 'Content-Encoding': 'gzip' }, 'abc')
  assert.deepEqual([response.status, files()], [415, []])
  server.use(decompression())
  const packed = gzipSync('abc')
  const decoded = await send('POST', '/files', { 'Upload-Complete': '?1', 'Content-Encoding': 'gzip' }, packed)
  assert.deepEqual([decoded.status, files()], [415, []])
})

test('whether a client may try again follows from what onComplete throws', async (t) => {
  const errors = [new HttpError(422, 'no pictures'), new Error('the database is away')]
  const { send, received } = uploading(t, {}, () => {
    const error = errors.shift()
    if (error !== undefined) throw error
  })
  const refused = await send('POST', '/files', { 'Upload-Complete': '?1' }, 'abc')
  assert.deepEqual([refused.status, refused.headers.get('upload-complete')], [422, '?1'])
  const failed = await send('POST', '/files', { 'Upload-Complete': '?1' }, 'abc')
  const url = failed.headers.get('location')!
  assert.deepEqual([failed.status, failed.headers.get('upload-complete')], [500, '?0'])
  assert.deepEqual(fieldsOf(await send('HEAD', url)), ['?0', '3', '3'])
  const again = await send('PATCH', url, { 'Content-Type': PART, 'Upload-Complete': '?1', 'Upload-Offset': 3 })
  assert.deepEqual([again.status, again.headers.get('upload-complete'), received.length], [204, '?1', 3])
})

test('DELETE cancels an upload', async (t) => {
  const { send, files } = uploading(t)
  const url = (await send('POST', '/files', { 'Upload-Complete': '?0' }, 'abc')).headers.get('location')!
  assert.equal((await send('DELETE', url)).status, 204)
  assert.deepEqual([files(), (await send('HEAD', url)).status], [[], 404])
})

test('104 states where the upload is, before its bytes are there; only to this version of the draft', async (t) => {
  const { server } = uploading(t)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  for (const [version, expected] of [
    ['8', 1],
    ['7', 0],
    [undefined, 0],
  ] as const) {
    const request = requestOverHttp({
      port: server.port,
      method: 'POST',
      path: '/files',
      headers: { 'Upload-Complete': '?1', 'Content-Length': 5, ...(version && { 'Upload-Draft-Interop-Version': version }) },
    })
    const interim: IncomingMessage[] = []
    const first = once(request, 'information')
    request.on('information', (one: IncomingMessage) => interim.push(one))
    request.flushHeaders()
    if (expected === 1) await first
    request.end('hello')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    assert.equal(interim.length, expected)
    if (interim[0] === undefined) continue
    assert.deepEqual([interim[0].statusCode, interim[0].statusMessage], [104, 'Upload Resumption Supported'])
    assert.equal(interim[0].headers['upload-draft-interop-version'], '8')
    assert.equal(interim[0].headers.location, response.headers.location)
    assert.equal(interim[0].headers['upload-limit'], 'max-size=1073741824, max-age=86400')
  }
})

test('104 is sent over HTTP/2, too, and an upload that breaks there continues', async (t) => {
  const { server, send, received } = uploading(t, {}, () => {}, { http2: 'cleartext' })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const client = connectHttp2(`http://127.0.0.1:${server.port}`)
  t.after(() => client.destroy())
  client.on('error', () => {})
  const stream = client.request({ ':method': 'POST', ':path': '/files', 'upload-complete': '?1', 'upload-draft-interop-version': '8' })
  stream.on('error', () => {})
  stream.write('hello')
  const [interim] = (await once(stream, 'headers')) as [Record<string, string>]
  assert.equal(interim[':status'], 104)
  const url = interim.location!
  await new Promise((resolve) => setTimeout(resolve, 50))
  stream.close(8) // CANCEL
  await once(stream, 'close')
  const offset = Number((await send('HEAD', url)).headers.get('upload-offset'))
  const rest = 'hello'.slice(offset)
  const response = await send('PATCH', url, { 'Content-Type': PART, 'Upload-Complete': '?1', 'Upload-Offset': offset }, rest)
  assert.deepEqual([response.status, received[0]?.text], [204, 'hello'])
})

test('what is refused is refused before the body is asked for', async (t) => {
  const { server, send } = uploading(t, { maxSize: 1000 })
  const url = (await send('POST', '/files', { 'Upload-Complete': '?0' }, 'abc')).headers.get('location')!
  const patch = { 'Content-Type': PART, 'Upload-Complete': '?0', Expect: '100-continue' }
  for (const [method, target, headers, size, status] of [
    ['PATCH', url, { ...patch, 'Upload-Offset': 4 }, 5, 409],
    ['PATCH', `/files/${'A'.repeat(32)}`, { ...patch, 'Upload-Offset': 3 }, 5, 404],
    ['PATCH', url, { ...patch, 'Upload-Offset': 3 }, 998, 413],
    ['POST', '/files', { 'Upload-Complete': '?1', Expect: '100-continue' }, 1001, 413],
  ] as const) {
    await using client = connect(server)
    const response = await client.stream({ method, url: target, headers, body: 'x'.repeat(size) })
    assert.deepEqual([response.status, response.interim], [status, []])
  }
  await using client = connect(server)
  const accepted = await client.stream({ method: 'PATCH', url, headers: { ...patch, 'Upload-Offset': 3 }, body: 'x'.repeat(997) })
  assert.deepEqual([accepted.status, accepted.interim], [204, [100]])
})

test('a form that is sent to the path of uploads is told what is missing', async (t) => {
  const { send, files } = uploading(t)
  const body = new FormData()
  body.append('file', new File(['hello'], 'a.txt'))
  const refused = await send('POST', '/files', {}, body)
  assert.equal(refused.status, 400)
  assert.match(refused.text(), /it has neither Upload-Complete nor Tus-Resumable: only clients of resumable uploads can use this path/)
  assert.deepEqual(files(), [])
})
