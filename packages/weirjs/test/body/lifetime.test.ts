// The body as a stream or in a buffer, how it is aborted, when the client counts as disconnected, and when the exchange is over.

import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import { type HttpRequest, RequestExpiredError, type WeirError } from '../../src/index.ts'
import { encodeChunks, encodeForm, FORM_FIELD, patternBytes } from '../support/forms.ts'
import type { RawClient } from '../support/raw-client.ts'
import { eventually, gate, inBothReadModes, within } from '../support/serving.ts'
import { standsStill } from '../support/standing-still.ts'

const STREAM = { body: 'stream', maxRequestBodySize: null } as const

const codeOf = (error: unknown): string => (error as WeirError).code ?? String(error)

/** How a stream ends: `end`, or the code of its error. */
function endOf(stream: Readable): Promise<string> {
  return finished(stream).then(() => 'whole', codeOf)
}

function headOf(length: number | 'chunked', fields = ''): string {
  const framing = length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  return `POST / HTTP/1.1\r\nHost: h\r\n${framing}\r\n${fields}\r\n`
}

inBothReadModes('body lifetime', (serve) => {
  test('bodyStream: every byte in order, with and without a declared length', async (t) => {
    const bytes = patternBytes(3_000_000)
    const { connect } = await serve(t, (server) => server.mapPost('/', STREAM, async (_, { request }) => buffer(request.bodyStream())))
    const client = await connect()
    assert.ok((await client.post('/', bytes).message()).body.equals(bytes))
    const chunks = Array.from({ length: 30 }, (_, i) => bytes.subarray(i * 100_000, (i + 1) * 100_000))
    assert.ok((await client.send(headOf('chunked')).send(encodeChunks(chunks)).message()).body.equals(bytes))
  })

  for (const when of ['before it is read', 'while it is read'] as const) {
    test(`bodyStream: back-pressure reaches the socket ${when}`, async (t) => {
      const open = gate()
      const begun = gate()
      const bytes = patternBytes(24 * 1024 * 1024)
      let taken = 0
      const { connect } = await serve(t, (server) =>
        server.mapPost('/', STREAM, async (_, { request }) => {
          begun.open()
          if (when === 'before it is read') await open.promise
          const pieces: Buffer[] = []
          for await (const piece of request.bodyStream() as AsyncIterable<Buffer>) {
            taken += piece.length
            pieces.push(piece)
            await open.promise
          }
          return { same: Buffer.concat(pieces).equals(bytes) }
        }),
      )
      const client = await connect()
      client.post('/', bytes)
      await within(begun.promise, 'the start of the handler')
      await standsStill(() => client.unsentBytes)
      assert.ok(client.unsentBytes > 0, 'the client could not send everything')
      assert.ok(taken < 512 * 1024, `${taken} bytes were read`)
      open.open()
      assert.deepEqual((await client.message()).json(), { same: true })
    })
  }

  const leavings: [how: string, leave: (client: RawClient) => void][] = [
    ['closes', (client) => client.destroy()],
    ['resets', (client) => client.reset()],
    ['ends its side', (client) => void client.end()],
  ]
  for (const [how, leave] of leavings) {
    test(`a client that ${how} in the middle of a body: the stream errors, bufferBody rejects, signal aborts`, async (t) => {
      const ends: string[] = []
      const reasons: unknown[] = []
      const { connect } = await serve(t, (server) => {
        for (const [path, read] of [
          ['/stream', (request: HttpRequest) => endOf(request.bodyStream().resume())],
          ['/buffer', (request: HttpRequest) => request.bufferBody().then(() => 'whole', codeOf)],
        ] as const) {
          server.mapPost(path, STREAM, async (_, { request }) => {
            request.signal.addEventListener('abort', () => reasons.push(codeOf(request.signal.reason)))
            ends.push(await read(request))
          })
        }
      })
      for (const path of ['/stream', '/buffer']) {
        for (const length of [10, 'chunked'] as const) {
          const client = await connect()
          client.send(headOf(length).replace(' / ', ` ${path} `)).send(length === 10 ? 'begun' : '5\r\nbegun\r\n')
          await setImmediate()
          const before = ends.length
          leave(client)
          await eventually(() => ends.length > before && reasons.length > before, 'the end of the body')
        }
      }
      for (const end of [...ends, ...reasons]) assert.match(String(end), /^WEIR_(BODY_TRUNCATED|CLIENT_GONE)$/)
      assert.deepEqual([ends.length, reasons.length], [4, 4])
    })

    test(`a client that ${how} after its body was read: signal aborts while the handler works, and only then`, async (t) => {
      for (const mode of ['stream', 'buffer'] as const) {
        const working = gate<HttpRequest>()
        const gone = gate()
        const { connect } = await serve(t, (server) =>
          server.mapPost('/', { body: mode }, async (_, { request }) => {
            await request.bufferBody()
            assert.equal(request.body, 'whole')
            request.signal.addEventListener('abort', () => gone.open())
            working.open(request)
            await gone.promise
            return request.body
          }),
        )
        const client = await connect()
        client.post('/', 'whole')
        const request = await within(working.promise, 'the handler')
        for (let i = 0; i < 20; i++) await setImmediate()
        assert.equal(request.signal.aborted, false, 'the client has not left yet')
        leave(client)
        await within(gone.promise, 'the abort')
        assert.equal(codeOf(request.signal.reason), 'WEIR_CLIENT_GONE')
      }
    })
  }

  test('signal does not abort while the client stays, or after the response', async (t) => {
    const signals: AbortSignal[] = []
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', async (_, { request }) => {
        signals.push(request.signal)
        await setImmediate()
        return request.body
      }),
    )
    const client = await connect()
    for (const body of ['one', 'two']) assert.equal((await client.post('/', body).message()).text, body)
    client.destroy()
    const other = await connect()
    await other.post('/', 'three').message()
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false, false, false],
    )
  })

  test('maxRequestBodySize: N bytes are allowed; N + 1 fail the stream, reject bufferBody, and lead to 413', async (t) => {
    const ends: string[] = []
    const { connect } = await serve(t, (server) => {
      server.mapPost('/stream', { body: 'stream', maxRequestBodySize: 1_000 }, async (_, { request }) => {
        const stream = request.bodyStream().resume()
        ends.push(await endOf(stream))
        if (stream.errored !== null) throw stream.errored
      })
      server.mapPost('/buffer', { body: 'stream', maxRequestBodySize: 1_000 }, async (_, { request }) => {
        await request.bufferBody().then(
          () => ends.push('whole'),
          (error: unknown) => {
            ends.push(codeOf(error))
            throw error
          },
        )
      })
    })
    for (const path of ['/stream', '/buffer']) {
      for (const size of [1_000, 1_001]) {
        const pieces = [Buffer.alloc(400), Buffer.alloc(size - 400)]
        const response = await (await connect())
          .send(headOf('chunked').replace(' / ', ` ${path} `))
          .send(encodeChunks(pieces))
          .message()
        assert.equal(response.status, size === 1_000 ? 204 : 413)
        if (size > 1_000) assert.match(response.text, /maxRequestBodySize is 1000/)
      }
    }
    assert.deepEqual(ends, ['whole', 'WEIR_BODY_TOO_LARGE', 'whole', 'WEIR_BODY_TOO_LARGE'])
  })

  for (const [what, leaveAlone] of [
    ['destroys', (stream: Readable) => void stream.destroy()],
    [
      'stops reading',
      async (stream: Readable) => {
        for await (const piece of stream) if (piece !== null) break
      },
    ],
    ['never reads', () => {}],
  ] as const) {
    for (const size of [1_000, 200_000, 5_000_000]) {
      test(`a handler that ${what} its stream of ${size} bytes gets a response, and the connection is in step or closed`, async (t) => {
        const { connect } = await serve(
          t,
          (server) => {
            server.mapPost('/', STREAM, async (_, { request }) => {
              await leaveAlone(request.bodyStream())
              return 'enough'
            })
            server.mapGet('/', () => 'next')
          },
          { timeouts: { lingerTimeout: 50 } },
        )
        const client = await connect()
        const response = await client.post('/', patternBytes(size)).message()
        assert.equal(response.text, 'enough')
        if (response.header('connection') === 'close') await client.closed()
        else assert.equal((await client.get('/').message()).text, 'next')
      })
    }
  }

  test('with { body: "buffer" } the bytes of a form are available immediately, and its operations work too', async (t) => {
    const form = encodeForm([{ name: 'a', content: 'b' }])
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', { body: 'buffer' }, async (_, { request }) => [
        request.bodyLength,
        request.body === form.toString(),
        (await request.bodyMultipart())?.fields.get('a'),
        await request.bodyMultipartStream({}),
        (await request.bodyFile()).fields.size,
        (await buffer(request.bodyStream())).equals(form),
      ]),
    )
    const response = await (await connect()).post('/', form, FORM_FIELD).message()
    assert.deepEqual(response.json(), [form.length, true, 'b', true, 1, true])
  })

  test('a second bufferBody waits for the first, and both see the whole body', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', STREAM, async (_, { request }) => {
        const first = request.bufferBody()
        await request.bufferBody()
        const body = request.body
        await first
        return body
      }),
    )
    const client = await connect()
    client.send(headOf(6)).send('one')
    await setImmediate()
    assert.equal((await client.send('two').message()).text, 'onetwo')
  })

  const operations: [name: string, call: (request: HttpRequest) => unknown][] = [
    ['body', (request) => request.body],
    ['bodyString', (request) => request.bodyString],
    ['bodyBytes', (request) => request.bodyBytes],
    ['bodySpan', (request) => request.bodySpan],
    ['bodyLength', (request) => request.bodyLength],
    ['bodyMap()', (request) => request.bodyMap({})],
    ['bodyMapAnonymous()', (request) => request.bodyMapAnonymous({})],
    ['bodyForm()', (request) => request.bodyForm()],
    ['bodyStream()', (request) => request.bodyStream()],
    ['bufferBody()', (request) => request.bufferBody()],
    ['bodyMultipart()', (request) => request.bodyMultipart()],
    ['bodyFile()', (request) => request.bodyFile()],
    ['bodyMultipartStream()', (request) => request.bodyMultipartStream({})],
  ]
  const lives: [what: string, live: (request: HttpRequest) => unknown][] = [
    ['was never read', () => {}],
    ['was buffered', (request) => request.bufferBody()],
    ['was read as a form', (request) => request.bodyMultipart()],
    ['was streamed', (request) => buffer(request.bodyStream())],
  ]
  for (const mode of ['stream', 'buffer'] as const) {
    for (const [what, live] of lives) {
      test(`once it is over, every operation throws with the route in its message (${mode}, the body ${what})`, async (t) => {
        let kept!: HttpRequest
        const { connect } = await serve(t, (server) =>
          server.mapPost('/users/:id', { body: mode }, async (_, { request }) => {
            kept = request
            await live(request)
            return 'answered'
          }),
        )
        const client = await connect()
        assert.equal((await client.post('/users/7', encodeForm([{ name: 'a', content: 'b' }]), FORM_FIELD).message()).text, 'answered')
        for (const [name, call] of operations) {
          // `await` treats those that throw and those that reject alike.
          await assert.rejects(
            async () => void (await call(kept)),
            (error) => error instanceof RequestExpiredError && error.message.endsWith(`: ${name} of POST /users/:id`),
            name,
          )
        }
      })
    }
  }

  test('a stream that is kept fails when the exchange is over', async (t) => {
    const ends: Promise<string>[] = []
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', STREAM, (_, { request, response }) => {
        ends.push(endOf(request.bodyStream().resume()))
        ends.push(request.bufferBody().then(() => 'whole', codeOf))
        return response.status(403).text('early') // one that does not refuse the request waits for what it reads
      }),
    )
    const client = await connect()
    assert.equal((await client.send(headOf(10)).send('begun').message()).text, 'early')
    assert.deepEqual(await Promise.all(ends), ['WEIR_REQUEST_EXPIRED', 'WEIR_BODY_ALREADY_READ'])
  })

  test('bufferBody that is still pending when the exchange is over rejects', async (t) => {
    const ends: Promise<string>[] = []
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', STREAM, (_, { request, response }) => {
        ends.push(request.bufferBody().then(() => 'whole', codeOf))
        return response.status(403).text('early')
      }),
    )
    await (await connect()).send(headOf(10)).send('begun').message()
    assert.deepEqual(await Promise.all(ends), ['WEIR_REQUEST_EXPIRED'])
  })

  test('with debug a kept bodySpan is overwritten, however the body arrived', async (t) => {
    const spans: Uint8Array[] = []
    const { connect } = await serve(
      t,
      (server) => {
        for (const mode of ['stream', 'buffer'] as const) {
          server.mapPost(`/${mode}`, { body: mode }, async (_, { request }) => {
            await request.bufferBody()
            spans.push(request.bodySpan)
            assert.ok(spans.at(-1)!.every((byte) => byte === 0x61))
          })
        }
      },
      { debug: true },
    )
    const client = await connect()
    for (const mode of ['stream', 'buffer']) {
      for (const size of [1, 1_000, 300_000]) {
        const body = Buffer.alloc(size, 'a')
        assert.equal((await client.post(`/${mode}`, body).message()).status, 204)
        const chunks = encodeChunks([body.subarray(0, 500), body.subarray(500)])
        assert.equal(
          (
            await client
              .send(headOf('chunked').replace(' / ', ` /${mode} `))
              .send(chunks)
              .message()
          ).status,
          204,
        )
      }
    }
    assert.equal(spans.length, 12)
    for (const span of spans)
      assert.ok(
        span.every((byte) => byte === 0xdd),
        `a span of ${span.length} bytes`,
      )
  })

  test('with debug an uploaded file in memory is not overwritten: the handler may keep it', async (t) => {
    const kept: Uint8Array[] = []
    const { connect } = await serve(
      t,
      (server) =>
        server.mapPost('/', { body: 'buffer' }, async (_, { request }) => {
          kept.push((await request.bodyMultipart())!.files[0]!.content, request.bodyBytes)
        }),
      { debug: true },
    )
    const form = encodeForm([{ name: 'f', fileName: 'f', content: patternBytes(10_000) }])
    await (await connect()).post('/', form, FORM_FIELD).message()
    assert.ok(patternBytes(10_000).equals(kept[0]!) && form.equals(kept[1]!))
  })
})
