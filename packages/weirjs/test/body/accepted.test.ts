// What a 415 states of that which would have been accepted: in the message, in the member `accepted`, and in fields.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { CharsetError, FileRefusedError, file, form, HttpServer, json, multipart, t, text } from '../../src/index.ts'
import { FORM_TYPE, JSON_TYPE } from '../support/see-request.ts'

const CHARSETS = ['utf-8', 'windows-1252', 'iso-8859-1', 'us-ascii']
const Name = t.object({ name: t.string })

interface Refused {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly accepted: readonly string[] | undefined
  /** Accept, Accept-Post. */
  readonly fields: readonly (string | null)[]
}

const server = new HttpServer({ logger: null })
server.mapPost('/any', { body: Name }, () => 'ok')
server.mapPost('/json', { body: json(Name) }, () => 'ok')
server.mapPost('/form', { body: form(Name) }, () => 'ok')
server.mapPut('/text', { body: text() }, () => 'ok')
server.mapPost('/body-json', (_, { request }) => request.bodyJson())
server.mapPost('/body-form', (_, { request }) => request.bodyForm())
const files = { photo: file({ types: ['image/*'] }).optional(), sheet: file({ extensions: ['.csv', ''] }).optional() }
server.mapPost('/files', { body: multipart({ files }) }, () => 'ok')

async function refused(url: string, type: string | null, body: string | FormData, method = 'POST'): Promise<Refused> {
  const response = await server.inject({ method, url, body, headers: type === null ? {} : { 'Content-Type': type } })
  const { code, detail, accepted } = response.json() as Omit<Refused, 'status' | 'fields'>
  const fields = ['accept', 'accept-post'].map((name) => response.headers.get(name))
  return { status: response.status, code, detail, accepted, fields }
}

describe('a charset that is not read', () => {
  const both = `${JSON_TYPE}, ${FORM_TYPE}`
  const rows: [url: string, type: string, accepted: string[], fields: (string | null)[]][] = [
    ['/any', `${FORM_TYPE}; charset=koi8-r`, CHARSETS, [both, both]],
    ['/any', `${JSON_TYPE}; charset=latin1`, ['utf-8'], [both, both]],
    ['/json', 'application/vnd.x+json; charset=koi8-r', ['utf-8'], [JSON_TYPE, JSON_TYPE]],
    ['/form', `${FORM_TYPE}; charset=koi8-r`, CHARSETS, [FORM_TYPE, FORM_TYPE]],
    ['/text', 'text/plain; charset=koi8-r', CHARSETS, ['text/plain', null]],
    ['/body-json', `${JSON_TYPE}; charset=koi8-r`, ['utf-8'], [null, null]],
    ['/body-form', `${FORM_TYPE}; charset=koi8-r`, CHARSETS, [null, null]],
  ]
  for (const [url, type, accepted, fields] of rows)
    test(`${url}, ${type}`, async () => {
      const response = await refused(url, type, 'x', url === '/text' ? 'PUT' : 'POST')
      assert.deepEqual(
        [response.status, response.code, response.accepted, response.fields],
        [415, 'WEIR_CHARSET_UNKNOWN', accepted, fields],
      )
      assert.ok(response.detail.endsWith(`${type.split('=')[1] === 'latin1' ? '"latin1"' : '"koi8-r"'}; accepted: ${accepted.join(', ')}`))
    })
})

test('a content type that is not accepted', async () => {
  const { code, accepted } = await refused('/form', 'text/csv', 'x')
  assert.deepEqual([code, accepted], ['WEIR_CONTENT_TYPE_UNSUPPORTED', [FORM_TYPE]])
})

test('files of other types and extensions', async () => {
  const photo = new FormData()
  photo.append('photo', new File(['x'], 'a.txt', { type: 'text/plain' }))
  const { fields, ...one } = await refused('/files', null, photo)
  assert.deepEqual(one, {
    status: 415,
    code: 'WEIR_FILE_TYPE',
    detail: 'files of this type are not accepted: photo: "text/plain"; accepted: image/*',
    accepted: ['image/*'],
  })
  assert.deepEqual(fields, [null, null], 'the type of the form is accepted')
  const sheet = new FormData()
  sheet.append('sheet', new File(['x'], 'a.xls', { type: 'text/csv' }))
  const other = await refused('/files', null, sheet)
  assert.deepEqual(
    [other.code, other.detail, other.accepted],
    ['WEIR_FILE_EXTENSION', 'files with this extension are not accepted: sheet: ".xls"; accepted: .csv, none', ['.csv', '']],
  )
})

test('a signature cannot be put into words', () => {
  const error = new FileRefusedError('WEIR_FILE_MAGIC')
  assert.deepEqual([error.message, error.accepted], ['the file does not begin with an accepted signature', []])
  assert.ok(new CharsetError('x', CHARSETS).message.endsWith('"x"; accepted: utf-8, windows-1252, iso-8859-1, us-ascii'))
})
