// Clients that do not read responses, or send slowly, do not keep the files open that they wait for.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { appendFileSync, constants, readdirSync, readFileSync, readlinkSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { ClientHttp2Stream } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { diskStorage, type UploadRecord } from '../../../uploads/src/index.ts'
import { OpenFile } from '../../src/http/disk/open-file.ts'
import { HttpServer, saveTo } from '../../src/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { toNodeListener } from '../../src/node/index.ts'
import { HEADERS, Http2Client, type Http2Message, INITIAL_WINDOW_SIZE, RawHttp2, RST_STREAM, responseOf } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { eventually, gate } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const skip = process.platform === 'linux' ? false : 'only Linux lists the open files of a process'
/** As docs/limits.md says. */
const MOST_OPEN = 128
const CLIENTS = 3
const STREAMS = 100
const FILES = 7
const LENGTH = 150_000
const OPEN = 2 ** 30

/** The content of a file: each one its own, so that no piece can be mistaken for another. */
function contentOf(file: number): string {
  let text = ''
  for (let i = 0; text.length < LENGTH; i++) text += `${file}:${i} `
  return text.slice(0, LENGTH)
}

function filesIn(directory: string): void {
  for (let i = 0; i < FILES; i++) writeFileSync(join(directory, `${i}.txt`), contentOf(i))
}

/** How many files of the directory this process has open. */
function openIn(directory: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => nameOf(fd)?.startsWith(directory)).length
}

/** Null if it is closed by now. */
function nameOf(fd: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return null
  }
}

const head = (path: string, method = 'GET'): [string, string][] => [
  [':method', method],
  [':scheme', 'https'],
  [':path', path],
  [':authority', 'localhost'],
]
const numbers = Array.from({ length: STREAMS }, (_, i) => 2 * i + 1)
const fileOf = (stream: number): number => stream % FILES

/** Clients with closed windows, each with a request on every stream whose response has begun. */
async function askAll(t: TestContext, port: number): Promise<RawHttp2[]> {
  const clients: RawHttp2[] = []
  for (let i = 0; i < CLIENTS; i++) {
    const client = await RawHttp2.connect(t, port, { [INITIAL_WINDOW_SIZE]: 0 })
    for (const stream of numbers) client.headers(stream, head(`/${fileOf(stream)}.txt`))
    clients.push(client)
  }
  for (const client of clients)
    await client.until(() => client.frames.filter(({ type }) => type === HEADERS).length === STREAMS, 'the heads of all responses')
  return clients
}

const WAYS: Readonly<Record<string, (server: HttpServer, directory: string) => void>> = {
  'response.file': (server, directory) => {
    server.mapGet('/:name', ({ name }, { response }) => response.file(join(directory, name as string)))
  },
  'static files': (server, directory) => {
    server.use(staticFiles({ root: directory, maxCacheSize: 0 }))
  },
}

for (const [way, map] of Object.entries(WAYS)) {
  test(`${way}: streams with closed windows hold few files, and get all bytes when their windows open`, { skip }, async (t) => {
    const directory = temporaryDirectory(t)
    filesIn(directory)
    const { server } = await serveHttp2(t, (server) => map(server, directory), { port: 0 })
    const clients = await askAll(t, server.port!)
    assert.ok(openIn(directory) <= MOST_OPEN, `${openIn(directory)} files are open`)
    for (const client of clients) {
      client.allow(0, OPEN)
      for (const stream of numbers) client.allow(stream, OPEN)
    }
    for (const client of clients)
      for (const stream of numbers) assert.ok((await client.body(stream)) === contentOf(fileOf(stream)), `stream ${stream}`)
    await eventually(() => openIn(directory) === 0, 'that all files are closed')
  })
}

test('the windows open a little at a time, in turn', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  filesIn(directory)
  const { server } = await serveHttp2(t, (server) => WAYS['response.file']!(server, directory), { port: 0 })
  const clients = await askAll(t, server.port!)
  for (let round = 0; round < 4; round++)
    for (const client of clients) {
      client.allow(0, OPEN / 8)
      for (const stream of numbers) client.allow(stream, LENGTH / 4)
      assert.ok(openIn(directory) <= MOST_OPEN)
    }
  for (const client of clients)
    for (const stream of numbers) assert.ok((await client.body(stream)) === contentOf(fileOf(stream)), `stream ${stream}`)
})

