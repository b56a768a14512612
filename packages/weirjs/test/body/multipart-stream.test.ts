// bodyMultipartStream: fields and files as they arrive, slow callbacks, limits, and everything that can go wrong in between.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import { HttpError, type HttpRequest, type MultipartStreamOptions, type UploadedFileInfo, WeirError } from '../../src/index.ts'
import { BOUNDARY, encodeForm, encodeHead, FORM_FIELD, type FormPart, patternBytes } from '../support/forms.ts'
import type { RawClient } from '../support/raw-client.ts'
import { gate, inBothReadModes, type Serve, within } from '../support/serving.ts'
import { standsStill } from '../support/standing-still.ts'
import { thinned } from '../support/thinned.ts'

const FORM: readonly FormPart[] = [
  { name: 'Title', content: 'Grüße' },
  { name: 'image', fileName: '../me.png', contentType: 'image/png', content: patternBytes(300_000) },
  { name: 'empty', content: '' },
  { name: 'nothing', fileName: '', content: '' },
  { name: 'note', fileName: 'é.txt', contentType: 'text/plain; charset=utf-8', content: 'note' },
]

/** What happened to a form. */
type Outcome = { readonly valid: boolean } | { readonly error: unknown }

/** Connects to a server that reads forms with `options`, and responds with `read` whatever happens to them. */
async function reading(
  serve: Serve,
  t: Parameters<Serve>[0],
  options: MultipartStreamOptions,
): Promise<{ client: RawClient; outcomes: Outcome[]; connect(): Promise<RawClient> }> {
  const outcomes: Outcome[] = []
  const { connect } = await serve(t, (server) => {
    const read = async (request: HttpRequest): Promise<string> => {
      outcomes.push(
        await request.bodyMultipartStream(options).then(
          (valid) => ({ valid }),
          (error: unknown) => ({ error }),
        ),
      )
      return 'read'
    }
    server.mapPost('/', { maxRequestBodySize: null }, (_, { request }) => read(request))
    server.mapPost('/buffered', { body: 'buffer' }, (_, { request }) => read(request))
    server.mapGet('/', () => 'next')
  })
  return { client: await connect(), outcomes, connect }
}

/** The response has arrived, and the connection is in step or closed. */
async function checkResponse(client: RawClient): Promise<void> {
  const response = await client.message()
  assert.equal(response.text, 'read')
  if (response.header('connection') === 'close') {
    assert.equal(await client.closed(), 'end')
    return
  }
  assert.equal((await client.get('/').message()).text, 'next')
}

/** How a file's stream ends: with `end`, or with an error. */
function endOf(content: Readable): Promise<string> {
  return finished(content).then(
    () => 'whole',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  )
}

