// Files on their way from a socket to a directory, and everything that can go wrong: nothing is left over, and the client gets a response.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import { type HttpRequest, type HttpServer, type SavedFile, type SavePolicy, saveTo, type WeirError } from '../../src/index.ts'
import { BOUNDARY, encodeForm, encodeHead, FORM_FIELD, patternBytes } from '../support/forms.ts'
import { eventually, gate, inBothReadModes } from '../support/serving.ts'
import { smallDisk, temporaryDirectory } from '../support/temporary.ts'

const FILE = patternBytes(1_000_000)

/** A form with one file and a field after it. */
function formWith(content: Uint8Array, fileName = 'file.bin'): Buffer {
  return encodeForm([
    { name: 'file', fileName, content },
    { name: 'after', content: 'x' },
  ])
}

/** Maps a route that saves every file, records each call, and responds with what was saved. */
function mapUpload(server: HttpServer, directory: string, log: unknown[] = [], policy: SavePolicy = {}): void {
  server.mapPost('/', { maxRequestBodySize: null }, async (_, { request }) => {
    const saved: SavedFile[] = []
    const isValid = await request
      .bodyMultipartStream({
        async onFile(info, content) {
          saved.push(await saveTo(directory, info, content, policy))
        },
      })
      .catch((error: WeirError) => {
        log.push(error.code)
        throw error
      })
    log.push(isValid)
    return { isValid, saved }
  })
  server.mapGet('/', () => 'next')
}