const CHANGES: Readonly<Record<string, (path: string) => void>> = {
  'another file with its name': (path) => {
    writeFileSync(`${path}.new`, 'z'.repeat(LENGTH))
    renameSync(`${path}.new`, path)
  },
  'more bytes': (path) => appendFileSync(path, 'more'),
}

for (const [what, change] of Object.entries(CHANGES)) {
  test(`a file that was closed in between and then is ${what}: no response looks complete and is not`, { skip }, async (t) => {
    const directory = temporaryDirectory(t)
    filesIn(directory)
    const { server } = await serveHttp2(t, (server) => WAYS['response.file']!(server, directory), { port: 0 })
    const clients = await askAll(t, server.port!)
    for (let i = 0; i < FILES; i++) change(join(directory, `${i}.txt`))
    let failed = 0
    for (const client of clients) {
      client.allow(0, OPEN)
      for (const stream of numbers) client.allow(stream, OPEN)
    }
    for (const client of clients)
      for (const stream of numbers) {
        const body = await client.body(stream)
        const isReset = client.frames.some((frame) => frame.stream === stream && frame.type === RST_STREAM)
        if (isReset) failed++
        else assert.ok(body === contentOf(fileOf(stream)), `stream ${stream}`)
      }
    assert.ok(failed >= CLIENTS * STREAMS - MOST_OPEN, 'the files that were closed were not sent')
    await eventually(() => openIn(directory) === 0, 'that all files are closed')
  })
}

/** Connections that send a request and do not read. */
async function silentReaders(t: TestContext, port: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let i = 0; i < CLIENTS * STREAMS; i++) {
    const socket = connect({ port, host: '127.0.0.1' })
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    socket.pause().write('GET /large.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    sockets.push(socket)
  }
  return sockets
}

/** Larger than what the system buffers for a connection on loopback. */
const LARGE = Buffer.alloc(8 * 1024 * 1024, 'weir ')

for (const [where, start] of Object.entries({
  'HTTP/1.1': async (t: TestContext, map: (server: HttpServer) => void) => {
    const server = new HttpServer({ port: 0, logger: null })
    map(server)
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    return server.port!
  },
  'a server of Node': async (t: TestContext, map: (server: HttpServer) => void) => {
    const server = new HttpServer({ logger: null })
    map(server)
    const node = createServer(toNodeListener(server))
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      node.close()
      node.closeAllConnections()
    })
    return (node.address() as AddressInfo).port
  },
})) {
  test(`${where}: clients that do not read hold few files`, { skip }, async (t) => {
    const directory = temporaryDirectory(t)
    writeFileSync(join(directory, 'large.txt'), LARGE)
    let begun = 0
    const port = await start(t, (server) => {
      server.mapGet('/:name', ({ name }, { response }) => {
        begun++
        return response.file(join(directory, name as string))
      })
    })
    const sockets = await silentReaders(t, port)
    await eventually(() => begun === sockets.length, 'all requests')
    assert.ok(openIn(directory) <= MOST_OPEN)
    // One of the first and one of the last, so one of them was closed.
    for (const socket of [sockets[0]!, sockets.at(-1)!]) {
      let length = 0
      let matches = true
      let isHead = true
      socket.on('data', (bytes: Buffer) => {
        let body = bytes
        if (isHead) {
          const end = bytes.indexOf('\r\n\r\n')
          if (end === -1) return
          isHead = false
          body = bytes.subarray(end + 4)
        }
        const at = length % 5
        if (!body.equals(LARGE.subarray(at, at + body.length))) matches = false
        length += body.length
      })
      socket.resume()
      await eventually(() => length === LARGE.length, 'the whole file')
      assert.ok(matches)
      assert.ok(openIn(directory) <= MOST_OPEN, `${openIn(directory)} files are open`)
    }
  })
}

const BOUNDARY = 'weir'
/** Connections that send forms. Node's client resets streams while a connection of it holds more than 10 MB. */
const SENDERS = 30
const sent = numbers.slice(0, (CLIENTS * STREAMS) / SENDERS)
/** A form with one file. */
const formOf = (stream: number): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${stream}.txt"\r\n\r\n${contentOf(fileOf(stream))}\r\n--${BOUNDARY}--\r\n`

