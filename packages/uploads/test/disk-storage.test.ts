// The files of diskStorage, and what a crash at any point leaves of them.

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { smallDisk, temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { diskStorage, type UploadStorage } from '../src/index.ts'
import { newUploadId, type UploadRecord } from '../src/upload-record.ts'
import { recordOf } from './support/upload-record.ts'

const WHOLE = { isAtomic: false, hasTakenOver: false }
const ATOMIC = { isAtomic: true, hasTakenOver: false }

async function* bytesOf(...pieces: readonly (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece
    yield Buffer.from(piece)
  }
}

function made(t: TestContext): { storage: UploadStorage; directory: string } {
  const directory = join(temporaryDirectory(t), 'below', 'uploads')
  return { storage: diskStorage(directory, { sync: false }), directory }
}

async function offsetIn(storage: UploadStorage, { id }: UploadRecord): Promise<number | undefined> {
  return (await storage.load(id))?.offset
}

test('creates its directory, for this user only, and keeps what is appended', async (t) => {
  const directory = join(temporaryDirectory(t), 'below')
  const storage = diskStorage(directory) // with sync
  const record = recordOf({ length: 6 })
  assert.equal(await storage.load(record.id), null)
  await storage.create(record)
  assert.deepEqual(await storage.load(record.id), { record, offset: 0 })
  assert.equal(await storage.append(record, 0, bytesOf('abc', '', 'd'), WHOLE), 4)
  assert.equal(await storage.append(record, 4, bytesOf('ef'), WHOLE), 6)
  await storage.complete(record, 6)
  assert.equal(String(await buffer(storage.read(record))), 'abcdef')
  assert.equal(readFileSync(storage.locate(record), 'latin1'), 'abcdef')
  const listed: UploadRecord[] = []
  for await (const one of storage.list()) listed.push(one)
  assert.deepEqual(listed, [record])
  await storage.delete(record)
  await storage.delete(record)
  assert.deepEqual(readdirSync(directory), [])
})

/** How many files of a directory are open, and the directory itself. */
function openIn(directory: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory)
    } catch {
      return false // closed in the meantime
    }
  }).length
}

test('however many requests there are, few files are open', { skip: process.platform !== 'linux' }, async (t) => {
  const directory = join(temporaryDirectory(t), 'uploads')
  const storage = diskStorage(directory) // with sync
  const records = Array.from({ length: 100 }, () => recordOf({ length: 0 }))
  const works: readonly ((record: UploadRecord) => Promise<unknown>)[] = [
    (record) => storage.create(record),
    (record) => storage.load(record.id),
    (record) => storage.save(record),
    (record) => storage.complete(record, 0),
  ]
  for (const work of works) {
    let isOver = false
    const all = Promise.all(Array.from({ length: 4 }, () => records.map(work)).flat()).finally(() => (isOver = true))
    let most = 0
    for (; !isOver; await new Promise((resolve) => setImmediate(resolve))) most = Math.max(most, openIn(directory))
    await all
    assert.ok(most <= 32, `${most} files`)
  }
})

test('keeps what has arrived when the bytes break, unless they are to be verified', async (t) => {
  const { storage } = made(t)
  const record = recordOf()
  const broken = new Error('the client has left')
  await storage.create(record)
  await assert.rejects(storage.append(record, 0, bytesOf('abc', broken), WHOLE), broken)
  assert.equal(await offsetIn(storage, record), 3)
  await assert.rejects(storage.append(record, 3, bytesOf('def', broken), ATOMIC), broken)
  assert.equal(await offsetIn(storage, record), 3)
  assert.equal(await storage.append(record, 3, bytesOf('xyz'), ATOMIC), 6)
  assert.equal(await offsetIn(storage, record), 6)
})

