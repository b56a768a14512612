import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { FileOptions } from '../response/file-options.ts'
import { OutgoingResponse } from '../response/outgoing-response.ts'
import { prepareFile } from './file.ts'
import { FileSource, READ_SIZE } from './file-source.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-file-'))
const realFolder = realpathSync(folder)
after(() => rmSync(folder, { recursive: true }))

const CHANGED = 'Sun, 06 Nov 1994 08:49:37 GMT'
const LATER = 'Sun, 06 Nov 1994 08:49:38 GMT'
const TEXT = '0123456789abcdefghij'
const LARGE = Buffer.alloc(3 * READ_SIZE + 7, 'weir ')

/** A file with this content that was changed long ago. */
function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  utimesSync(path, new Date(CHANGED), new Date(CHANGED))
  return path
}

const text = file('text.txt', TEXT)
const large = file('large.bin', LARGE)

interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly options?: FileOptions
  /** What the handler does first. */
  readonly before?: (response: OutgoingResponse) => void
}

interface Served {
  readonly response: OutgoingResponse
  readonly status: number
  readonly body: string
  readonly kind: string
  header(name: string): string | null
}

async function prepared(path: string, { method = 'GET', headers = {}, options = {}, before }: Ask = {}): Promise<OutgoingResponse> {
  const response = new OutgoingResponse()
  before?.(response)
  await prepareFile({ method, header: (name) => headers[name.toLowerCase()] ?? null }, response, { path, options })
  return response
}

/** Sends a file as to a client, and checks what holds for every response. */
async function send(path: string, ask: Ask = {}): Promise<Served> {
  const response = await prepared(path, ask)
  const { content } = response
  let body = ''
  if (content.kind === 'text') body = content.text
  else if (content.kind === 'bytes') body = Buffer.from(content.bytes).toString('latin1')
  else if (content.kind === 'stream') {
    for await (const chunk of content.source) body += Buffer.from(chunk as Uint8Array).toString('latin1')
  } else assert.equal(content.kind, 'none')
  const isFile = content.kind === 'bytes' || content.kind === 'stream'
  if (isFile && ask.method !== 'HEAD') assert.equal(response.declaredLength, body.length)
  return { response, status: response.statusCode, body, kind: content.kind, header: (name) => response.getHeader(name) }
}

/** Only of these tests: other tests in this process may still be closing sockets. */
function fdCount(): number {
  if (process.platform !== 'linux') return 0
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path === '/dev/null' || path.startsWith(realFolder)
    } catch {
      return false // closed meanwhile
    }
  }).length
}

/** The number of open files once it is stable: files are closed through the thread pool, and nothing waits for that. */
async function settledCount(): Promise<number> {
  for (let count = fdCount(), since = 0; ; since++) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    if (fdCount() !== count) since = 0
    count = fdCount()
    if (since === 20) return count
  }
}

test('a file is sent with type, length, validators and Accept-Ranges', async () => {
  const sent = await send(text)
  assert.equal(sent.status, 200)
  assert.equal(sent.body, TEXT)
  assert.equal(sent.header('Content-Type'), 'text/plain; charset=utf-8')
  assert.equal(sent.response.declaredLength, TEXT.length)
  assert.equal(sent.header('Last-Modified'), CHANGED)
  assert.match(sent.header('ETag')!, /^"14-[0-9a-f]+"$/)
  assert.equal(sent.header('Accept-Ranges'), 'bytes')
  assert.equal(sent.header('Cache-Control'), null)
  assert.equal(sent.header('Content-Disposition'), null)
})

test('a file of up to 64 KiB becomes bytes, a larger one a stream of the same content', async () => {
  assert.equal((await send(text)).kind, 'bytes')
  assert.equal((await send(file('edge.bin', LARGE.subarray(0, READ_SIZE)))).kind, 'bytes')
  assert.equal((await send(file('over.bin', LARGE.subarray(0, READ_SIZE + 1)))).kind, 'stream')
  const sent = await send(large)
  assert.equal(sent.kind, 'stream')
  assert.equal(sent.body, LARGE.toString('latin1'))
})

test('an empty file is an empty body, whatever range is requested', async () => {
  for (const headers of [{}, { range: 'bytes=0-' }, { range: 'bytes=-5' }]) {
    const sent = await send(file('empty.txt', ''), { headers })
    assert.equal(sent.status, 200)
    assert.equal(sent.response.declaredLength, 0)
    assert.equal(sent.body, '')
  }
})

