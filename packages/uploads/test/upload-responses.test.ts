// What a document states about the routes of uploads is what they respond with.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openapi } from '../../openapi/src/index.ts'
import type { InjectResponse } from '../../weirjs/src/index.ts'
import { validated } from '../../weirjs/test/support/openapi-validator.ts'
import { BYTES_TYPE, uploading } from '../../weirjs/test/support/uploading.ts'

type Responses = Readonly<Record<string, { readonly headers?: Readonly<Record<string, object>> }>>
type Paths = Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>

test('the routes of uploads respond with what a document states', async (t) => {
  const { server, tus, send, create } = uploading(t, { maxSize: 10, maxOpenUploads: 3 })
  server.use(openapi({ info: { title: 'x', version: '1' }, strict: true }))
  const document = (await server.inject('/openapi.json')).json() as { paths: Paths }
  assert.equal(await validated(document), null)
  const { paths } = document
  const seen: string[] = []
  const stated = (path: string, method: string, response: InjectResponse): void => {
    const where = `${method} ${path} ${response.status}`
    const found = paths[path]![method]!.responses[response.status]
    assert.ok(found !== undefined, where)
    seen.push(where)
    if (response.status >= 400) return
    const sent = [...response.headers]
      .map(([name]) => name.toLowerCase())
      .filter((name) => /^(?:location|upload-(?:offset|length))$/.test(name))
    const known = Object.keys(found.headers ?? {}).map((name) => name.toLowerCase())
    for (const name of sent) assert.ok(known.includes(name), `${where}: ${name} is not described`)
  }

  stated('/files', 'options', await send('OPTIONS', '/files'))
  stated('/files', 'post', await send('POST', '/files'))
  stated('/files', 'post', await tus('POST', '/files', { 'Upload-Length': 100 }))
  stated('/files', 'post', await tus('POST', '/files', { 'Upload-Length': 3, 'Content-Type': 'text/plain' }, 'abc'))
  stated('/files', 'post', await tus('POST', '/files', { 'Upload-Length': 3, 'Tus-Resumable': '0.2' }))
  stated('/files', 'post', await tus('POST', '/files', { 'Upload-Length': 3, 'Upload-Checksum': 'sha1 AAAA' }, 'abc'))
  const draft = await send('POST', '/files', { 'Upload-Complete': '?0' }, 'abc')
  stated('/files', 'post', draft)
  const part = { 'Upload-Offset': 9, 'Upload-Complete': '?0', 'Content-Type': 'application/partial-upload' }
  stated('/files/{id}', 'patch', await send('PATCH', draft.headers.get('location')!, part, 'def'))
  stated('/files/{id}', 'get', await send('GET', draft.headers.get('location')!))

  const url = await create(3)
  const at = { 'Upload-Offset': 0 }
  stated('/files/{id}', 'options', await send('OPTIONS', url))
  stated('/files/{id}', 'get', await tus('HEAD', url))
  stated('/files/{id}', 'get', await tus('HEAD', '/files/unknown'))
  stated('/files/{id}', 'patch', await tus('PATCH', url, { 'Upload-Offset': 1 }, 'b'))
  stated('/files/{id}', 'patch', await tus('PATCH', url, { ...at, 'Content-Type': 'text/plain' }, 'a'))
  stated('/files/{id}', 'patch', await tus('PATCH', url, { ...at, 'Upload-Checksum': 'sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }, 'a'))
  stated('/files/{id}', 'post', await tus('POST', url))
  const override = { 'X-HTTP-Method-Override': 'PATCH', 'Content-Type': BYTES_TYPE }
  stated('/files/{id}', 'post', await tus('POST', url, { ...at, ...override }, 'a'))
  stated('/files/{id}', 'patch', await tus('PATCH', url, { 'Upload-Offset': 1 }, 'bc'))

  const left = await create(3)
  await create(3)
  await create(3)
  stated('/files', 'post', await tus('POST', '/files', { 'Upload-Length': 3 }))
  stated('/files/{id}', 'delete', await tus('DELETE', left))
  stated('/files/{id}', 'delete', await tus('DELETE', left))
  const statuses = new Set(seen.map((one) => one.split(' ')[2]))
  assert.deepEqual([...statuses].sort(), ['201', '204', '400', '404', '405', '409', '412', '413', '415', '429', '460'])
})