test('bytes that are not verified yet do not count, even if the process dies', async (t) => {
  const { storage, directory } = made(t)
  const record = recordOf()
  await storage.create(record)
  await storage.append(record, 0, bytesOf('abc'), WHOLE)
  let seen: number | undefined
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('def')
    seen = await offsetIn(diskStorage(directory), record)
    // What is on the disk now is what a crash would leave.
    const crashed = join(directory, '..', 'crashed')
    mkdirSync(crashed)
    for (const name of readdirSync(directory)) writeFileSync(join(crashed, name), readFileSync(join(directory, name)))
    const after = diskStorage(crashed)
    assert.equal(await offsetIn(after, record), 3)
    assert.equal(await after.append(record, 3, bytesOf('XY'), WHOLE), 5)
    await after.complete(record, 5)
    assert.equal(readFileSync(after.locate(record), 'latin1'), 'abcXY')
    yield Buffer.from('ghi')
  }
  await storage.append(record, 3, slow(), ATOMIC)
  assert.equal(seen, 3)
  assert.equal(await offsetIn(storage, record), 9)
})

test('a writer that has lost its lock changes nothing any more', async (t) => {
  const { storage } = made(t)
  const record = recordOf({ length: 6 })
  await storage.create(record)
  await storage.append(record, 0, bytesOf('ab'), WHOLE)
  async function* stale(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('cd')
    await storage.append(record, 4, bytesOf('ef'), { isAtomic: false, hasTakenOver: true })
    yield Buffer.from('ZZZZZZ')
  }
  await storage.append(record, 2, stale(), WHOLE)
  await storage.complete(record, 6)
  assert.equal(readFileSync(storage.locate(record), 'latin1'), 'abcdef')
})

test('a record that was cut or changed is no upload', async (t) => {
  const { storage, directory } = made(t)
  const record = recordOf()
  await storage.create(record)
  const path = join(directory, `${record.id}.json`)
  const text = readFileSync(path, 'utf8')
  for (const changed of [
    '',
    'null',
    '[]',
    text.slice(0, -1),
    text.replace(/"length":null/, '"length":-1'),
    text.replace(/"stage":"open"/, '"stage":"x"'),
    text.replace(record.id, newUploadId()),
    text.replace(/"verifiedTo":null/, '"verifiedTo":"0"'),
    text.replace(/"keptAt":null/, '"keptAt":1'),
    text.replace(/"expiresAt":\d+/, '"expiresAt":1e300'),
  ]) {
    assert.notEqual(changed, text)
    writeFileSync(path, changed)
    assert.equal(await storage.load(record.id), null, changed)
    for await (const one of storage.list()) assert.fail(`listed ${one.id}`)
  }
})

test('a complete upload whose bytes were changed is no upload', async (t) => {
  const { storage } = made(t)
  const record = recordOf({ length: 3 })
  await storage.create(record)
  await storage.append(record, 0, bytesOf('abc'), WHOLE)
  await storage.save({ ...record, stage: 'received' })
  assert.equal(await offsetIn(storage, record), 3)
  writeFileSync(storage.locate(record), 'ab')
  assert.equal(await storage.load(record.id), null)
  await assert.rejects(storage.complete(record, 3), { code: 'WEIR_STORE_UNAVAILABLE' })
})

test('moves bytes to a place that is free, also again, and then leaves them alone', async (t) => {
  const { storage, directory } = made(t)
  const record = recordOf({ length: 3 })
  const place = (name: string): string => join(directory, '..', name)
  await storage.create(record)
  await storage.append(record, 0, bytesOf('abc'), WHOLE)
  writeFileSync(place('taken'), 'mine')
  await assert.rejects(storage.moveTo(record, place('taken')), { code: 'EEXIST' })
  assert.equal(readFileSync(place('taken'), 'utf8'), 'mine')
  await storage.moveTo(record, place('first'))
  await storage.moveTo({ ...record, keptAt: place('first') }, place('second'))
  // After a crash, the record has the target although nothing was moved there.
  await storage.moveTo({ ...record, keptAt: place('second') }, place('third'))
  assert.equal(readFileSync(place('third'), 'utf8'), 'abc')
  await storage.delete({ ...record, keptAt: place('third') })
  assert.deepEqual(readdirSync(directory), [])
  assert.equal(readFileSync(place('third'), 'utf8'), 'abc')
})