const TYPES: readonly (readonly [name: string, type: string])[] = [
  ['page.HTML', 'text/html; charset=utf-8'],
  ['code.mjs', 'text/javascript; charset=utf-8'],
  ['data.json', 'application/json'],
  ['picture.svg', 'image/svg+xml'],
  ['no-extension', 'application/octet-stream'],
  ['html', 'application/octet-stream'],
  ['.css', 'application/octet-stream'],
  ['odd.constructor', 'application/octet-stream'],
  ['odd.__proto__', 'application/octet-stream'],
]

for (const [name, type] of TYPES) {
  test(`${name} is sent as ${type}`, async () => assert.equal((await send(file(name, 'x'))).header('Content-Type'), type))
}

test('a type that was set before is kept, unless the options have one', async () => {
  const before = (response: OutgoingResponse): unknown => response.contentType('text/x-own')
  assert.equal((await send(text, { before })).header('Content-Type'), 'text/x-own')
  const options = { contentType: 'text/x-option' }
  assert.equal((await send(text, { before, options })).header('Content-Type'), 'text/x-option')
})

test('download sends the name of the file, or the given name', async () => {
  assert.equal((await send(text, { options: { download: true } })).header('Content-Disposition'), 'attachment; filename="text.txt"')
  assert.equal((await send(text, { options: { download: 'my.txt' } })).header('Content-Disposition'), 'attachment; filename="my.txt"')
  assert.equal((await send(text, { options: { download: false } })).header('Content-Disposition'), null)
})

test('each field can be left out', async () => {
  const sent = await send(text, { options: { etag: false, lastModified: false, acceptRanges: false }, headers: { range: 'bytes=0-1' } })
  assert.equal(sent.status, 200)
  assert.equal(sent.body, TEXT)
  for (const name of ['ETag', 'Last-Modified', 'Accept-Ranges', 'Content-Range']) assert.equal(sent.header(name), null, name)
})

test('validators that are left out do not count in conditions', async () => {
  const since = { 'if-modified-since': LATER }
  assert.equal((await send(text, { options: { lastModified: false }, headers: since })).status, 200)
  const etag = (await send(text)).header('ETag')!
  assert.equal((await send(text, { options: { etag: false }, headers: { 'if-none-match': etag } })).status, 200)
  assert.equal((await send(text, { options: { etag: false }, headers: { 'if-match': etag } })).status, 412)
})

test('the ETag is strong for a settled file and weak for one that has just changed', async () => {
  const fresh = join(folder, 'fresh.txt')
  writeFileSync(fresh, 'x')
  const weak = (await send(fresh)).header('ETag')!
  assert.match(weak, /^W\/"1-[0-9a-f]+"$/)
  const { atime, mtime } = statSync(fresh)
  utimesSync(fresh, atime, new Date(mtime.getTime() - 3_000))
  assert.match((await send(fresh)).header('ETag')!, /^"1-[0-9a-f]+"$/)
})

test('the ETag changes with size and with time', async () => {
  const path = file('tag.txt', 'one')
  const first = (await send(path)).header('ETag')
  assert.equal((await send(path)).header('ETag'), first)
  utimesSync(path, new Date(CHANGED), new Date(Date.parse(CHANGED) + 1))
  const second = (await send(path)).header('ETag')
  assert.notEqual(second, first)
  truncateSync(path, 2)
  utimesSync(path, new Date(CHANGED), new Date(CHANGED))
  assert.notEqual((await send(path)).header('ETag'), first)
})