test('forms that are sent slowly hold few of the files that are saved', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const { server } = await serveHttp2(
    t,
    (server) =>
      server.mapPost('/:client', async ({ client }, { request }) => {
        await request.bodyMultipartStream({
          async onFile(info, content) {
            await saveTo(directory, { fileName: `${client}-${info.fileName}` }, content)
          },
        })
        return 'saved'
      }),
    { port: 0, timeouts: { minBodyRate: 0 } }, // on a busy machine, the files are not all there before bodies are too slow
  )
  const uploads: { stream: ClientHttp2Stream; saved: Promise<Http2Message>; form: string }[] = []
  for (let i = 0; i < SENDERS; i++) {
    const client = await Http2Client.connect(t, server.port!)
    for (const number of sent) {
      const form = formOf(number)
      const fields = { ':method': 'POST', ':path': `/${i}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }
      const stream = client.open(fields)
      stream.write(form.slice(0, 1_000))
      uploads.push({ stream, saved: responseOf(stream), form })
    }
  }
  await eventually(() => readdirSync(directory).length === uploads.length, 'all files')
  assert.ok(openIn(directory) <= MOST_OPEN, `${openIn(directory)} files are open`)
  for (const { stream, form } of uploads) stream.end(form.slice(1_000))
  for (const { saved } of uploads) {
    const { status, code, text } = await saved
    assert.deepEqual([status, code, text], [200, 0, 'saved'])
  }
  for (let i = 0; i < SENDERS; i++)
    for (const number of sent)
      assert.ok(readFileSync(join(directory, `${i}-${number}.txt`), 'utf8') === contentOf(fileOf(number)), `${i}-${number}`)
  assert.equal(openIn(directory), 0)
})

test('resumable uploads that are sent slowly hold few files', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const storage = diskStorage(directory, { sync: false })
  const rest = gate()
  async function* slowly(file: number): AsyncGenerator<Uint8Array> {
    const bytes = Buffer.from(contentOf(file))
    yield bytes.subarray(0, 1_000)
    await rest.promise
    yield bytes.subarray(1_000)
  }
  const records = Array.from({ length: CLIENTS * STREAMS }, (_, i): [UploadRecord, number] => {
    const id = String(i).padStart(32, 'a')
    const facts = { createdAt: 0, expiresAt: 1, owner: null, place: null, metadata: '', concat: null, stage: 'open', keptAt: null } as const
    return [{ id, length: LENGTH, ...facts }, i % FILES]
  })
  for (const [record] of records) await storage.create(record)
  const appended = records.map(([record, file]) => storage.append(record, 0, slowly(file), { isAtomic: false, hasTakenOver: false }))
  const isBegun = ([record]: [UploadRecord, number]): boolean => statSync(storage.locate(record), { throwIfNoEntry: false })?.size === 1_000
  await eventually(() => records.every(isBegun), 'the beginning of each upload')
  assert.ok(openIn(directory) <= MOST_OPEN, `${openIn(directory)} files are open`)
  rest.open()
  assert.deepEqual(new Set(await Promise.all(appended)), new Set([LENGTH]))
  for (const [record, file] of records) assert.ok(readFileSync(storage.locate(record), 'utf8') === contentOf(file))
})

test('an upload whose file was replaced while it was closed fails', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'a')
  const files = await Promise.all(
    Array.from({ length: MOST_OPEN + 1 }, async (_, i) => {
      const file = await OpenFile.open(`${path}${i}`, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL)
      file.mayWait()
      return file
    }),
  )
  t.after(() => Promise.all(files.map((file) => file.close())))
  const isOpen = (name: string): boolean => readdirSync('/proc/self/fd').some((fd) => nameOf(fd) === name)
  const closed = files.findIndex((_, i) => !isOpen(`${path}${i}`))
  writeFileSync(`${path}new`, '')
  renameSync(`${path}new`, `${path}${closed}`)
  const write = new Promise((resolve, reject) => {
    files[closed]!.write(Buffer.from('x'), 0, 1, 0, (error) => (error === null ? resolve(null) : reject(error)))
  })
  await assert.rejects(write, /changed or replaced/)
  assert.equal(readFileSync(`${path}${closed}`, 'utf8'), '')
})
