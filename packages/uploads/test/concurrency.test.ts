// Clients that lose their connections, come back, and get in each other's way; and those that mean harm.

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect, type TestClient } from '../../weirjs/src/testing/index.ts'
import { settled } from '../../weirjs/src/testing/test-clock.ts'
import { eventually, gate } from '../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { BYTES_TYPE, codeOf, over, type Uploading, uploading } from '../../weirjs/test/support/uploading.ts'
import { diskStorage, memoryLocks } from '../src/index.ts'
import { newUploadId } from '../src/upload-record.ts'

/** Sends the head of a PATCH, and the beginning of its body. */
async function begin(client: TestClient, url: string, offset: number, length: number, first: string, more = ''): Promise<void> {
  await client.send(
    `PATCH ${url} HTTP/1.1\r\nHost: a\r\nTus-Resumable: 1.0.0\r\nContent-Type: ${BYTES_TYPE}\r\n` +
      `Upload-Offset: ${offset}\r\nContent-Length: ${length}\r\n${more}\r\n${first}`,
  )
}

/** Waits until so many bytes of an upload are in its file. */
function written({ directory }: Uploading, url: string, size: number): Promise<void> {
  const path = join(directory, `${url.slice('/files/'.length)}.bin`)
  const sizeNow = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
  return eventually(() => sizeNow() === size, `a file with ${size} bytes`)
}

async function offsetOf({ tus }: Uploading, url: string, headers = {}): Promise<string | null> {
  return (await tus('HEAD', url, headers)).headers.get('upload-offset')
}

test('what has arrived before the connection broke is kept', async (t) => {
  const up = uploading(t)
  const url = await up.create(10)
  for (const leave of ['abort', 'reset'] as const) {
    const client = connect(up.server)
    const before = Number(await offsetOf(up, url))
    await begin(client, url, before, 10 - before, 'abc')
    await written(up, url, before + 3)
    client[leave]()
    assert.equal(Number(await offsetOf(up, url)), before + 3)
  }
  assert.equal((await up.tus('PATCH', url, { 'Upload-Offset': 6 }, 'wxyz')).status, 204)
  assert.equal(up.received[0]?.text, 'abcabcwxyz')
})

test('a client that comes back continues, although the server waits for its first connection', async (t) => {
  const up = uploading(t)
  const url = await up.create(10)
  await using hanging = connect(up.server)
  await begin(hanging, url, 0, 10, 'abc')
  await written(up, url, 3)
  assert.equal(await offsetOf(up, url), '3')
  const response = await hanging.answer()
  assert.deepEqual([response.status, codeOf(response)], [409, 'WEIR_UPLOAD_SUPERSEDED'])
  await using second = connect(up.server)
  await begin(second, url, 3, 7, 'def')
  await written(up, url, 6)
  const third = await up.tus('PATCH', url, { 'Upload-Offset': 6 }, 'ghij')
  assert.equal(third.status, 204)
  assert.equal(up.received[0]?.text, 'abcdefghij')
})

test('many requests at once append each byte once', async (t) => {
  const up = uploading(t)
  const url = await up.create(20)
  const responses = await Promise.all(Array.from({ length: 8 }, () => up.tus('PATCH', url, { 'Upload-Offset': 0 }, 'x'.repeat(10))))
  assert.ok(responses.every(({ status }) => status === 204 || status === 409))
  const offset = Number(await offsetOf(up, url))
  assert.ok(offset <= 10)
  await up.tus('PATCH', url, { 'Upload-Offset': offset }, 'y'.repeat(20 - offset))
  assert.equal(up.received[0]?.text, 'x'.repeat(offset) + 'y'.repeat(20 - offset))
})

test('DELETE ends a request that appends', async (t) => {
  const up = uploading(t)
  const url = await up.create(10)
  await using hanging = connect(up.server)
  await begin(hanging, url, 0, 10, 'abc')
  await written(up, url, 3)
  assert.equal((await up.tus('DELETE', url)).status, 204)
  assert.equal((await hanging.answer()).status, 409)
  assert.deepEqual(up.files(), [])
})

test('an upload belongs to the principal that has created it', async (t) => {
  const up = uploading(t)
  const url = await up.create(10, { 'X-User': 'ann' })
  await using hanging = connect(up.server)
  await begin(hanging, url, 0, 10, 'abc', 'X-User: ann\r\n')
  await written(up, url, 3)
  for (const who of [{ 'X-User': 'bob' }, {}]) {
    for (const [method, headers] of [
      ['HEAD', {}],
      ['PATCH', { 'Upload-Offset': 3, 'Content-Type': BYTES_TYPE }],
      ['DELETE', {}],
    ] as const)
      assert.equal((await up.tus(method, url, { ...headers, ...who })).status, 404)
    const final = await up.tus('POST', '/files', { 'Upload-Concat': `final;${url}`, ...who })
    assert.equal(final.status, 404)
  }
  // Nobody has interrupted ann, whose request is still there.
  await hanging.send('defghij')
  assert.equal((await hanging.answer()).status, 204)
  assert.equal(up.received[0]?.text, 'abcdefghij')
})

