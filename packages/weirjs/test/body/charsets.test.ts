// Forms that are not UTF-8: decoded if the client names a supported charset, refused otherwise, and never guessed.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { type HttpRequest, HttpServer } from '../../src/index.ts'
import { BOUNDARY } from '../support/forms.ts'
import { FORM_TYPE, JSON_TYPE, see } from '../support/see-request.ts'

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

describe('a url-encoded form in the charset of its content type', () => {
  const rows: [what: string, type: string, body: string | Buffer, expected: Record<string, string>][] = [
    ['UTF-8 by default', FORM_TYPE, 'name=J%C3%BCrgen', { name: 'Jürgen' }],
    ['UTF-8 by name', `${FORM_TYPE}; charset="utf-8"`, 'name=J%C3%BCrgen', { name: 'Jürgen' }],
    ['ISO-8859-1, escaped', `${FORM_TYPE}; charset=ISO-8859-1`, 'name=J%FCrgen', { name: 'Jürgen' }],
    ['ISO-8859-1, raw', `${FORM_TYPE}; charset=iso-8859-1`, latin1('name=J\xfcrgen'), { name: 'Jürgen' }],
    ['ISO-8859-1 is windows-1252, as in browsers', `${FORM_TYPE};charset=latin1`, 'price=%805&dash=%96', { price: '€5', dash: '–' }],
    ['windows-1252, names too', `${FORM_TYPE}; charset=windows-1252`, 'stra%DFe=%8A', { straße: 'Š' }],
    ['US-ASCII', `${FORM_TYPE}; charset=us-ascii`, 'name=Ada+Lovelace', { name: 'Ada Lovelace' }],
    ['what would be a BOM in UTF-8', `${FORM_TYPE}; charset=windows-1252`, latin1('\xef\xbb\xbfa=1'), { 'ï»¿a': '1' }],
    [
      '_charset_ is a field like any other',
      FORM_TYPE,
      '_charset_=windows-1252&name=J%C3%BCrgen',
      { _charset_: 'windows-1252', name: 'Jürgen' },
    ],
  ]
  for (const [what, type, body, expected] of rows) {
    test(what, async () => {
      for (const filler of ['', `&filler=${'x'.repeat(5_000)}`]) {
        const whole = Buffer.concat([Buffer.from(body as string), Buffer.from(filler)])
        const model: Record<string, string> = Object.fromEntries(Object.keys(expected).map((name) => [name, '']))
        const look = (request: HttpRequest) => [request.bodyMap(model), request.bodyForm()] as const
        const [isMapped, form] = await see(type, whole, look)
        assert.deepEqual([isMapped, model], [true, expected])
        const { filler: _, ...fields } = { filler: '', ...form }
        assert.deepEqual(fields, expected)
      }
    })
  }

  test('a long form without escapes', async () => {
    const body = latin1(`name=J\xfcrgen&filler=${'\xe4'.repeat(5_000)}`)
    const form = await see(`${FORM_TYPE}; charset=iso-8859-1`, body, (request) => request.bodyForm())
    assert.deepEqual({ ...form }, { name: 'Jürgen', filler: 'ä'.repeat(5_000) })
  })

  for (const charset of ['shift_jis', 'utf-16', 'utf-7', 'ISO-8859-15', '""']) {
    test(`${charset} is not supported: bodyMap is false, bodyForm leads to 415`, async () => {
      const model = { name: 'old' }
      const type = `${FORM_TYPE}; charset=${charset}`
      assert.equal(await see(type, 'name=new', (request) => request.bodyMap(model)), false)
      assert.equal(model.name, 'old')
      const server = new HttpServer({ logger: null })
      server.mapPost('/', (_, { request }) => request.bodyForm())
      const response = await server.inject({ method: 'POST', url: '/', headers: { 'Content-Type': type }, body: 'name=new' })
      assert.deepEqual([response.status, (response.json() as { code: string }).code], [415, 'WEIR_CHARSET_UNKNOWN'])
      assert.ok(response.text().length < 400)
    })
  }

  test('text passed to bodyForm is already decoded: the charset is ignored', async () => {
    assert.deepEqual({ ...(await see(`${FORM_TYPE}; charset=shift_jis`, 'x', (request) => request.bodyForm('a=%C3%BC'))) }, { a: 'ü' })
  })

  test('JSON is UTF-8 in any case', async () => {
    assert.equal(await see(`${JSON_TYPE}; charset=iso-8859-1`, '{"a":1}', (request) => request.bodyMap({ a: 0 })), false)
  })
})

describe('a field of a multipart form in the charset of its part', () => {
  const partOf = (type: string | null, content: string): string =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n${type === null ? '' : `Content-Type: ${type}\r\n`}\r\n${content}\r\n`

  async function read(...parts: string[]): Promise<{ memory: unknown; streamed: unknown }> {
    const body = latin1(`${parts.join('')}--${BOUNDARY}--\r\n`)
    const server = new HttpServer({ logger: null })
    server.mapPost('/memory', async (_, { request }) => {
      const form = await request.bodyMultipart()
      return { seen: form === null ? null : [...form.fields].map(([, value]) => value) }
    })
    server.mapPost('/streamed', async (_, { request }) => {
      const values: string[] = []
      const isValid = await request.bodyMultipartStream({ onField: (_name, value) => void values.push(value) })
      return { seen: isValid ? values : null }
    })
    const post = async (url: string): Promise<unknown> => {
      const headers = { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` }
      return ((await server.inject({ method: 'POST', url, headers, body })).json() as { seen: unknown }).seen
    }
    return { memory: await post('/memory'), streamed: await post('/streamed') }
  }

  const rows: [what: string, type: string | null, content: string, value: string | null][] = [
    ['no charset means UTF-8', null, 'J\xc3\xbcrgen', 'Jürgen'],
    ['a type without charset is UTF-8', 'text/plain', 'J\xc3\xbcrgen', 'Jürgen'],
    ['UTF-8 by name', 'text/plain; charset=UTF-8', 'J\xc3\xbcrgen', 'Jürgen'],
    ['ISO-8859-1, as some clients write all their fields', 'text/plain; charset=ISO-8859-1', 'J\xfcrgen \x80', 'Jürgen €'],
    ['US-ASCII', 'text/plain; charset=US-ASCII', 'Ada', 'Ada'],
    ['another one makes the form unreadable', 'text/plain; charset=utf-16', 'a\0', null],
    ['a malformed type counts as none', 'text; charset=utf-16', 'Ada', 'Ada'],
  ]
  for (const [what, type, content, value] of rows) {
    test(what, async () => {
      const expected = value === null ? null : [value, 'ä', value]
      const parts = [partOf(type, content), partOf(null, '\xc3\xa4'), partOf(type, content)]
      assert.deepEqual(await read(...parts), { memory: expected, streamed: expected })
    })
  }

  test('the charset of a file is ignored: its content is bytes', async () => {
    const file = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="f"\r\nContent-Type: text/plain; charset=utf-16\r\n\r\nx\r\n`
    const bytes = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="f"\r\nContent-Type: application/octet-stream; charset=x\r\n\r\nx\r\n`
    assert.deepEqual(await read(file, bytes), { memory: [], streamed: [] })
  })

  test('_charset_ is a field like any other', async () => {
    const charset = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="_charset_"\r\n\r\nwindows-1252\r\n`
    assert.deepEqual((await read(charset, partOf(null, '\xc3\xbc'))).memory, ['windows-1252', 'ü'])
  })
})
