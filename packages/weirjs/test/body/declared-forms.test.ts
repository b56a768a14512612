// Multipart forms that a route declares: fields by schema, files by rules, and what is dropped or refused.

import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { file, HttpServer, multipart, type RouteOptions, type ServerOptions, t, type UploadedFile } from '../../src/index.ts'
import type { BodyOption } from '../../src/modules/contract/index.ts'
import { BOUNDARY, encodeChunks, encodeForm, encodeHead, FORM_FIELD, type FormPart } from '../support/forms.ts'
import { inBothReadModes } from '../support/serving.ts'

const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

interface Form {
  readonly fields: object
  readonly files: Readonly<Record<string, UploadedFile | readonly UploadedFile[]>>
}

interface Problem {
  readonly code: string
  readonly detail: string
  readonly limit?: string
  readonly maximum?: number
  readonly errors?: readonly { readonly name: string; readonly pointer: string; readonly expected: string; readonly actual?: string }[]
}

/** Sends a form to a route that shows what it gets. */
async function send(body: BodyOption, parts: readonly FormPart[] | Uint8Array, options: ServerOptions & RouteOptions = {}) {
  const { maxRequestBodySize, ...serverOptions } = options
  const server = new HttpServer({ logger: null, ...serverOptions })
  server.mapPost('/', { body, ...(maxRequestBodySize !== undefined && { maxRequestBodySize }) }, (args) => {
    const { fields, files } = (args as unknown as { body: Form }).body
    const shown = Object.entries(files).map(([name, one]) => [name, Array.isArray(one) ? one.map(show) : show(one as UploadedFile)])
    return { fields, files: Object.fromEntries(shown) }
  })
  const sent = parts instanceof Uint8Array ? parts : encodeForm(parts)
  const response = await server.inject({ method: 'POST', url: '/', body: sent, headers: { 'Content-Type': FORM_TYPE } })
  return { status: response.status, value: response.json() as Problem & { fields?: unknown; files?: unknown } }
}

const show = ({ fileName, contentType, content }: UploadedFile): string => `${fileName} ${contentType} ${Buffer.from(content)}`
const photo = (content = 'png', fileName = 'a.png', contentType = 'image/png'): FormPart => ({
  name: 'photo',
  fileName,
  contentType,
  content,
})
const title: FormPart = { name: 'title', content: 'Sea' }
const Upload = multipart({ fields: { title: t.string, year: t.int.optional() }, files: { photo: file() } })