test('Last-Modified is never in the future, and a file from the future has a weak ETag', async () => {
  const path = file('future.txt', 'x')
  const ahead = new Date(Date.now() + 86_400_000)
  utimesSync(path, ahead, ahead)
  const sent = await send(path)
  assert.ok(Date.parse(sent.header('Last-Modified')!) <= Date.now())
  assert.match(sent.header('ETag')!, /^W\//)
})

test('HEAD has the fields of GET, declares the length and leaves the file closed', async () => {
  for (const path of [text, large]) {
    const get = await send(path, { options: { cacheControl: 'no-cache' } })
    const count = await settledCount()
    const head = await send(path, { method: 'HEAD', headers: { range: 'bytes=0-1' }, options: { cacheControl: 'no-cache' } })
    // Fewer may be open: in one process with other tests, one of theirs may have been closed late.
    assert.ok((await settledCount()) <= count)
    assert.equal(head.status, 200)
    assert.equal(head.body, '')
    assert.equal(head.response.declaredLength, get.response.declaredLength)
    assert.deepEqual(head.response.fields, get.response.fields)
    assert.equal(head.response.type, get.response.type)
  }
})

test('a 304 has validators and Cache-Control, and no fields about a body', async () => {
  const etag = (await send(text)).header('ETag')!
  for (const method of ['GET', 'HEAD']) {
    const sent = await send(text, {
      method,
      headers: { 'if-none-match': `"other", ${etag}` },
      options: { cacheControl: 'max-age=60', download: true },
      before: (response) => response.contentType('text/x-own').header('Vary', 'Accept'),
    })
    assert.equal(sent.status, 304)
    assert.equal(sent.kind, 'none')
    assert.equal(sent.response.type, null)
    assert.deepEqual(sent.response.fields, ['Vary', 'Accept', 'Cache-Control', 'max-age=60', 'ETag', etag])
  }
})

test('a 304 without an ETag has Last-Modified', async () => {
  const sent = await send(text, { options: { etag: false }, headers: { 'if-modified-since': CHANGED } })
  assert.equal(sent.status, 304)
  assert.deepEqual(sent.response.fields, ['Last-Modified', CHANGED])
})

test('a failed condition is a 412 with a problem document, without the fields of the file', async () => {
  for (const [headers, detail] of [
    [{ 'if-match': '"other"' }, 'no tag in If-Match is that of the current state'],
    [{ 'if-unmodified-since': 'Sun, 06 Nov 1994 08:49:36 GMT' }, 'the current state is newer than If-Unmodified-Since'],
  ] as const) {
    const sent = await send(text, { headers, options: { cacheControl: 'immutable' } })
    assert.equal(sent.status, 412)
    assert.deepEqual(JSON.parse(sent.body), { title: 'Precondition Failed', status: 412, detail, code: 'WEIR_CONDITION_FAILED' })
    assert.equal(sent.header('Content-Type'), 'application/problem+json')
    assert.equal(sent.header('Cache-Control'), null)
  }
})

test('fields that the handler has set are kept, and count in conditions', async () => {
  const before = (response: OutgoingResponse): unknown =>
    response.header('etag', '"own"').header('last-modified', LATER).header('cache-control', 'private')
  const sent = await send(text, { before, options: { cacheControl: 'public' } })
  assert.equal(sent.header('ETag'), '"own"')
  assert.equal(sent.header('Last-Modified'), LATER)
  assert.equal(sent.header('Cache-Control'), 'private')
  assert.equal((await send(text, { before, headers: { 'if-none-match': '"own"' } })).status, 304)
  assert.equal((await send(text, { before, headers: { 'if-modified-since': CHANGED } })).status, 200)
  assert.equal((await send(text, { before, headers: { 'if-modified-since': LATER } })).status, 304)
  assert.equal((await send(text, { before, headers: { 'if-unmodified-since': CHANGED } })).status, 412)
  assert.equal((await send(text, { before, headers: { range: 'bytes=0-1', 'if-range': '"own"' } })).status, 206)
})

test('one range is 206 with Content-Range, from a small file and a large one', async () => {
  const sent = await send(text, { headers: { range: 'bytes=2-4' } })
  assert.equal(sent.status, 206)
  assert.equal(sent.body, '234')
  assert.equal(sent.header('Content-Range'), 'bytes 2-4/20')
  assert.equal(sent.header('Content-Type'), 'text/plain; charset=utf-8')
  assert.ok(sent.header('ETag'))
  const tail = await send(large, { headers: { range: `bytes=${READ_SIZE - 1}-` } })
  assert.equal(tail.header('Content-Range'), `bytes ${READ_SIZE - 1}-${LARGE.length - 1}/${LARGE.length}`)
  assert.equal(tail.body, LARGE.subarray(READ_SIZE - 1).toString('latin1'))
})

test('ranges that can be merged are sent as one', async () => {
  const sent = await send(text, { headers: { range: 'bytes=3-5,0-2' } })
  assert.equal(sent.status, 206)
  assert.equal(sent.header('Content-Range'), 'bytes 0-5/20')
  assert.equal(sent.body, TEXT.slice(0, 6))
})

test('several ranges are multipart/byteranges', async () => {
  const sent = await send(text, { headers: { range: 'bytes=-2,0-1,5-5' } })
  assert.equal(sent.status, 206)
  assert.equal(sent.header('Content-Range'), null)
  const [, boundary] = /^multipart\/byteranges; boundary=([\w-]+)$/.exec(sent.header('Content-Type')!)!
  const part = (range: string, bytes: string): string =>
    `--${boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes ${range}/20\r\n\r\n${bytes}\r\n`
  assert.equal(sent.body, `${part('18-19', 'ij')}${part('0-1', '01')}${part('5-5', '5')}--${boundary}--\r\n`)
})

test('several ranges of a large file are streamed, and the file is closed at the end', async () => {
  const count = await settledCount()
  const sent = await send(large, { headers: { range: 'bytes=0-99999,150000-' } })
  assert.equal(sent.kind, 'stream')
  assert.ok(sent.body.includes(`\r\n\r\n${LARGE.subarray(0, 100_000).toString('latin1')}\r\n--`))
  assert.ok(sent.body.includes(`\r\n\r\n${LARGE.subarray(150_000).toString('latin1')}\r\n--`))
  assert.equal(await settledCount(), count)
})

test('a range that the file does not have is a 416 with the size of the file', async () => {
  const sent = await send(text, { headers: { range: 'bytes=20-' }, options: { cacheControl: 'immutable' } })
  assert.equal(sent.status, 416)
  assert.deepEqual(sent.response.fields, ['Content-Range', 'bytes */20'])
  assert.equal(JSON.parse(sent.body).status, 416)
  assert.equal(sent.response.declaredLength, -1)
})

test('malformed ranges and too many ranges are ignored', async () => {
  for (const range of ['bytes=x', 'bytes=5-3', 'items=0-1', `bytes=${'0-0,'.repeat(10)}0-0`]) {
    const sent = await send(text, { headers: { range } })
    assert.equal(sent.status, 200, range)
    assert.equal(sent.body, TEXT)
  }
})

test('If-Range decides between the range and the whole file', async () => {
  const etag = (await send(text)).header('ETag')!
  const status = async (ifRange: string): Promise<number> =>
    (await send(text, { headers: { range: 'bytes=0-1', 'if-range': ifRange } })).status
  assert.equal(await status(etag), 206)
  assert.equal(await status(`W/${etag}`), 200)
  assert.equal(await status('"other"'), 200)
  assert.equal(await status(CHANGED), 206)
  assert.equal(await status(LATER), 200)
  // If the whole file is to be sent, a range after its end is not an error.
  assert.equal((await send(text, { headers: { range: 'bytes=99-', 'if-range': '"other"' } })).status, 200)
})

test('conditions are evaluated before ranges', async () => {
  const etag = (await send(text)).header('ETag')!
  assert.equal((await send(text, { headers: { range: 'bytes=99-', 'if-none-match': etag } })).status, 304)
  assert.equal((await send(text, { headers: { range: 'bytes=0-1', 'if-match': '"other"' } })).status, 412)
  assert.equal((await send(text, { headers: { range: 'bytes=0-1', 'if-match': etag } })).status, 206)
})

test('with another status or method, the file is sent without conditions and ranges', async () => {
  const headers = { range: 'bytes=0-1', 'if-none-match': '*', 'if-match': '"other"' }
  const asks: readonly Ask[] = [
    { headers, before: (response) => response.status(404) },
    { headers, method: 'POST' },
  ]
  for (const ask of asks) {
    const sent = await send(text, ask)
    assert.equal(sent.status, ask.method === 'POST' ? 200 : 404)
    assert.equal(sent.body, TEXT)
    assert.equal(sent.response.fields, null)
  }
})

test('anything but a regular file is a 404, and opening it does not block', async (context) => {
  mkdirSync(join(folder, 'directory'))
  symlinkSync('loop', join(folder, 'loop'))
  symlinkSync('gone', join(folder, 'dangling'))
  const paths = [
    '',
    folder,
    `${text}/`,
    `${text}/below`,
    ...['directory', 'none.txt', 'loop', 'dangling', 'a\0b', 'x'.repeat(300)].map((name) => join(folder, name)),
  ]
  if (process.platform !== 'win32') {
    execFileSync('mkfifo', [join(folder, 'fifo')])
    const socket = createServer().listen(join(folder, 'socket'))
    await new Promise((resolve) => socket.once('listening', resolve))
    context.after(() => socket.close())
    paths.push(join(folder, 'fifo'), join(folder, 'socket'), '/dev/null')
  }
  const count = await settledCount()
  for (const path of paths) {
    const sent = await send(path, { before: (response) => response.status(201).header('Cache-Control', 'immutable') })
    assert.equal(sent.status, 404, path)
    assert.deepEqual(JSON.parse(sent.body), { title: 'Not Found', status: 404 })
    assert.equal(sent.header('Cache-Control'), null)
  }
  assert.equal(await settledCount(), count)
})

test('a symbolic link is followed', async () => {
  symlinkSync(text, join(folder, 'link.txt'))
  assert.equal((await send(join(folder, 'link.txt'))).body, TEXT)
})

test('a file that may not be read is a 403 without its name', { skip: process.platform === 'win32' }, async (context) => {
  const path = file('secret.txt', 'x')
  chmodSync(path, 0)
  if (process.geteuid?.() === 0) {
    process.seteuid?.(65534) // root may read everything
    context.after(() => process.seteuid?.(0))
  }
  const sent = await send(path)
  assert.equal(sent.status, 403)
  assert.deepEqual(JSON.parse(sent.body), { title: 'Forbidden', status: 403 })
})

test('the file that is sent is the one that was described, even if another file takes its name', async () => {
  const path = file('swapped.bin', LARGE)
  const response = await prepared(path)
  renameSync(file('other.bin', 'short'), path)
  assert.equal(response.content.kind, 'stream')
  let length = 0
  if (response.content.kind === 'stream') for await (const chunk of response.content.source) length += chunk.length
  assert.equal(length, LARGE.length)
})

test('a file that grows is sent with the length that was declared', async () => {
  const path = file('growing.bin', LARGE)
  const response = await prepared(path)
  writeFileSync(path, 'more', { flag: 'a' })
  let length = 0
  if (response.content.kind === 'stream') for await (const chunk of response.content.source) length += chunk.length
  assert.equal(length, response.declaredLength)
})

test('an option that cannot be sent throws, and leaves no file open', async () => {
  const count = await settledCount()
  for (const options of [{ cacheControl: 'a\r\nb' }, { contentType: 'a\nb' }]) {
    await assert.rejects(prepared(large, { options }), { code: 'WEIR_RESPONSE_HEADER_SYNTAX' })
  }
  assert.equal(await settledCount(), count)
})

test('a hundred responses, read to the end, left early and unread, leave no file open', async () => {
  const count = await settledCount()
  for (let i = 0; i < 100; i++) {
    const { content } = await prepared(i % 2 === 0 ? large : text)
    if (content.kind !== 'stream') continue
    assert.ok(content.source instanceof FileSource)
    if (i % 3 === 0) content.source.destroy()
    else if (i % 3 === 1) for await (const _ of content.source) break
    else for await (const _ of content.source);
  }
  assert.equal(await settledCount(), count)
})

test('packages are loaded when a file first needs them', () => {
  const hook =
    "import { writeSync } from 'node:fs'; export const resolve = (name, context, next) => (writeSync(1, name + ' '), next(name, context))"
  const program = `
    import { register } from 'node:module'
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}))
    const { prepareFile } = await import(${JSON.stringify(import.meta.url.replace('file.test.', 'file.'))})
    const { OutgoingResponse } = await import(${JSON.stringify(import.meta.url.replace('files/file.test.', 'response/outgoing-response.'))})
    const fields = {}
    const send = () => prepareFile({ method: 'GET', header: (name) => fields[name] ?? null }, new OutgoingResponse(), { path: ${JSON.stringify(text)}, options: {} })
    console.log(' before')
    await send()
    console.log(' sent')
    fields['range'] = 'bytes=0-1'
    await send()`
  const [before, sent, asked] = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.split(' ').filter((name) => /^(?:mrmime|range-parser)$/.test(name)))
  assert.deepEqual([before, sent, asked], [[], ['mrmime'], ['range-parser']])
})