/** Descriptors of this process that are open in a directory; none where the system does not tell. */
function openIn(directory: string): string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`)
      return path.startsWith(`${directory}/`) ? [path] : []
    } catch {
      return []
    }
  })
}

async function becomesEmpty(directory: string): Promise<void> {
  await eventually(() => readdirSync(directory).length === 0 && openIn(directory).length === 0, 'that nothing is left behind')
}

inBothReadModes('uploads', (serve) => {
  for (const size of [0, 1, 60_000, 70_000, 5_000_000]) {
    test(`a file of ${size} bytes is saved as it was sent`, async (t) => {
      const directory = temporaryDirectory(t)
      const { connect } = await serve(t, (server) => mapUpload(server, directory, [], { hash: 'sha256' }))
      const content = patternBytes(size)
      const response = await (await connect()).post('/', formWith(content), FORM_FIELD).message()
      const hash = createHash('sha256').update(content).digest('hex')
      assert.deepEqual(response.json(), {
        isValid: true,
        saved: [{ path: join(directory, 'file.bin'), fileName: 'file.bin', clientName: 'file.bin', size, hash, detectedType: null }],
      })
      assert.ok(readFileSync(join(directory, 'file.bin')).equals(content))
      assert.deepEqual([readdirSync(directory), openIn(directory)], [['file.bin'], []])
    })
  }

  test('files that follow each other are kept separate', async (t) => {
    const directory = temporaryDirectory(t)
    const { connect } = await serve(t, (server) => mapUpload(server, directory))
    const contents = [3, 300_000, 0, 65_536, 1].map(patternBytes)
    const form = encodeForm(contents.map((content, i) => ({ name: 'f', fileName: `${i}`, content })))
    await (await connect()).post('/', form, FORM_FIELD).message()
    for (const [i, content] of contents.entries()) assert.ok(readFileSync(join(directory, `${i}`)).equals(content), `file ${i}`)
  })

  test('a slow client: the file is saved as it was sent', async (t) => {
    const directory = temporaryDirectory(t)
    const { connect } = await serve(t, (server) => mapUpload(server, directory))
    const form = formWith(patternBytes(3_000))
    const client = await connect()
    client.send(`POST / HTTP/1.1\r\nHost: h\r\n${FORM_FIELD}Content-Length: ${form.length}\r\n\r\n`)
    for (let at = 0; at < form.length; at += 7) {
      client.send(form.subarray(at, at + 7))
      await setImmediate()
    }
    assert.equal((await client.message()).status, 200)
    assert.ok(readFileSync(join(directory, 'file.bin')).equals(patternBytes(3_000)))
  })

  const leavings: [how: string, leave: (client: { destroy(): void; reset(): void; end(): unknown }) => void, code: string][] = [
    ['closes', (client) => client.destroy(), 'WEIR_(CLIENT_GONE|BODY_TRUNCATED)'],
    ['resets', (client) => client.reset(), 'WEIR_(CLIENT_GONE|BODY_TRUNCATED)'],
    ['ends its side', (client) => client.end(), 'WEIR_BODY_TRUNCATED'],
  ]
  for (const [how, leave, code] of leavings) {
    for (const sent of [10, 100_000, 900_000]) {
      test(`a client that ${how} after ${sent} bytes of a file leaves nothing behind`, async (t) => {
        const directory = temporaryDirectory(t)
        const log: unknown[] = []
        let signal: AbortSignal | null = null
        const { connect } = await serve(t, (server) => {
          server.use((session, next) => {
            signal = session.request.signal
            return next()
          })
          mapUpload(server, directory, log)
        })
        const client = await connect()
        const form = formWith(FILE)
        client.send(`POST / HTTP/1.1\r\nHost: h\r\n${FORM_FIELD}Content-Length: ${form.length}\r\n\r\n`).send(form.subarray(0, sent + 120))
        await eventually(() => readdirSync(directory).length === 1, 'the temporary file')
        leave(client)
        await eventually(() => log.length === 1, 'the end of the call')
        assert.match(String(log[0]), new RegExp(`^${code}$`))
        await becomesEmpty(directory)
        assert.equal(signal!.aborted, true)
        if (how === 'ends its side') assert.equal((await client.message()).status, 400)
      })
    }
  }

  const throwing: [what: string, read: (request: HttpRequest, directory: string) => Promise<unknown>][] = [
    [
      'throws during the upload',
      async (request, directory) => {
        const begun = gate()
        void request.bodyMultipartStream({
          async onFile(info, content) {
            const saving = saveTo(directory, info, content)
            begun.open()
            await saving
          },
        })
        await begun.promise
        throw new Error('beside')
      },
    ],
    [
      'throws in the callback while a file is being saved',
      (request, directory) =>
        request.bodyMultipartStream({
          async onFile(info, content) {
            void saveTo(directory, info, content).catch(() => {})
            await setImmediate()
            throw new Error('in the callback')
          },
        }),
    ],
    [
      'throws in a field’s callback after a file',
      (request, directory) =>
        request.bodyMultipartStream({
          async onFile(info, content) {
            const { path } = await saveTo(directory, info, content)
            const { rm } = await import('node:fs/promises')
            await rm(path)
          },
          onField() {
            throw new Error('in a field')
          },
        }),
    ],
  ]
  for (const [what, read] of throwing) {
    test(`a handler that ${what} is answered with 500, and nothing is left`, async (t) => {
      const directory = temporaryDirectory(t)
      const { connect, logged } = await serve(t, (server) => {
        server.mapPost('/', { maxRequestBodySize: null }, (_, { request }) => read(request, directory))
      })
      const client = await connect()
      const response = await client.post('/', formWith(patternBytes(3_000_000)), FORM_FIELD).message()
      assert.equal(response.status, 500)
      assert.equal(logged.length, 1)
      await becomesEmpty(directory)
      assert.ok((await (await connect()).get('/').message()).status === 405)
    })
  }

  test('a handler that responds before the upload is complete: the save fails by expiry, and the response is sent', async (t) => {
    const directory = temporaryDirectory(t)
    const ends: string[] = []
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', (_, { request }) => {
        request
          .bodyMultipartStream({ onFile: (info, content) => saveTo(directory, info, content) })
          .catch((error: Error) => ends.push(error.message))
        return 'early'
      }),
    )
    const client = await connect()
    client
      .send(`POST / HTTP/1.1\r\nHost: h\r\n${FORM_FIELD}Content-Length: 5000000\r\n\r\n`)
      .send(encodeHead({ name: 'f', fileName: 'f' }))
      .send('begun')
    assert.equal((await client.message()).text, 'early')
    await eventually(() => ends.length === 1, 'the end of the call')
    assert.match(ends[0]!, /POST \/$/)
    await becomesEmpty(directory)
  })

  // The first piece of the file waits in its stream while the temporary file is being created. The rest has already arrived as well.
  const ends: [what: string, body: Buffer, status: number][] = [
    [
      'turns out to be malformed',
      Buffer.concat([formWith(patternBytes(200_000)).subarray(0, 200_100), Buffer.from(`\r\n--${BOUNDARY}x`)]),
      200,
    ],
    ['ends without its delimiter', formWith(patternBytes(200_000)).subarray(0, 200_100), 200],
    ['is too large', formWith(patternBytes(250_001)), 413],
  ]
  for (const [what, body, status] of ends) {
    for (const mode of ['stream', 'buffer'] as const) {
      test(`a file that ${what} is not saved (${mode})`, async (t) => {
        const directory = temporaryDirectory(t)
        const { connect } = await serve(t, (server) =>
          server.mapPost('/', { body: mode }, async (_, { request }) => ({
            isValid: await request.bodyMultipartStream({
              maxFileSize: 250_000,
              onFile: async (info, content) => void (await saveTo(directory, info, content)),
            }),
          })),
        )
        const response = await (await connect()).post('/', body, FORM_FIELD).message()
        assert.equal(response.status, status)
        if (status === 200) assert.deepEqual(response.json(), { isValid: false })
        await becomesEmpty(directory)
      })
    }
  }

  const refusals: [what: string, policy: SavePolicy, status: number, detail: RegExp][] = [
    ['its extension', { extensions: ['.png'] }, 415, /WEIR_FILE_EXTENSION/],
    ['its first bytes', { magic: [[1, 2, 3]] }, 415, /WEIR_FILE_MAGIC/],
    ['its size', { maxSize: 999_999 }, 413, /maxSize is 999999/],
  ]
  for (const [what, policy, status, detail] of refusals) {
    test(`a file refused for ${what} leads to ${status}, and nothing is left`, async (t) => {
      const directory = temporaryDirectory(t)
      const { connect } = await serve(t, (server) => mapUpload(server, directory, [], policy))
      const response = await (await connect()).post('/', formWith(FILE), FORM_FIELD).message()
      assert.equal(response.status, status)
      assert.match(response.text, detail)
      await becomesEmpty(directory)
    })

    test(`a refusal for ${what} that the callback catches only skips that file`, async (t) => {
      const directory = temporaryDirectory(t)
      const { connect } = await serve(t, (server) =>
        server.mapPost('/', async (_, { request }) => {
          const log: string[] = []
          const isValid = await request.bodyMultipartStream({
            onField: (name) => void log.push(name),
            onFile: (info, content) =>
              saveTo(directory, info, content, info.fileName === 'good' ? {} : policy).then(
                ({ size }) => void log.push(`saved ${size}`),
                (error: Error) => void log.push(error.name),
              ),
          })
          return { isValid, log }
        }),
      )
      const form = encodeForm([
        { name: 'f', fileName: 'bad', content: FILE },
        { name: 'between', content: '' },
        { name: 'f', fileName: 'good', content: FILE },
      ])
      const response = await (await connect()).post('/', form, FORM_FIELD).message()
      const refused = status === 413 ? 'PayloadTooLargeError' : 'FileRefusedError'
      assert.deepEqual(response.json(), { isValid: true, log: [refused, 'between', 'saved 1000000'] })
      assert.deepEqual(readdirSync(directory), ['good'])
      assert.ok(readFileSync(join(directory, 'good')).equals(FILE))
    })
  }

  test('a full disk leads to 500, nothing is left, and the connection is in step or closed', async (t) => {
    const directory = smallDisk(t, 512)
    if (directory === null) {
      t.skip('needs the right to make a small disk')
      return
    }
    const { connect, logged } = await serve(t, (server) => mapUpload(server, directory))
    for (let i = 0; i < 3; i++) {
      const client = await connect()
      assert.equal((await client.post('/', formWith(patternBytes(3_000_000)), FORM_FIELD).message()).status, 500)
      await becomesEmpty(directory)
    }
    assert.equal(logged.length, 3)
    const small = patternBytes(300_000)
    assert.equal((await (await connect()).post('/', formWith(small), FORM_FIELD).message()).status, 200)
    assert.ok(readFileSync(join(directory, 'file.bin')).equals(small))
  })

  test('a stream can be saved once: the second call rejects, the first file is complete', async (t) => {
    const directory = temporaryDirectory(t)
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', async (_, { request }) => {
        const log: string[] = []
        await request.bodyMultipartStream({
          async onFile(info, content) {
            const first = saveTo(directory, info, content)
            await setImmediate()
            log.push(`first ${(await first).size}`)
            await saveTo(directory, info, content).catch((error: WeirError) => log.push(`second ${error.code}`))
          },
        })
        return log
      }),
    )
    const response = await (await connect()).post('/', formWith(FILE), FORM_FIELD).message()
    assert.deepEqual(response.json(), ['first 1000000', 'second WEIR_BODY_ALREADY_READ'])
    assert.deepEqual(readdirSync(directory), ['file.bin'])
  })

  test('the stream of a saved file emits end and close for listeners', async (t) => {
    const directory = temporaryDirectory(t)
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', async (_, { request }) => {
        const log: string[] = []
        const closed = gate()
        await request.bodyMultipartStream({
          async onFile(info, content) {
            content.on('end', () => log.push('end')).on('close', () => closed.open())
            await saveTo(directory, info, content)
          },
        })
        await closed.promise
        return log
      }),
    )
    assert.deepEqual((await (await connect()).post('/', formWith(FILE), FORM_FIELD).message()).json(), ['end'])
  })

  test('a hundred concurrent uploads: half are aborted, half are saved; no temporary file, no descriptor, little memory', async (t) => {
    const directory = temporaryDirectory(t)
    const log: unknown[] = []
    const { connect, server } = await serve(t, (server) => mapUpload(server, directory, log))
    const content = patternBytes(2 * 1024 * 1024)
    const form = formWith(content)
    const head = `POST / HTTP/1.1\r\nHost: h\r\n${FORM_FIELD}Content-Length: ${form.length}\r\n\r\n`
    const clients = await Promise.all(Array.from({ length: 100 }, connect))
    // A client that resets its connection before the server has accepted it is not served.
    await eventually(() => server.connections === 100, 'all connections')
    const before = process.memoryUsage().arrayBuffers
    let peak = 0
    const sampling = setInterval(() => (peak = Math.max(peak, process.memoryUsage().arrayBuffers)), 5)
    try {
      await Promise.all(
        clients.map(async (client, i) => {
          if (i % 2 === 0) {
            assert.equal((await client.send(head).send(form).message()).status, 200)
            return
          }
          client.send(head).send(form.subarray(0, 20_000 * i))
          await eventually(() => client.unsentBytes === 0, 'the beginning of the form')
          if (i % 4 === 1) client.reset()
          else client.destroy()
        }),
      )
      await eventually(() => log.length === 100, 'the end of every call')
    } finally {
      clearInterval(sampling)
    }
    assert.equal(log.filter((entry) => entry === true).length, 50)
    const names = readdirSync(directory)
    assert.equal(names.length, 50)
    for (const name of names) assert.ok(readFileSync(join(directory, name)).equals(content), name)
    assert.deepEqual(openIn(directory), [])
    assert.ok(peak - before < 120 * 1024 * 1024, `${peak - before} bytes for 200 MiB`)
  })

  test('the sample upload of the interface: streaming, with its response', async (t) => {
    const uploadDir = temporaryDirectory(t)
    const { connect } = await serve(t, (server) => mapSample(server, uploadDir))
    const form = encodeForm([
      { name: 'TITLE', content: 'Holidays' },
      { name: 'photo', fileName: '../beach.png', contentType: 'image/png', content: 'beach' },
      { name: 'photo', fileName: '', content: '' },
    ])
    const client = await connect()
    assert.deepEqual((await client.post('/user/upload', form, FORM_FIELD).message()).json(), {
      ok: true,
      title: 'Holidays',
      uploadDir,
      files: [
        { field: 'photo', originalName: '../beach.png', savedAs: 'beach.png', size: 5, contentType: 'image/png' },
        { field: 'photo', originalName: '', savedAs: 'upload.bin', size: 0, contentType: 'application/octet-stream' },
      ],
    })
    const failed = await client.post('/user/upload', 'no form', FORM_FIELD).message()
    assert.deepEqual([failed.status, failed.json()], [400, { ok: false, error: 'Invalid multipart body' }])
  })
})

function mapSample(server: HttpServer, uploadDir: string): void {
  server.mapPost('/user/upload', async (_, { request, response }) => {
    let title: string | null = null
    const files: unknown[] = []
    const isValid = await request.bodyMultipartStream({
      maxParts: 200,
      maxFileSize: request.maxRequestBodySize,
      onField(key, value) {
        if (key.toLowerCase() === 'title') title = value
      },
      async onFile(info, content) {
        const { fileName, size } = await saveTo(uploadDir, info, content)
        files.push({ field: info.fieldName, originalName: info.fileName, savedAs: fileName, size, contentType: info.contentType })
      },
    })
    if (!isValid) return response.status(400).json({ ok: false, error: 'Invalid multipart body' })
    return { ok: true, title, uploadDir, files }
  })
}