describe('a declared form', () => {
  test('has fields and files, and drops what is not declared', async () => {
    const { value } = await send(Upload, [
      photo('12'),
      title,
      { name: 'year', content: '1999' },
      { name: 'admin', content: 'true' },
      { name: 'virus', fileName: 'x.exe', content: 'MZ' },
    ])
    assert.deepEqual(value, { fields: { title: 'Sea', year: 1999 }, files: { photo: 'a.png image/png 12' } })
  })

  test('has an array where a name repeats, with or without []', async () => {
    const body = multipart({ fields: { tags: t.array(t.int).max(3) }, files: { photo: file({ count: 2 }) } })
    const tags = (name: string, ...values: string[]) => values.map((content) => ({ name, content }))
    const expected = { fields: { tags: [1, 2] }, files: { photo: ['a.png image/png 1', 'b.png image/png 2'] } }
    assert.deepEqual((await send(body, [...tags('tags', '1', '2'), photo('1'), photo('2', 'b.png')])).value, expected)
    const listed = [...tags('tags[]', '1', '2'), { ...photo('1'), name: 'photo[]' }, { ...photo('2', 'b.png'), name: 'photo[]' }]
    assert.deepEqual((await send(body, listed)).value, expected)
    assert.deepEqual((await send(body, [...tags('tags', '1'), photo('1')])).value.files, { photo: ['a.png image/png 1'] })
  })

  test('lists everything that is wrong at once', async () => {
    const body = multipart({
      fields: { title: t.string.min(5), pin: t.string.length(4).secret(), year: t.int },
      files: { photo: file(), more: file({ count: 2 }).optional(), text: file() },
    })
    const parts: FormPart[] = [
      title,
      { name: 'pin', content: '12345' },
      { name: 'year', fileName: 'y', content: '1' },
      { name: 'text', content: 'x' },
    ]
    const { status, value } = await send(body, parts)
    assert.deepEqual([status, value.code], [400, 'WEIR_BODY_INVALID'])
    assert.deepEqual(
      value.errors!.map(({ name, pointer, expected, actual }) => [name, pointer, expected, actual]),
      [
        ['year', '/year', 'a string, not a file', 'a file'],
        ['text', '/text', 'a file, with a file name', 'a string'],
        ['title', '/title', 'a string of at least 5 characters', 'Sea'],
        ['pin', '/pin', 'a string of exactly 4 characters', '(not shown)'],
        ['photo', '/photo', 'a file', undefined],
      ],
    )
    assert.equal((await send(body, parts, { invalidBodyStatus: 422 })).status, 422)
  })

  test('.strict() refuses parts that are not declared, at most 100 of them', async () => {
    const extra = Array.from({ length: 150 }, (_, i) => ({ name: `${'x'.repeat(200)}${i}`, content: '' }))
    const { status, value } = await send(Upload.strict(), [title, photo(), ...extra])
    assert.equal(status, 400)
    assert.equal(value.errors!.length, 100)
    assert.ok(value.errors!.every(({ name, expected }) => name.length === 100 && expected === 'no part of this name'))
    assert.equal((await send(Upload, [title, photo(), ...extra])).status, 200)
    assert.equal((await send(Upload.strict(), [title, photo()])).status, 200)
  })

  test('has no file where none was chosen: browsers send an empty one without a name', async () => {
    const nothing = photo('', '', 'application/octet-stream')
    assert.deepEqual((await send(Upload, [title, nothing])).value.errors!.length, 1)
    const optional = multipart({ files: { photo: file({ extensions: ['.png'], types: ['image/png'] }).optional() } })
    assert.deepEqual((await send(optional, [nothing])).value, { fields: {}, files: {} })
    assert.deepEqual((await send(optional, [])).value, { fields: {}, files: {} })
    const many = multipart({ files: { photo: file({ count: 1 }) } })
    assert.deepEqual((await send(many, [nothing, photo('1'), nothing])).value.files, { photo: ['a.png image/png 1'] })
    // An empty file with a name is a file; content without a name has to follow the rules.
    assert.deepEqual((await send(Upload, [title, photo('')])).value.files, { photo: 'a.png image/png ' })
    assert.equal((await send(optional, [photo('x', '', 'application/octet-stream')])).value.code, 'WEIR_FILE_TYPE')
    assert.equal((await send(optional, [photo('x', '')])).value.code, 'WEIR_FILE_EXTENSION')
  })

  test('names that have a meaning in JavaScript are only names', async () => {
    const parts = [title, photo(), { name: '__proto__', content: 'x' }, { name: '__proto__', fileName: 'x', content: 'x' }]
    assert.equal((await send(Upload, parts)).status, 200)
    assert.equal((await send(Upload, [title, { ...photo(), name: 'constructor' }])).value.errors![0]!.name, 'photo')
    const body = multipart({ fields: { constructor: t.string } })
    assert.deepEqual((await send(body, [{ name: 'constructor', content: 'x' }])).value.fields, { constructor: 'x' })
  })
})

describe('a file that its rules refuse ends the form', () => {
  const rows: [what: string, rules: Parameters<typeof file>[0], parts: FormPart[], status: number, detail: RegExp][] = [
    ['maxSize', { maxSize: 3 }, [photo('1234')], 413, /photo\.maxSize is 3$/],
    ['maxSize of the second', { maxSize: 3, count: 2 }, [photo('123'), photo('1234')], 413, /photo\.maxSize is 3$/],
    ['count', { count: 2 }, [photo(), photo(), photo()], 413, /photo\.count is 2$/],
    ['one and no more', {}, [photo(), photo()], 413, /photo\.count is 1$/],
    ['types', { types: ['image/*'] }, [photo('x', 'a.png', 'text/html')], 415, /photo: "text\/html"; accepted: image\/\*$/],
    [
      'types, with none',
      { types: ['image/*'] },
      [{ name: 'photo', fileName: 'a.png', content: 'x' }],
      415,
      /photo: "application\/octet-stream"/,
    ],
    ['types, malformed', { types: ['image/png'] }, [photo('x', 'a.png', 'image/png image/png')], 415, /photo: "image\/png image\/png"/],
    [
      'types, by its bytes',
      { types: ['image/*'] },
      [photo('<script>', 'a.png', 'image/png')],
      415,
      /photo: something else; accepted: image\/\*$/,
    ],
    [
      'types, by its bytes, in two',
      { types: ['text/csv'] },
      [photo('%PDF-1.7', 'a.csv', 'text/csv')],
      415,
      /photo: application\/pdf; accepted: text/,
    ],
    ['extensions', { extensions: ['png', '.jpg'] }, [photo('x', 'a.svg')], 415, /photo: "\.svg"; accepted: \.png, \.jpg$/],
    ['extensions, only the last', { extensions: ['png'] }, [photo('x', 'a.png.html')], 415, /photo: "\.html"/],
    ['extensions, a path', { extensions: ['png'] }, [photo('x', 'a.png/b')], 415, /photo: ""; accepted: \.png/],
  ]
  for (const [what, rules, parts, status, detail] of rows)
    test(what, async () => {
      const { status: answered, value } = await send(multipart({ fields: { title: t.string }, files: { photo: file(rules) } }), [
        title,
        ...parts,
      ])
      assert.equal(answered, status)
      assert.match(value.detail, detail)
    })

  test('and a file that they allow passes', async () => {
    const rules = { maxSize: 6, types: ['image/*', 'TEXT/Plain'], extensions: ['.PNG', ''], count: 2 }
    const { value } = await send(multipart({ files: { photo: file(rules) } }), [
      photo('GIF89a', 'A.Png', 'IMAGE/png'),
      photo('', 'README', 'text/plain; charset=x'),
    ])
    assert.deepEqual(value.files, { photo: ['A.Png IMAGE/png GIF89a', 'README text/plain; charset=x '] })
  })

  test('limits of the form hold: parts, fields, and the body', async () => {
    const body = multipart({ fields: { title: t.string }, maxParts: 2, maxFieldSize: 3 })
    const too = async (parts: FormPart[], options = {}) => (await send(body, parts, options)).value.detail
    assert.match(await too([title, title, title]), /maxParts is 2$/)
    assert.match(await too([{ ...title, content: 'Seas' }]), /maxFieldSize is 3$/)
    assert.match(await too([{ name: 'none', content: 'x'.repeat(500) }], { maxRequestBodySize: 400 }), /maxRequestBodySize is 400/)
    assert.equal((await send(body, [title, { name: 'none', content: 'dropped, whatever its size' }])).status, 200)
  })
})

