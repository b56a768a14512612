// Forms in which no file was chosen: browsers send an empty file without a name, Node an empty part without a file name.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { file, HttpServer, multipart } from '../../src/index.ts'

const rules = { types: ['image/*'], extensions: ['.png'] } as const
const server = new HttpServer({ logger: null })
server.mapPost(
  '/optional',
  { body: multipart({ files: { photo: file(rules).optional() } }) },
  ({ body }) => body.files.photo?.fileName ?? 'none',
)
server.mapPost('/required', { body: multipart({ files: { photo: file(rules) } }) }, ({ body }) => body.files.photo.fileName)

async function send(url: string, photo: Blob): Promise<string> {
  const form = new FormData()
  form.append('photo', photo)
  const response = await server.inject({ method: 'POST', url, body: form })
  return `${response.status} ${response.status === 200 ? response.text() : (response.json() as { code: string }).code}`
}

test('an empty File without a name counts as none', async () => {
  assert.equal(await send('/optional', new File([], '')), '200 none')
  assert.equal(await send('/required', new File([], '')), '400 WEIR_BODY_INVALID')
})

test('so does the empty file of a browser', async () => {
  const body = '--b\r\nContent-Disposition: form-data; name="photo"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n--b--'
  const headers = { 'Content-Type': 'multipart/form-data; boundary=b' }
  assert.equal((await server.inject({ method: 'POST', url: '/optional', body, headers })).text(), 'none')
})

test('a file with content, or with a name, is checked', async () => {
  assert.equal(await send('/optional', new File(['x'], '')), '415 WEIR_FILE_TYPE')
  assert.equal(await send('/optional', new File([], 'a.png')), '415 WEIR_FILE_TYPE')
  assert.equal(await send('/required', new File(['x'], 'a.png', { type: 'image/png' })), '415 WEIR_FILE_MAGIC')
  assert.equal(await send('/required', new File(['GIF89a'], 'a.png', { type: 'image/png' })), '200 a.png')
})