test('nothing but an id reaches the storage', async (t) => {
  const up = uploading(t)
  for (const id of [
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e',
    `${'A'.repeat(32)}.json`,
    'A'.repeat(31),
    'A'.repeat(33),
    '%00'.repeat(8),
    'é',
    'a\\b',
  ])
    for (const method of ['HEAD', 'DELETE']) assert.ok([400, 404].includes((await up.tus(method, `/files/${id}`)).status), id)
  assert.deepEqual(up.files(), [])
})

test('an upload of unknown length cannot grow beyond the limit, nor another beyond its length', async (t) => {
  for (const [length, status] of [
    [null, 413],
    [8, 400],
  ] as const) {
    const up = uploading(t, { maxSize: 10 })
    const created = await up.tus('POST', '/files', length === null ? { 'Upload-Defer-Length': 1 } : { 'Upload-Length': length })
    const url = created.headers.get('location')!
    await using client = connect(up.server)
    async function* pieces(): AsyncGenerator<string> {
      for (let i = 0; i < 20; i++) yield 'abc'
    }
    const headers = { 'Tus-Resumable': '1.0.0', 'Content-Type': BYTES_TYPE, 'Upload-Offset': 0 }
    const response = await client.request({ method: 'PATCH', url, headers, body: pieces() })
    assert.equal(response.status, status)
    assert.deepEqual(up.files(), [])
    assert.equal(up.received.length, 0)
  }
})

test('a client has so many unfinished uploads, and so many bytes', async (t) => {
  const up = uploading(t, { maxOpenUploads: 3, maxSize: 100, maxOpenSize: 250 })
  const create = (length: number, user: string): ReturnType<Uploading['tus']> =>
    up.tus('POST', '/files', { 'Upload-Length': length, 'X-User': user })
  assert.deepEqual([(await create(100, 'ann')).status, (await create(100, 'ann')).status], [201, 201])
  const tooLarge = await create(51, 'ann')
  assert.deepEqual([tooLarge.status, (tooLarge.json() as { limit: string }).limit], [429, 'maxOpenSize'])
  const third = await create(1, 'ann')
  const tooMany = await create(1, 'ann')
  assert.deepEqual([tooMany.status, (tooMany.json() as { limit: string }).limit], [429, 'maxOpenUploads'])
  assert.equal((await create(100, 'bob')).status, 201)
  const url = third.headers.get('location')!
  await up.tus('PATCH', url, { 'Upload-Offset': 0, 'X-User': 'ann' }, 'x')
  assert.equal((await create(1, 'ann')).status, 201)
  assert.equal((await up.tus('POST', '/files', { 'Upload-Length': 101 })).status, 413)
  assert.equal((await up.tus('POST', '/files', { 'Upload-Length': 1, 'Upload-Metadata': `a ${'A'.repeat(4096)}` })).status, 413)
})

test('a stop ends requests that append, and keeps what has arrived', async (t) => {
  const up = uploading(t)
  await up.server.start()
  const url = await up.create(10)
  await using hanging = connect(up.server)
  await begin(hanging, url, 0, 10, 'abc')
  await written(up, url, 3)
  await up.server.stop({ graceMs: 5_000 })
  const response = await hanging.answer()
  assert.deepEqual([response.status, codeOf(response)], [503, 'WEIR_SERVER_STOPPED'])
  assert.equal(await offsetOf(up, url), '3')
})

test('a request that was asked to stop before it began does so', async (t) => {
  const locks = memoryLocks()
  const disk = diskStorage(temporaryDirectory(t), { sync: false })
  const looks: (() => void)[] = []
  let acquired = 0
  let isSlow = false
  const up = uploading(t, {
    storage: over(disk, {
      async load(id) {
        if (isSlow && acquired === 1) await new Promise<void>((resolve) => looks.push(resolve))
        return disk.load(id)
      },
    }),
    locks: {
      acquire(...args) {
        acquired++
        return locks.acquire(...args)
      },
    },
  })
  const url = await up.create(10)
  isSlow = true
  await using first = connect(up.server)
  await begin(first, url, 0, 10, 'abc')
  await eventually(() => looks.length === 1, 'a look at the upload by the holder of its lock')
  isSlow = false
  const { running } = up.clock
  const status = up.tus('HEAD', url)
  await eventually(() => up.clock.running > running, 'a second request that waits')
  await new Promise((resolve) => setImmediate(resolve))
  looks[0]!()
  assert.equal((await first.answer()).status, 409)
  assert.equal((await status).status, 204)
})

