// Small files that are sent from memory: what a client gets must be what it would get from the disk.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { OutgoingResponse } from '../response/outgoing-response.ts'
import { prepareFile } from './file.ts'
import { READ_SIZE } from './file-source.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-recent-'))
after(() => rmSync(folder, { recursive: true }))

const CHANGED = new Date('1994-11-06T08:49:37Z')
let files = 0

/** A file that was changed long ago. */
function fileWith(content: string | Uint8Array, path = join(folder, `${++files}.txt`)): string {
  writeFileSync(path, content)
  utimesSync(path, CHANGED, CHANGED)
  return path
}

async function send(path: string, method = 'GET', headers: Readonly<Record<string, string>> = {}): Promise<OutgoingResponse> {
  const response = new OutgoingResponse()
  await prepareFile({ method, header: (name) => headers[name] ?? null }, response, { path, options: { cacheControl: 'no-cache' } })
  return response
}

async function sentBytes(path: string): Promise<Uint8Array | null> {
  const { content } = await send(path)
  return content.kind === 'bytes' ? content.bytes : null
}

/** Where the bytes are. */
const memoryOf = async (path: string): Promise<unknown> => (await sentBytes(path))!.buffer

const textOf = async (path: string): Promise<string | null> => {
  const bytes = await sentBytes(path)
  return bytes === null ? null : Buffer.from(bytes).toString()
}

test('a small file that has not changed is sent from memory', async () => {
  const path = fileWith('from the disk')
  const first = await memoryOf(path)
  assert.equal(await memoryOf(path), first)
})

test('a larger file is not', async () => {
  const path = fileWith(Buffer.alloc(READ_SIZE + 1))
  await send(path)
  const { content } = await send(path)
  assert.equal(content.kind, 'stream')
  if (content.kind === 'stream') for await (const _ of content.source);
})

test('a file that has just changed is read each time, because the next change might not show', async () => {
  const path = join(folder, 'new.txt')
  writeFileSync(path, 'one')
  const first = await memoryOf(path)
  assert.notEqual(await memoryOf(path), first)
})

const CHANGES: readonly (readonly [what: string, change: (path: string) => void, text: string | null])[] = [
  ['is overwritten', (path) => void fileWith('another text', path), 'another text'],
  ['is overwritten with as many bytes, and its time set back', (path) => void fileWith('two', path), 'two'],
  ['is replaced', (path) => renameSync(fileWith('two'), path), 'two'],
  ['is deleted', (path) => unlinkSync(path), null],
  [
    'becomes a directory',
    (path) => {
      unlinkSync(path)
      mkdirSync(path)
    },
    null,
  ],
  [
    'becomes a link to another file',
    (path) => {
      const other = fileWith('two')
      unlinkSync(path)
      symlinkSync(other, path)
    },
    'two',
  ],
]
for (const [what, change, text] of CHANGES) {
  test(`a file that ${what} is sent as it is now`, { skip: process.platform === 'win32' }, async () => {
    const path = fileWith('one')
    assert.equal(await textOf(path), 'one')
    const { ctimeNs } = statSync(path, { bigint: true })
    // The clock of a file system may stand still for some milliseconds.
    do change(path)
    while (text !== null && statSync(path, { bigint: true }).ctimeNs === ctimeNs)
    assert.equal(await textOf(path), text)
    assert.equal(await textOf(path), text)
    if (text === null) assert.equal((await send(path)).statusCode, 404)
  })
}

test('conditions, ranges and HEAD mean the same as for a file on the disk', async () => {
  const path = fileWith('0123456789')
  const etag = (await send(path, 'HEAD')).getHeader('ETag')!
  const asks: readonly (readonly [method: string, headers: Readonly<Record<string, string>>])[] = [
    ['GET', {}],
    ['HEAD', {}],
    ['POST', { range: 'bytes=0-1' }],
    ['GET', { range: 'bytes=2-4' }],
    ['GET', { range: 'bytes=0-' }],
    ['GET', { range: 'bytes=99-' }],
    ['HEAD', { range: 'bytes=2-4' }],
    ['GET', { 'if-none-match': etag }],
    ['GET', { 'if-match': '"other"' }],
    ['GET', { 'if-modified-since': CHANGED.toUTCString() }],
    ['GET', { range: 'bytes=2-4', 'if-range': etag }],
    ['GET', { range: 'bytes=2-4', 'if-range': '"other"' }],
  ]
  const shown = ({ statusCode, fields, type, content, declaredLength }: OutgoingResponse): unknown => [
    ...[statusCode, fields, type, declaredLength, content.kind],
    content.kind === 'bytes' ? Buffer.from(content.bytes).toString() : null,
  ]
  for (const [method, headers] of asks) {
    const other = fileWith('0123456789')
    const fromDisk = shown(await send(other, method, headers))
    await send(other)
    assert.deepEqual(shown(await send(other, method, headers)), fromDisk, `${method} ${JSON.stringify(headers)}`)
  }
  const several = { range: 'bytes=0-1,5-6' }
  await send(path)
  const parts = await send(path, 'GET', several)
  assert.equal(parts.statusCode, 206)
  assert.ok(parts.content.kind === 'bytes' && /\r\n\r\n01\r\n--[\s\S]*\r\n\r\n56\r\n--/.test(Buffer.from(parts.content.bytes).toString()))
})

test('files take a bounded part of the memory: the last ones stay', async () => {
  const paths = Array.from({ length: 140 }, () => fileWith(Buffer.alloc(READ_SIZE)))
  const sent: unknown[] = []
  for (const path of paths) sent.push(await memoryOf(path))
  assert.equal(await memoryOf(paths.at(-1)!), sent.at(-1))
  assert.notEqual(await memoryOf(paths[0]!), sent[0])
})
