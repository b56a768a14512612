// bodyMultipart and bodyFile: whole forms in memory.

import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import type { HttpRequest, MultipartFormData, MultipartOptions } from '../../src/index.ts'
import { BOUNDARY, encodeChunks, encodeForm, FORM_FIELD, type FormPart, patternBytes } from '../support/forms.ts'
import { inBothReadModes, within } from '../support/serving.ts'

const FORM: readonly FormPart[] = [
  { name: 'title', content: 'Grüße' },
  { name: 'image', fileName: '../me.png', contentType: 'image/png', content: patternBytes(100_000) },
  { name: 'title', content: '' },
  { name: 'image', fileName: '', content: '' },
]

function summary(form: MultipartFormData | null): unknown {
  if (form === null) return null
  const files = form.files.map(({ fieldName, fileName, contentType, content }) => [fieldName, fileName, contentType, content.length])
  return { fields: [...form.fields], files }
}

const SUMMARY = {
  fields: [
    ['title', 'Grüße'],
    ['title', ''],
  ],
  files: [
    ['image', '../me.png', 'image/png', 100_000],
    ['image', '', 'application/octet-stream', 0],
  ],
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Memory in use, without garbage, whose amount differs between versions of Node. */
function usedBytes(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

inBothReadModes('forms in memory', (serve) => {
  /** What `look` returns for the request, as JSON; an error as its name and its limit. */
  async function see(
    t: Parameters<typeof serve>[0],
    body: string | Uint8Array,
    look: (request: HttpRequest) => Promise<unknown>,
    options: { fields?: string; mode?: 'stream' | 'buffer' | undefined } = {},
  ): Promise<unknown> {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', options.mode === undefined ? {} : { body: options.mode }, async (_, { request }) => ({
        seen: await look(request).catch(describeError),
      })),
    )
    const client = await connect()
    const { seen } = (await client.post('/', body, options.fields ?? FORM_FIELD).message()).json() as { seen: unknown }
    // Whatever happened to the form, the connection is in step.
    assert.deepEqual((await client.post('/', encodeForm([]), FORM_FIELD).message()).status, 200)
    return seen
  }

  for (const mode of [undefined, 'stream', 'buffer'] as const) {
    test(`bodyMultipart returns fields and files in their order (${mode ?? 'auto'})`, async (t) => {
      const seen = await see(t, encodeForm(FORM), async (request) => summary(await request.bodyMultipart()), { mode })
      assert.deepEqual(seen, SUMMARY)
    })

    test(`bodyFile returns the form once, a second call rejects (${mode ?? 'auto'})`, async (t) => {
      const look = async (request: HttpRequest) => [
        summary(await request.bodyFile()),
        await request.bodyFile().catch(describeError),
        await request.bodyFile().catch(describeError),
      ]
      const error = {
        name: 'BodyAlreadyReadError',
        code: 'WEIR_BODY_ALREADY_READ',
        message: 'a body stream can be read only once: bodyFile(): keep what the first call returned',
      }
      assert.deepEqual(await see(t, encodeForm(FORM), look, { mode }), [SUMMARY, error, error])
    })
  }

  test('fields can be read by name', async (t) => {
    const look = async (request: HttpRequest) => {
      const { fields } = (await request.bodyMultipart())!
      return [fields.get('title'), fields.getAll('title'), fields.get('none'), fields.has('image'), fields.get('constructor'), fields.size]
    }
    assert.deepEqual(await see(t, encodeForm(FORM), look), ['Grüße', ['Grüße', ''], null, false, null, 2])
  })

  test('content belongs to the handler: complete, exact, alone in its memory, and available after the request', async (t) => {
    const kept: Uint8Array[] = []
    const { connect } = await serve(
      t,
      (server) =>
        server.mapPost(
          '/',
          async (_, { request }) => void kept.push(...(await request.bodyMultipart())!.files.map((file) => file.content)),
        ),
      { debug: true },
    )
    const sizes = [0, 1, 5_000, 70_000]
    const form = encodeForm(sizes.map((size) => ({ name: 'f', fileName: 'f', content: patternBytes(size) })))
    const client = await connect()
    for (let i = 0; i < 2; i++) assert.equal((await client.post('/', form, FORM_FIELD).message()).status, 204)
    assert.deepEqual(
      kept.map((content) => [content.length, content.buffer.byteLength]),
      [...sizes, ...sizes].map((size) => [size, size]),
    )
    for (const content of kept) assert.ok(patternBytes(content.length).equals(content))
  })

  test('data is a stream of the content with its length, and can be copied', async (t) => {
    const look = async (request: HttpRequest) => {
      const [first, second] = (await request.bodyMultipart())!.files
      const copied: Buffer[] = []
      const target = new Writable({
        write(chunk: Buffer, _, done) {
          copied.push(chunk)
          setImmediate(done)
        },
      })
      assert.equal(first!.data, first!.data)
      const { length } = first!.data
      await first!.data.copyTo(target)
      assert.ok(target.writableFinished)
      assert.ok(Buffer.concat(copied).equals(patternBytes(100_000)))
      return [length, (await buffer(second!.data)).length, second!.data.length]
    }
    assert.deepEqual(await see(t, encodeForm(FORM), look), [100_000, 0, 0])
  })

  test('a second bodyMultipart returns the same form, whatever the options', async (t) => {
    const look = async (request: HttpRequest) => {
      const forms = await Promise.all([request.bodyMultipart(), request.bodyMultipart({ maxParts: 0 })])
      return forms[0] === forms[1] && forms[0] !== null
    }
    assert.equal(await see(t, encodeForm(FORM), look), true)
  })

  test('what was read from the stream is gone for the others, but not on a buffered route', async (t) => {
    const look = async (request: HttpRequest) => {
      await request.bodyMultipart()
      return [
        await request.bodyFile().then(() => 'form', nameOf),
        await request.bodyMultipartStream({}).catch(nameOf),
        await request.bufferBody().then(() => 'buffered', nameOf),
      ]
    }
    const gone = 'BodyAlreadyReadError'
    assert.deepEqual(await see(t, encodeForm(FORM), look), [gone, gone, gone])
    assert.deepEqual(await see(t, encodeForm(FORM), look, { mode: 'buffer' }), ['form', true, 'buffered'])
  })

  test('after bufferBody the form can still be read', async (t) => {
    const look = async (request: HttpRequest) => {
      await request.bufferBody()
      return [request.bodyLength, summary(await request.bodyMultipart())]
    }
    assert.deepEqual(await see(t, encodeForm(FORM), look), [encodeForm(FORM).length, SUMMARY])
  })

  const whole = encodeForm([{ name: 'a', content: 'b' }])
  const invalid: [what: string, body: string | Uint8Array, fields: string][] = [
    ['no body', '', FORM_FIELD],
    ['another content type', whole, 'Content-Type: multipart/mixed; boundary=x\r\n'],
    ['no content type', whole, ''],
    ['no boundary', whole, 'Content-Type: multipart/form-data\r\n'],
    ['an invalid boundary', whole, 'Content-Type: multipart/form-data; boundary="x "\r\n'],
    ['another boundary', whole, 'Content-Type: multipart/form-data; boundary=other\r\n'],
    ['no close delimiter', whole.subarray(0, -4), FORM_FIELD],
    ['nothing but a delimiter', `--${BOUNDARY}\r\n`, FORM_FIELD],
    ['a part without a name', `--${BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\nx\r\n--${BOUNDARY}--`, FORM_FIELD],
    ['a part without a head', `--${BOUNDARY}\r\n\r\nx\r\n--${BOUNDARY}--`, FORM_FIELD],
    ['a line that continues after the boundary', `--${BOUNDARY}x\r\n${whole.toString()}`, FORM_FIELD],
    [
      'base64 in a part',
      encodeForm([{ name: 'a', contentType: 'text/plain\r\nContent-Transfer-Encoding: base64', content: 'eA==' }]),
      FORM_FIELD,
    ],
    ['a name that is not UTF-8', Buffer.from(whole.toString().replace('"a"', '"\xff"'), 'latin1'), FORM_FIELD],
  ]
  for (const [what, body, fields] of invalid) {
    test(`not a form: ${what}: bodyMultipart is null, bodyFile rejects with 400`, async (t) => {
      const look = async (request: HttpRequest) => [
        await request.bodyMultipart(),
        await request.bodyFile().catch((error: { code: string; status: number }) => [error.code, error.status]),
      ]
      assert.deepEqual(await see(t, body, look, { fields, mode: 'buffer' }), [null, ['WEIR_MULTIPART_INVALID', 400]])
      assert.equal(await see(t, body, (request) => request.bodyMultipart(), { fields, mode: 'stream' }), null)
    })
  }

  test('bytes around a form are discarded', async (t) => {
    const body = Buffer.concat([Buffer.from('before\r\n'), encodeForm(FORM), Buffer.from('after')])
    assert.deepEqual(await see(t, body, async (request) => summary(await request.bodyMultipart())), SUMMARY)
  })

  const many = Array.from({ length: 201 }, (_, i) => ({ name: `n${i}`, content: '' }))
  const lines = (count: number, size: number) => Array.from({ length: count }, (_, i) => `\r\nX-${i}: ${'x'.repeat(size)}`).join('')
  const withLines = (count: number, size: number) =>
    encodeForm([{ name: 'a', contentType: `text/plain${lines(count, size)}`, content: '' }])
  const disposition = 'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain\r\nX-0: \r\n'.length
  const limits: [limit: string, maximum: number, options: MultipartOptions, fits: Uint8Array, tooMuch: Uint8Array][] = [
    ['maxParts', 200, {}, encodeForm(many.slice(1)), encodeForm(many)],
    ['maxParts', 1, { maxParts: 1 }, encodeForm(many.slice(200)), encodeForm(many.slice(199))],
    ['maxParts', 0, { maxParts: 0 }, encodeForm([]), encodeForm(many.slice(200))],
    ...(['maxFileSize', 'maxFieldSize'] as const).flatMap((limit) => {
      const part = (size: number) =>
        encodeForm([
          { name: 'a', content: patternBytes(size).map((byte) => byte & 0x7f), ...(limit === 'maxFileSize' ? { fileName: 'f' } : {}) },
        ])
      return [0, 1, 70_000].map((size): [string, number, MultipartOptions, Uint8Array, Uint8Array] => [
        limit,
        size,
        { [limit]: size },
        part(size),
        part(size + 1),
      ])
    }),
    ['maxPartHeaders', 32, {}, withLines(30, 1), withLines(31, 1)],
    ['maxPartHeaderSize', 16_384, {}, withLines(1, 16_384 - disposition), withLines(1, 16_385 - disposition)],
  ]
  for (const [limit, maximum, options, fits, tooMuch] of limits) {
    test(`${limit}: ${maximum} is allowed, one more is refused by name`, async (t) => {
      for (const method of ['bodyMultipart', 'bodyFile'] as const) {
        if (method === 'bodyFile' && Object.keys(options).length > 0) continue
        assert.notEqual(await see(t, fits, async (request) => summary(await request[method](options))), null)
        const error = await see(t, tooMuch, async (request) => summary(await request[method](options)))
        assert.deepEqual(
          { ...(error as object), message: '' },
          { name: 'PayloadTooLargeError', code: 'WEIR_BODY_TOO_LARGE', limit, maximum, message: '' },
        )
      }
    })
  }

  test('an exceeded limit that is not caught is answered with a 413 that names it, and the connection stays open', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', async (_, { request }) => summary(await request.bodyMultipart({ maxParts: 1 }))),
    )
    const client = await connect()
    const response = await client.post('/', encodeForm(FORM), FORM_FIELD).message()
    assert.equal(response.status, 413)
    assert.match(response.text, /maxParts is 1/)
    assert.equal((await client.post('/', encodeForm([]), FORM_FIELD).message()).status, 200)
  })

  test('the error names maxRequestBodySize, chunked bodies included', async (t) => {
    const form = encodeForm(FORM)
    for (const maximum of [form.length, form.length - 1]) {
      const { connect } = await serve(
        t,
        (server) => server.mapPost('/', async (_, { request }) => summary(await request.bodyMultipart())),
        {
          limits: { maxRequestBodySize: maximum },
        },
      )
      const [measured, chunked] = [await connect(), await connect()]
      const responses = [
        await measured.post('/', form, FORM_FIELD).message(),
        await chunked
          .send(`POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n${FORM_FIELD}\r\n`)
          .send(encodeChunks(cut(form, 9_999)))
          .message(),
      ]
      for (const response of responses) {
        assert.equal(response.status, maximum === form.length ? 200 : 413)
        if (response.status === 413) assert.match(response.text, new RegExp(`maxRequestBodySize is ${maximum}`))
      }
    }
  })

  for (const wrong of [-1, 1.5, Number.NaN, '5' as unknown as number]) {
    test(`a limit of ${JSON.stringify(wrong)} is the program’s mistake`, async (t) => {
      for (const limit of ['maxParts', 'maxFileSize', 'maxFieldSize']) {
        for (const read of [
          (request: HttpRequest) => request.bodyMultipart({ [limit]: wrong }),
          (request: HttpRequest) => request.bodyMultipartStream({ [limit]: wrong }),
        ]) {
          const error = await see(t, encodeForm(FORM), async (request) => await read(request).then(() => 'read'))
          assert.equal((error as { code: string }).code, 'WEIR_OPTION_INVALID', limit)
        }
      }
    })
  }

  test('a form in chunks of one byte costs little more memory than its size', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', async (_, { request }) => {
        const before = usedBytes()
        let most = before
        const look = (): void => {
          most = Math.max(most, usedBytes())
        }
        const looking = setInterval(look, 100)
        const form = (await request.bodyMultipart())!
        clearInterval(looking)
        look()
        return { length: form.files[0]!.content.length, grown: most - before }
      }),
    )
    const size = 400_000
    const coded = encodeChunks(cut(encodeForm([{ name: 'f', fileName: 'f', content: patternBytes(size) }]), 1))
    const client = await connect()
    const response = await client
      .send(`POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n${FORM_FIELD}\r\n`)
      .send(coded)
      .message()
    const { length, grown } = response.json() as { length: number; grown: number }
    assert.equal(length, size)
    assert.ok(grown < 40 * size, `${grown} bytes for ${size}`)
  })

  test('a promise that is never awaited does not end the program', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/:how', ({ how }, { request }) => {
        if (how === 'memory') void request.bodyMultipart({ maxParts: 0 })
        else if (how === 'file') void request.bodyFile()
        else void request.bodyMultipartStream({ maxParts: 0 })
        return how
      }),
    )
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    t.after(() => process.off('unhandledRejection', note))
    for (const how of ['memory', 'file', 'stream']) {
      const client = await connect()
      assert.equal((await within(client.post(`/${how}`, encodeForm(FORM), FORM_FIELD).message(), 'a response')).text, how)
      const cutShort = await connect()
      await cutShort.send(`POST /${how} HTTP/1.1\r\nHost: h\r\n${FORM_FIELD}Content-Length: 9\r\n\r\nbefore`).message()
      cutShort.reset()
    }
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(unhandled, [])
  })
})

function cut(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
}

function nameOf(error: Error): string {
  return error.name
}

function describeError(error: Error & { code?: string; limit?: string; maximum?: number }): unknown {
  const { name, code, message, limit, maximum } = error
  return { name, code, message, ...(limit === undefined ? {} : { limit, maximum }) }
}