describe('a body that is not such a form', () => {
  test('is refused', async () => {
    const codeOf = async (body: string | Uint8Array) => (await send(Upload, Buffer.from(body as string))).value.code
    assert.equal(await codeOf('x'), 'WEIR_MULTIPART_INVALID')
    assert.equal(await codeOf(encodeForm([title, photo()]).subarray(0, -10)), 'WEIR_MULTIPART_INVALID')
    assert.equal(await codeOf(''), 'WEIR_BODY_MISSING')
    const server = new HttpServer({ logger: null })
    server.mapPost('/', { body: Upload }, () => 1)
    const other = await server.inject({ method: 'POST', url: '/', json: {} })
    assert.deepEqual([other.status, other.headers.get('Accept-Post')], [415, 'multipart/form-data'])
    const withoutBoundary = await server.inject({ method: 'POST', url: '/', body: 'x', headers: { 'Content-Type': 'multipart/form-data' } })
    assert.equal((withoutBoundary.json() as Problem).code, 'WEIR_MULTIPART_INVALID')
  })

  test('is no longer there for another reader', async () => {
    const server = new HttpServer({ logger: null })
    server.mapPost('/', { body: Upload }, (_, { request }) => request.bodyMultipart())
    const response = await server.inject({
      method: 'POST',
      url: '/',
      body: encodeForm([title, photo()]),
      headers: { 'Content-Type': FORM_TYPE },
    })
    assert.equal((response.json() as Problem).code, 'WEIR_BODY_ALREADY_READ')
  })
})