test('bytes that the program keeps where they are stay', async (t) => {
  const { storage, directory } = made(t)
  const record = recordOf({ length: 3 })
  await storage.create(record)
  await storage.append(record, 0, bytesOf('abc'), WHOLE)
  await storage.delete({ ...record, keptAt: storage.locate(record) })
  await storage.sweep!(Date.now() + 1e6)
  assert.deepEqual(readdirSync(directory), [`${record.id}.bin`])
})

test('sweeps what crashes have left, and nothing else', async (t) => {
  const { storage, directory } = made(t)
  const record = recordOf()
  await storage.create(record)
  const old = join(directory, `${record.id}.json.${newUploadId()}.tmp`)
  writeFileSync(old, '')
  utimesSync(old, 1, 1)
  writeFileSync(join(directory, `${record.id}.bin.${newUploadId()}.tmp`), '')
  writeFileSync(join(directory, 'of-others.tmp'), '')
  await storage.sweep!(Date.now() - 60_000)
  assert.equal(readdirSync(directory).length, 3)
  await storage.sweep!(Date.now() + 60_000)
  assert.deepEqual(readdirSync(directory).sort(), [`${record.id}.json`, 'of-others.tmp'].sort())
})

test('takes no other id than its own', async (t) => {
  const { storage } = made(t)
  for (const id of ['', '..', '../x', 'a/b', `${'A'.repeat(31)}/`, `${'A'.repeat(32)}\n`]) {
    assert.equal(await storage.load(id), null)
    await assert.rejects(storage.delete(recordOf({ id })), { code: 'WEIR_OPTION_INVALID' })
  }
})

test('whatever appends break where, the bytes are those that counted', async (t) => {
  const { storage } = made(t)
  const piece = fc.string({ minLength: 1, maxLength: 9, unit: 'grapheme-ascii' })
  const append = fc.record({
    pieces: fc.array(piece, { maxLength: 4 }),
    breaks: fc.boolean(),
    isAtomic: fc.boolean(),
    hasTakenOver: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(append, { maxLength: 6 }), async (appends) => {
      const record = recordOf()
      await storage.create(record)
      let expected = ''
      for (const { pieces, breaks, isAtomic, hasTakenOver } of appends) {
        const bytes = breaks ? bytesOf(...pieces, new Error('broken')) : bytesOf(...pieces)
        const appended = storage.append(record, expected.length, bytes, { isAtomic, hasTakenOver })
        if (!breaks || !isAtomic) expected += pieces.join('')
        if (breaks) await assert.rejects(appended, /broken/)
        else assert.equal(await appended, expected.length)
        assert.equal(await offsetIn(storage, record), expected.length)
      }
      await storage.complete(record, expected.length)
      assert.equal(readFileSync(storage.locate(record), 'latin1'), expected)
      await storage.delete(record)
    }),
    { numRuns: 60 },
  )
})

test('moves bytes to another file system', async (t) => {
  const other = smallDisk(t, 1024)
  if (other === null) return t.skip('this process may not mount disks')
  const { storage, directory } = made(t)
  const record = recordOf({ length: 3 })
  await storage.create(record)
  await storage.append(record, 0, bytesOf('abc'), WHOLE)
  await storage.moveTo(record, join(other, 'a'))
  assert.equal(readFileSync(join(other, 'a'), 'utf8'), 'abc')
  assert.deepEqual(readdirSync(directory), [`${record.id}.json`])
})

test('a full disk breaks an append, and what fits is kept', async (t) => {
  const directory = smallDisk(t, 64)
  if (directory === null) return t.skip('this process may not mount disks')
  const storage = diskStorage(directory, { sync: false })
  const record = recordOf()
  await storage.create(record)
  await assert.rejects(storage.append(record, 0, bytesOf('a'.repeat(20_000), 'b'.repeat(80_000)), WHOLE), { code: 'ENOSPC' })
  const offset = (await offsetIn(storage, record))!
  assert.ok(offset >= 20_000 && offset < 100_000, String(offset))
})