for (const when of ['while it waits for the storage', 'while it is stored'])
  for (const size of [10, 200_000])
    test(`a request whose ${size} bytes are all there is not ended by another, ${when}`, async (t) => {
      const disk = diskStorage(temporaryDirectory(t), { sync: false })
      const slow = gate()
      const reached = gate()
      const received: number[] = []
      let hasWaited = false
      const hold = async (): Promise<void> => {
        if (hasWaited) return
        hasWaited = true
        reached.open()
        await slow.promise
      }
      const up = uploading(t, {
        storage: over(disk, {
          async append(record, offset, bytes, how) {
            if (when === 'while it waits for the storage') await hold()
            async function* slowly(): AsyncGenerator<Uint8Array> {
              for await (const piece of bytes) {
                await hold()
                yield piece
              }
            }
            return disk.append(record, offset, slowly(), how)
          },
        }),
        onComplete: (upload) => void received.push(upload.size),
      })
      const url = await up.create(size)
      await using first = connect(up.server)
      const sent = begin(first, url, 0, size, 'x'.repeat(size)) // the server does not read all of it yet
      await reached.promise
      const status = up.tus('HEAD', url)
      await settled()
      slow.open()
      await sent
      assert.equal((await first.answer()).status, 204)
      assert.equal((await status).headers.get('upload-offset'), String(size))
      assert.deepEqual(received, [size])
    })

const MORE_BYTES = 1024 * 1024

for (const [more, status] of [
  [MORE_BYTES, 204],
  [MORE_BYTES + 1, 409],
  [8 * MORE_BYTES, 409],
] as const)
  test(`a request that has ${more} bytes more when another asks for the upload gets ${status}`, async (t) => {
    const disk = diskStorage(temporaryDirectory(t), { sync: false })
    const slow = gate()
    const reached = gate()
    const up = uploading(t, {
      maxSize: 16 * MORE_BYTES,
      storage: over(disk, {
        append(record, offset, bytes, how) {
          async function* slowly(): AsyncGenerator<Uint8Array> {
            for await (const piece of bytes) {
              reached.open()
              await slow.promise
              yield piece
            }
          }
          return disk.append(record, offset, slowly(), how)
        },
      }),
    })
    const size = 10 + more
    const url = await up.create(size)
    await using first = connect(up.server)
    await begin(first, url, 0, size, 'x'.repeat(10))
    await reached.promise
    const sent = first.send('y'.repeat(more)) // the server reads it as it goes on
    const { running } = up.clock
    const asked = up.tus('HEAD', url)
    await eventually(() => up.clock.running > running, 'a second request that waits')
    await new Promise((resolve) => setImmediate(resolve))
    slow.open()
    const offset = Number((await asked).headers.get('upload-offset'))
    if (status === 204) assert.equal(offset, size)
    else assert.ok(offset > 10 && offset <= 10 + MORE_BYTES, `${offset} bytes`)
    assert.equal((await first.answer()).status, status)
    await sent.catch(() => {})
  })

test('a creation that breaks leaves nothing, unless its client may know where the upload is', async (t) => {
  const up = uploading(t)
  const draft = 'Upload-Complete: ?1\r\n'
  for (const [fields, isKept] of [
    [`Tus-Resumable: 1.0.0\r\nContent-Type: ${BYTES_TYPE}\r\nUpload-Length: 10\r\n`, false],
    [draft, false],
    [`${draft}Upload-Draft-Interop-Version: 8\r\n`, true],
  ] as const) {
    const client = connect(up.server)
    await client.send(`POST /files HTTP/1.1\r\nHost: a\r\n${fields}Content-Length: 10\r\n\r\nabc`)
    const bytes = (): string | undefined => up.files().find((name) => name.endsWith('.bin'))
    await eventually(() => statSync(join(up.directory, bytes() ?? ''), { throwIfNoEntry: false })?.size === 3, 'a file with 3 bytes')
    client.abort()
    if (!isKept) await eventually(() => up.files().length === 0, 'an empty directory')
    else assert.equal(await offsetOf(up, `/files/${bytes()!.slice(0, -'.bin'.length)}`), '3')
  }
})

test('a client that asks for many uploads makes others wait for one turn, not for all of its requests', async (t) => {
  const disk = diskStorage(temporaryDirectory(t), { sync: false })
  const loads: (() => void)[] = []
  const own = newUploadId()
  let turnOfOwn = -1
  let ended = 0
  const storage = over(disk, {
    async load(id) {
      if (id === own) turnOfOwn = ended
      await new Promise<void>((resolve) => loads.push(resolve))
      ended++
      return null
    },
  })
  const { server } = uploading(t, { storage })
  const ask = (id: string, address: string): Promise<unknown> =>
    server.inject({ method: 'HEAD', url: `/files/${id}`, headers: { 'Tus-Resumable': '1.0.0' }, peer: { address } })
  const all = Array.from({ length: 1_000 }, () => ask(newUploadId(), '192.0.2.1'))
  await eventually(() => loads.length > 0, 'the first look')
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  const atOnce = loads.length
  all.push(ask(own, '192.0.2.2'))
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  let isOver = false
  void Promise.all(all).then(() => (isOver = true))
  while (!isOver) {
    loads.shift()?.()
    await new Promise(setImmediate)
  }
  assert.ok(atOnce <= 64, `${atOnce} at once`)
  assert.ok(turnOfOwn >= 0 && turnOfOwn <= 2, `after ${turnOfOwn} others`)
})