describe('when it is declared', () => {
  test('a meaningless declaration is refused', () => {
    const rows: [() => unknown, RegExp][] = [
      [() => multipart({ file: {} } as never), /multipart\(\): there is no option "file"/],
      [() => multipart({ files: { a: t.string } } as never), /multipart\(\): files: "a" is .*, not what file\(\) returns/],
      [() => multipart({ fields: { a: 'x' } } as never), /is not a schema/],
      [() => multipart({ fields: 5 } as never), /multipart\(\): fields is 5, not an object/],
      [() => multipart({ fields: { a: t.string }, files: { a: file() } }), /"a" is both a field and a file/],
      [() => multipart({ files: JSON.parse('{"__proto__":1}') }), /not what file\(\) returns/],
      [() => multipart({ maxParts: -1 }), /maxParts is -1/],
      [() => file({ size: 5 } as never), /file\(\): there is no option "size"/],
      [() => file({ maxSize: 1.5 }), /file\(\): maxSize is 1\.5/],
      [() => file({ count: 0 }), /file\(\): count is 0, not a whole number of at least 1/],
      [() => file({ types: ['png'] }), /file\(\): the string "png" is not a media type/],
      [() => file({ types: 'image/png' as never }), /file\(\): types is the string "image\/png", not a list/],
      [() => file({ extensions: ['a/b'] }), /file\(\): extensions: "a\/b" is not an extension/],
    ]
    for (const [act, expected] of rows) assert.throws(act, expected)
  })

  test('a field that cannot be read from a string is refused with its route', () => {
    const body = multipart({ fields: { at: t.object({ x: t.int }).optional() } })
    assert.throws(
      () => new HttpServer().mapPost('/a', { body }, () => 1),
      /the body of POST \/a \(inline\) can never be read from multipart\/form-data: field "at": an object with x can only be read from JSON$/,
    )
  })

  test('a file that may be larger than the whole body is refused at the start, or later when its route is mapped', async () => {
    const form = (maxSize: number) => multipart({ files: { photo: file({ maxSize }) } })
    const message = /POST \/a \(inline\) at \S+: the file "photo" may have 101 bytes, and the whole body only 100: write maxRequestBodySize/
    const limits = { maxRequestBodySize: 100 }
    const wrong = new HttpServer({ port: 0, logger: null, limits }).mapPost('/a', { body: form(101) }, () => 1)
    await assert.rejects(wrong.start(), { code: 'WEIR_ROUTE_DECLARATION', message })

    const server = new HttpServer({ port: 0, logger: null, limits })
    server.mapPost('/fits', { body: form(100) }, () => 1)
    server.mapPost('/raised', { body: form(101), maxRequestBodySize: 1_000 }, () => 1)
    server.mapPost('/unlimited', { body: form(101), maxRequestBodySize: null }, () => 1)
    server.group('/group', { maxRequestBodySize: 1_000 }).mapPost('/', { body: form(101) }, () => 1)
    server.mapPost('/open', { body: multipart({ files: { photo: file() } }) }, () => 1)
    await server.start()
    try {
      assert.throws(() => server.mapPost('/a', { body: form(101) }, () => 1), { code: 'WEIR_ROUTE_DECLARATION', message })
    } finally {
      await server.stop()
    }
  })

  for (const [what, saveTo] of [
    ['is missing', join(tmpdir(), 'weir-no-such-directory')],
    ['is a file', fileURLToPath(import.meta.url)],
  ] as const)
    test(`a directory of files that ${what} is refused at the start`, async () => {
      const body = multipart({ files: { photo: file({ saveTo }) } })
      const message = /POST \/a \(inline\) at \S+: the file "photo" is saved to .*, which is not an existing directory: create it before/
      const server = new HttpServer({ port: 0, logger: null }).mapPost('/a', { body }, () => 1)
      await assert.rejects(server.start(), { code: 'WEIR_ROUTE_DECLARATION', message })
    })

  test('it is listed, with its files', () => {
    const server = new HttpServer()
    server.mapPost('/', { body: Upload }, () => 1)
    const [{ body, bodyMode }] = server.routes as [(typeof server.routes)[number]]
    assert.deepEqual([body?.kind, body?.types, bodyMode], ['multipart', ['multipart/form-data'], 'stream'])
    assert.deepEqual(
      { ...Upload.files['photo'] },
      { maxSize: Number.POSITIVE_INFINITY, types: null, extensions: null, count: null, saveTo: null, isOptional: false },
    )
  })
})

inBothReadModes('a declared form over a connection', (serve) => {
  test('is read as it arrives, whatever the pieces, and the connection stays open', async (t) => {
    const { connect } = await serve(t, (server) => {
      server.mapPost('/', { body: Upload }, ({ body }) => `${body.fields.title} ${body.files.photo.content.length}`)
    })
    const client = await connect()
    const form = encodeForm([title, photo('x'.repeat(200_000))])
    const pieces = Array.from({ length: Math.ceil(form.length / 7_919) }, (_, i) => form.subarray(i * 7_919, (i + 1) * 7_919))
    client.send(`POST / HTTP/1.1\r\nHost: a\r\n${FORM_FIELD}Transfer-Encoding: chunked\r\n\r\n`).send(encodeChunks(pieces))
    assert.equal((await client.message()).text, 'Sea 200000')
    client.send(`POST / HTTP/1.1\r\nHost: a\r\n${FORM_FIELD}Content-Length: ${form.length}\r\n\r\n`).send(form)
    assert.equal((await client.message()).text, 'Sea 200000')
  })

  test('a file that is refused is answered before the rest of it has arrived', async (t) => {
    const { connect } = await serve(t, (server) => {
      server.mapPost('/', { body: multipart({ files: { photo: file({ types: ['image/*'] }) } }) }, () => 1)
    })
    const client = await connect()
    client
      .send(`POST / HTTP/1.1\r\nHost: a\r\n${FORM_FIELD}Content-Length: 5000000\r\n\r\n`)
      .send(encodeHead(photo('', 'a.exe', 'application/x')))
      .send('MZ')
    assert.equal((await client.message()).status, 415)
  })
})
