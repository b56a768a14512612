import assert from 'node:assert/strict'
import { constants, mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { OpenFile } from '../disk/open-file.ts'
import { type FilePiece, FileSource, READ_SIZE } from './file-source.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-file-source-'))
after(() => rmSync(folder, { recursive: true }))

const CONTENT = Buffer.from(Array.from({ length: 2 * READ_SIZE + 1000 }, (_, i) => (i * 31) >> 3))
const WHOLE = { start: 0, end: CONTENT.length - 1 }
let files = 0

async function opened(pieces: readonly FilePiece[]): Promise<{ path: string; file: OpenFile; source: FileSource }> {
  const path = join(folder, `${++files}`)
  writeFileSync(path, CONTENT)
  const file = await OpenFile.open(path, constants.O_RDONLY)
  return { path, file, source: new FileSource(file, pieces) }
}

/** Whether this process still has `path` open. Without /proc, `file` is trusted. */
function isOpen(path: string, file: OpenFile): boolean {
  if (process.platform !== 'linux') return !file.isClosed
  return readdirSync('/proc/self/fd').some((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path
    } catch {
      return false
    }
  })
}

/** Waits until the file is closed: closing goes through the thread pool. */
async function closed(path: string, file: OpenFile): Promise<void> {
  for (let i = 0; i < 1_000 && isOpen(path, file); i++) await new Promise((resolve) => setTimeout(resolve, 1))
  assert.equal(isOpen(path, file), false)
}

test('a source yields all bytes in order, in pieces of at most 64 KiB, and closes the file', async () => {
  const { path, file, source } = await opened([WHOLE])
  const chunks: Uint8Array[] = []
  for await (const chunk of source) chunks.push(chunk)
  assert.deepEqual(
    chunks.map((chunk) => chunk.length),
    [READ_SIZE, READ_SIZE, 1000],
  )
  assert.ok(Buffer.concat(chunks).equals(CONTENT))
  assert.equal(isOpen(path, file), false)
})

test('a source yields ranges and the bytes between them in order', async () => {
  const ranges: FilePiece[] = [Buffer.from('<'), { start: 70_000, end: 70_009 }, Buffer.from('>'), { start: 5, end: 5 }]
  const { source } = await opened(ranges)
  const expected = Buffer.concat([Buffer.from('<'), CONTENT.subarray(70_000, 70_010), Buffer.from('>'), CONTENT.subarray(5, 6)])
  assert.ok(expected.equals(await source.collect()))
})

test('each chunk has its own memory', async () => {
  const { source } = await opened([WHOLE])
  const first = (await source.next()).value!
  const copy = Buffer.from(first)
  const second = (await source.next()).value!
  assert.notEqual(first.buffer, second.buffer)
  assert.ok(copy.equals(first))
  source.destroy()
})

test('the file is closed after the last byte, even if the reader does not continue', async () => {
  const { path, file, source } = await opened([{ start: 0, end: 9 }])
  assert.equal((await source.next()).value!.length, 10)
  await closed(path, file)
  assert.equal((await source.next()).done, true)
})

test('the file is closed when the reader leaves', async () => {
  const { path, file, source } = await opened([WHOLE])
  for await (const chunk of source) {
    assert.equal(chunk.length, READ_SIZE)
    break
  }
  assert.equal(isOpen(path, file), false)
  assert.equal((await source.next()).done, true)
})

test('the file is closed when the reader leaves before the first byte', async () => {
  const { path, file, source } = await opened([WHOLE])
  await source[Symbol.asyncIterator]().return()
  assert.equal(isOpen(path, file), false)
})

test('the file is closed when the source is destroyed unread', async () => {
  const { path, file, source } = await opened([WHOLE])
  source.destroy()
  source.destroy()
  await closed(path, file)
  await assert.rejects(source.next(), /closed before all of it was read/)
})

test('a source that is destroyed during a read closes the file after that read, and never looks complete', async () => {
  const { path, file, source } = await opened([WHOLE])
  const read = source.next()
  source.destroy()
  assert.equal((await read).value!.length, READ_SIZE)
  await closed(path, file)
  await assert.rejects(source.next(), /closed before all of it was read/)
})

test('a file that became shorter makes every further read fail, and is closed', async () => {
  const { path, file, source } = await opened([WHOLE])
  await source.next()
  truncateSync(path, READ_SIZE + 10)
  await assert.rejects(source.next(), { code: 'WEIR_RESPONSE_LENGTH' })
  assert.equal(isOpen(path, file), false)
  await assert.rejects(source.next())
})

test('a failure of the last read does not look like the end', async () => {
  const { path, source } = await opened([{ start: 0, end: 9 }])
  truncateSync(path, 5)
  await assert.rejects(source.next(), { code: 'WEIR_RESPONSE_LENGTH' })
  await assert.rejects(source.next())
})

test('a failing read makes the source fail', async () => {
  const file = await OpenFile.open(folder, constants.O_RDONLY) // reading a directory: EISDIR
  const source = new FileSource(file, [{ start: 0, end: 9 }])
  await assert.rejects(source.collect(), { code: 'EISDIR' })
  assert.equal(file.isClosed, true)
})

test('short reads are put together', async () => {
  let closes = 0
  const file = {
    read: async (bytes: Buffer, offset: number, length: number, position: number) =>
      CONTENT.copy(bytes, offset, position, position + Math.min(7, length)),
    close: async () => {
      closes++
    },
  } as unknown as OpenFile
  const bytes = await new FileSource(file, [{ start: 3, end: 102 }]).collect()
  assert.ok(CONTENT.subarray(3, 103).equals(bytes))
  assert.equal(closes, 1)
})

test('Node can turn a source into a Readable, and destroying that closes the file', async () => {
  const { path, file, source } = await opened([WHOLE])
  const readable = Readable.from(source)
  for await (const chunk of readable) {
    assert.equal(chunk.length, READ_SIZE)
    break
  }
  await closed(path, file)
})