inBothReadModes('forms as they arrive', (serve) => {
  test('fields and files arrive in their order, with what the form states about them', async (t) => {
    const seen: unknown[] = []
    const { client, outcomes } = await reading(serve, t, {
      onField: (name, value) => void seen.push([name, value]),
      async onFile(info, content) {
        const atStart = info.length
        const bytes = await buffer(content)
        assert.ok(bytes.equals(Buffer.from(FORM.find(({ name }) => name === info.fieldName)!.content as string)))
        seen.push([info.fieldName, info.fileName, info.contentType, atStart, info.length])
      },
    })
    client.post('/', encodeForm(FORM), FORM_FIELD)
    await checkResponse(client)
    assert.deepEqual(outcomes, [{ valid: true }])
    assert.deepEqual(seen, [
      ['Title', 'Grüße'],
      ['image', '../me.png', 'image/png', 0, 300_000],
      ['empty', ''],
      ['nothing', '', 'application/octet-stream', 0, 0],
      ['note', 'é.txt', 'text/plain; charset=utf-8', 0, 4],
    ])
  })

  test('a part of plain bytes is a file without a name', async (t) => {
    const seen: unknown[] = []
    const { client } = await reading(serve, t, { onFile: ({ fieldName, fileName }) => void seen.push([fieldName, fileName]) })
    client.post('/', encodeForm([{ name: 'blob', contentType: 'application/octet-stream', content: 'x' }]), FORM_FIELD)
    await checkResponse(client)
    assert.deepEqual(seen, [['blob', null]])
  })

  test('length grows while the file passes', async (t) => {
    const lengths: number[] = []
    const { client } = await reading(serve, t, {
      async onFile(info, content) {
        for await (const chunk of content as AsyncIterable<Buffer>) {
          lengths.push(info.length)
          assert.ok(info.length >= chunk.length)
        }
        lengths.push(info.length)
      },
    })
    client.post('/', encodeForm([{ name: 'f', fileName: 'f', content: patternBytes(1_000_000) }]), FORM_FIELD)
    await checkResponse(client)
    assert.ok(lengths.length > 2)
    assert.ok(lengths[0]! < 1_000_000)
    assert.equal(lengths.at(-1), 1_000_000)
  })

  const skippings: [what: string, onFile: MultipartStreamOptions['onFile'] | undefined][] = [
    ['no callback at all', undefined],
    ['a callback that does not read it', () => {}],
    ['a callback that waits and does not read it', async () => void (await setImmediate())],
    ['a callback that destroys it', (_, content) => void content.destroy()],
    ['a callback that destroys it with an error', (_, content) => void content.destroy(new Error('enough'))],
    [
      'a callback that reads only its beginning',
      async (_, content) => {
        for await (const chunk of content) if (chunk !== null) break
      },
    ],
    [
      'a callback that waits for one readable event',
      async (_, content) => {
        await once(content, 'readable')
        content.read(1)
      },
    ],
  ]
  for (const [what, onFile] of skippings) {
    test(`a file is skipped by ${what}, and the rest of the form follows`, async (t) => {
      const fields: string[] = []
      const { client, outcomes } = await reading(serve, t, {
        onField: (name) => void fields.push(name),
        ...(onFile === undefined ? {} : { onFile }),
      })
      const file = { name: 'f', fileName: 'f', content: patternBytes(400_000) }
      client.post(
        '/',
        encodeForm([{ name: 'a', content: '' }, file, { name: 'b', content: '' }, file, { name: 'c', content: '' }]),
        FORM_FIELD,
      )
      await checkResponse(client)
      assert.deepEqual([outcomes, fields], [[{ valid: true }], ['a', 'b', 'c']])
    })
  }

  for (const size of [10, 400_000]) {
    test(`a file of ${size} bytes that is read only after it was skipped never ends as if it were complete`, async (t) => {
      let late: Promise<unknown> | null = null
      const { client, outcomes } = await reading(serve, t, {
        onFile(_, content) {
          late = setImmediate().then(async () => {
            for await (const chunk of content) assert.ok(chunk)
          })
          late.catch(() => {})
        },
      })
      client.post('/', encodeForm([{ name: 'f', fileName: 'f', content: patternBytes(size) }]), FORM_FIELD)
      await checkResponse(client)
      assert.deepEqual(outcomes, [{ valid: true }])
      await assert.rejects(late!, { code: 'ERR_STREAM_PREMATURE_CLOSE' })
    })
  }

  for (const end of ['\r\n', '', '\r\nand more']) {
    test(`a promise that a callback returns is awaited before anything else, even at the end (${JSON.stringify(end)})`, async (t) => {
      const log: string[] = []
      let running = 0
      const slowly = async (name: string): Promise<void> => {
        assert.equal(++running, 1, 'one callback at a time')
        log.push(`${name} begins`)
        for (let i = 0; i < 3; i++) await setImmediate()
        log.push(`${name} ends`)
        running--
      }
      const { client, outcomes } = await reading(serve, t, {
        onField: slowly,
        onFile: async (info, content) => {
          content.resume()
          await slowly(info.fieldName)
        },
      })
      for (const [path, form] of [
        ['/', FORM],
        ['/', FORM.slice(0, 1)],
        ['/buffered', FORM],
        ['/buffered', FORM.slice(0, 1)],
      ] as const) {
        client.post(path, Buffer.concat([encodeForm(form).subarray(0, -2), Buffer.from(end)]), FORM_FIELD)
        await checkResponse(client)
        assert.deepEqual(
          log.splice(0),
          form.flatMap(({ name }) => [`${name} begins`, `${name} ends`]),
        )
      }
      assert.deepEqual(outcomes, Array(4).fill({ valid: true }))
    })
  }

  test('anything with a then is awaited', async (t) => {
    const open = gate()
    let hasSettled = false
    const { client, outcomes } = await reading(serve, t, {
      onField: () => ({
        // biome-ignore lint/suspicious/noThenProperty: that is what is tested
        then(resolve: () => void) {
          void open.promise.then(() => {
            hasSettled = true
            resolve()
          })
        },
      }),
      onFile: () => assert.ok(hasSettled),
    })
    client.post('/', encodeForm(FORM.slice(0, 2)), FORM_FIELD)
    await setImmediate()
    open.open()
    await checkResponse(client)
    assert.deepEqual(outcomes, [{ valid: true }])
  })

  for (const [what, read] of [
    ['that is not read', (content: Readable, open: Promise<void>) => open.then(() => buffer(content))],
    [
      'that was paused',
      (content: Readable, open: Promise<void>) =>
        Promise.resolve(content.pause())
          .then(() => open)
          .then(() => buffer(content)),
    ],
    [
      'whose reader is slow',
      async (content: Readable, open: Promise<void>) => {
        const chunks: Buffer[] = []
        for await (const chunk of content as AsyncIterable<Buffer>) {
          chunks.push(chunk)
          await open
        }
        return Buffer.concat(chunks)
      },
    ],
  ] as const) {
    test(`back-pressure reaches the socket through a file ${what}`, async (t) => {
      const open = gate()
      let info!: UploadedFileInfo
      let content: Buffer | null = null
      const begun = gate()
      const { client, outcomes } = await reading(serve, t, {
        async onFile(given, stream) {
          info = given
          begun.open()
          content = await read(stream, open.promise)
        },
      })
      const sent = patternBytes(24 * 1024 * 1024)
      client.post('/', encodeForm([{ name: 'f', fileName: 'f', content: sent }]), FORM_FIELD)
      await within(begun.promise, 'the beginning of the file')
      await standsStill(() => client.unsentBytes)
      assert.ok(client.unsentBytes > 0, 'the client could not send everything')
      assert.ok(info.length <= 512 * 1024, `${info.length} bytes were read`)
      open.open()
      await checkResponse(client)
      assert.ok(sent.equals(content!))
      assert.deepEqual(outcomes, [{ valid: true }])
    })
  }

  test('back-pressure reaches the socket through a field’s callback', async (t) => {
    const open = gate()
    const begun = gate()
    let passed = 0
    const { client, outcomes } = await reading(serve, t, {
      async onField() {
        begun.open()
        await open.promise
      },
      onFile: (info) => void (passed = info.length),
    })
    client.post(
      '/',
      encodeForm([
        { name: 'a', content: '' },
        { name: 'f', fileName: 'f', content: patternBytes(24 * 1024 * 1024) },
      ]),
      FORM_FIELD,
    )
    await within(begun.promise, 'the field')
    await standsStill(() => client.unsentBytes)
    assert.ok(client.unsentBytes > 0)
    assert.equal(passed, 0)
    open.open()
    await checkResponse(client)
    assert.deepEqual(outcomes, [{ valid: true }])
  })

  const part = (size: number, isFile: boolean): Buffer =>
    encodeForm([{ name: 'p', content: Buffer.alloc(size, 'x'), ...(isFile ? { fileName: 'f' } : {}) }])
  const many = (count: number): Buffer => encodeForm(Array.from({ length: count }, () => ({ name: 'p', content: '' })))
  const limits: [limit: string, maximum: number, options: MultipartStreamOptions, form: (size: number) => Buffer][] = [
    ['maxFileSize', 0, { maxFileSize: 0 }, (size) => part(size, true)],
    ['maxFileSize', 100_000, { maxFileSize: 100_000 }, (size) => part(size, true)],
    ['maxFileSize', 50 * 1024 * 1024, {}, (size) => part(size, true)],
    ['maxFieldSize', 0, { maxFieldSize: 0 }, (size) => part(size, false)],
    ['maxFieldSize', 100_000, { maxFieldSize: 100_000 }, (size) => part(size, false)],
    ['maxFieldSize', 1024 * 1024, {}, (size) => part(size, false)],
    ['maxParts', 0, { maxParts: 0 }, many],
    ['maxParts', 3, { maxParts: 3 }, many],
    ['maxParts', 200, {}, many],
  ]
  for (const [limit, maximum, options, form] of limits) {
    test(`${limit}: ${maximum} is allowed, one more is refused by name, and the file's stream errors`, async (t) => {
      const ends: Promise<string>[] = []
      const { client, outcomes, connect } = await reading(serve, t, {
        ...options,
        onFile(_, content) {
          ends.push(endOf(content))
          content.resume()
        },
      })
      client.post('/', form(maximum), FORM_FIELD)
      await checkResponse(client)
      const other = await connect()
      other.post('/', form(maximum + 1), FORM_FIELD)
      await checkResponse(other)
      const [fits, tooMuch] = outcomes as [Outcome, { error: WeirError & { limit: string; maximum: number } }]
      assert.deepEqual(fits, { valid: true })
      const { name, status, code, limit: named, maximum: allowed } = tooMuch.error
      assert.deepEqual([name, status, code, named, allowed], ['PayloadTooLargeError', 413, 'WEIR_BODY_TOO_LARGE', limit, maximum])
      assert.deepEqual(await Promise.all(ends), limit === 'maxFileSize' ? ['whole', 'WEIR_BODY_TOO_LARGE'] : [])
    })
  }

  test('Infinity means no limit', async (t) => {
    const { client, outcomes } = await reading(serve, t, {
      maxParts: Number.POSITIVE_INFINITY,
      maxFieldSize: Number.POSITIVE_INFINITY,
      maxFileSize: Number.POSITIVE_INFINITY,
    })
    client.post(
      '/',
      encodeForm([
        { name: 'p', content: Buffer.alloc(2_000_000, 'x') },
        ...Array.from({ length: 300 }, () => ({ name: 'p', content: '' })),
      ]),
      FORM_FIELD,
    )
    await checkResponse(client)
    assert.deepEqual(outcomes, [{ valid: true }])
  })

  const failure = new HttpError(418, 'the callback')
  const lookalike = new WeirError('WEIR_MULTIPART_INVALID')
  const failings: [what: string, options: MultipartStreamOptions, thrown: unknown][] = []
  for (const thrown of [failure, lookalike, 'a text', undefined]) {
    const what = thrown instanceof Error ? thrown.message : String(thrown)
    const fail = (): never => {
      throw thrown
    }
    const failLater = async (): Promise<never> => {
      await setImmediate()
      throw thrown
    }
    failings.push(
      [`onField throws ${what}`, { onField: fail }, thrown],
      [`onField rejects with ${what}`, { onField: failLater }, thrown],
      [`onFile throws ${what}`, { onFile: fail }, thrown],
      [`onFile rejects with ${what}`, { onFile: failLater }, thrown],
      [`onFile rejects with ${what} once it has read everything`, { onFile: (_, content) => buffer(content).then(fail) }, thrown],
    )
  }
  for (const [what, options, thrown] of failings) {
    test(`${what}: the call rejects with that, the file never ends as if it were complete, the response arrives`, async (t) => {
      const ends: Promise<string>[] = []
      let calls = 0
      const { client, outcomes } = await reading(serve, t, {
        onField(...given) {
          calls++
          return options.onField?.(...given)
        },
        onFile(info, content) {
          calls++
          ends.push(endOf(content))
          return options.onFile?.(info, content)
        },
      })
      const form = options.onField === undefined ? FORM.slice(1) : FORM
      client.post('/', encodeForm(form), FORM_FIELD)
      await checkResponse(client)
      assert.equal(outcomes.length, 1)
      assert.ok('error' in outcomes[0]!)
      assert.equal(outcomes[0].error, thrown)
      assert.equal(calls, 1, 'nothing is called after a failure')
      if (what.endsWith('everything')) assert.deepEqual(await Promise.all(ends), ['whole'])
      else assert.ok(!(await Promise.all(ends)).includes('whole'))
    })
  }

  const broken: [what: string, body: Buffer][] = [
    ['that has no end', encodeForm(FORM.slice(0, 2)).subarray(0, -6)],
    ['with a line that continues after the boundary', Buffer.concat([encodeForm(FORM.slice(0, 2)).subarray(0, -4), Buffer.from('x\r\n')])],
    ['of only a head', encodeHead({ name: 'f', fileName: 'f' })],
  ]
  for (const [what, body] of broken) {
    for (const later of [false, true]) {
      test(`a form ${what} is false, and its file fails (${later ? 'with a slow callback' : 'immediately'})`, async (t) => {
        const ends: Promise<string>[] = []
        const { client, outcomes } = await reading(serve, t, {
          async onFile(_, content) {
            ends.push(endOf(content))
            if (later) await setImmediate()
            await buffer(content).catch(() => {})
          },
        })
        client.post('/', body, FORM_FIELD)
        await checkResponse(client)
        assert.deepEqual(outcomes, [{ valid: false }])
        assert.match((await Promise.all(ends)).join(), /^WEIR_MULTIPART_(TRUNCATED|DELIMITER)$/)
      })
    }
  }

  test('a malformed second part leads to false, but the first file is complete', async (t) => {
    const ends: Promise<string>[] = []
    const { client, outcomes } = await reading(serve, t, {
      onFile(_, content) {
        ends.push(endOf(content))
        content.resume()
      },
    })
    const second = `--${BOUNDARY}\r\nContent-Disposition: attachment\r\n\r\nx\r\n--${BOUNDARY}--\r\n`
    client.post('/', Buffer.concat([encodeForm(FORM.slice(1, 2)).subarray(0, -BOUNDARY.length - 6), Buffer.from(second)]), FORM_FIELD)
    await checkResponse(client)
    assert.deepEqual([outcomes, await Promise.all(ends)], [[{ valid: false }], ['whole']])
  })

  test('a body that is not a form leads to false, nothing is called, and the body can still be read', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
        const called = () => assert.fail('called')
        const isForm = await request.bodyMultipartStream({ onField: called, onFile: called })
        return { isForm, rest: (await buffer(request.bodyStream())).toString() }
      }),
    )
    const client = await connect()
    for (const fields of ['', 'Content-Type: application/json\r\n', 'Content-Type: multipart/form-data\r\n']) {
      assert.deepEqual((await client.post('/', 'body', fields).message()).json(), { isForm: false, rest: 'body' })
    }
  })

  test('a second call rejects', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', async (_, { request }) => [
        await request.bodyMultipartStream({}),
        await request.bodyMultipartStream({}).catch(({ code }: WeirError) => code),
      ]),
    )
    const response = await (await connect()).post('/', encodeForm(FORM), FORM_FIELD).message()
    assert.deepEqual(response.json(), [true, 'WEIR_BODY_ALREADY_READ'])
  })

  test('callbacks see the AsyncLocalStorage of the handler that reads the form', async (t) => {
    const store = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const see = (): void => void seen.push(store.getStore())
    const onFile = async (_info: UploadedFileInfo, content: Readable): Promise<void> => {
      see()
      await buffer(content)
      see()
    }
    const { connect } = await serve(t, (server) =>
      server
        .use(({ request }, next) => store.run(request.url, next))
        .mapPost('/:n', async (_, { request }) => {
          await request.bodyMultipartStream({ onField: see, onFile })
        }),
    )
    const client = await connect()
    client.post('/1', encodeForm(FORM), FORM_FIELD).post('/2', encodeForm(FORM), FORM_FIELD)
    assert.deepEqual([(await client.message()).status, (await client.message()).status], [204, 204])
    assert.deepEqual(seen, [...Array(8).fill('/1'), ...Array(8).fill('/2')])
  })

  test('thousands of tiny parts, in chunks of one byte, are read', async (t) => {
    const parts = thinned(10_000)
    const names: string[] = []
    const { client, outcomes } = await reading(serve, t, { maxParts: parts, onField: (name) => void names.push(name) })
    const form = encodeForm(Array.from({ length: parts }, (_, i) => ({ name: `n${i}`, content: 'v' })))
    const coded = Buffer.alloc(form.length * 6)
    for (let at = 0; at < form.length; at++) {
      coded.write('1\r\n', at * 6, 'latin1')
      coded[at * 6 + 3] = form[at]!
      coded.write('\r\n', at * 6 + 4, 'latin1')
    }
    client.send(`POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n${FORM_FIELD}\r\n`).send(coded).send('0\r\n\r\n')
    await checkResponse(client)
    assert.deepEqual([outcomes, names.length, names.at(-1)], [[{ valid: true }], parts, `n${parts - 1}`])
  })
})
