// Requests for one upload at the same time, over real connections: no byte is lost, none counts twice, and each request learns what became of it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { HttpServer } from '../../weirjs/src/index.ts'
import { TestClock } from '../../weirjs/src/testing/index.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { BYTES_TYPE } from '../../weirjs/test/support/uploading.ts'
import { diskStorage, uploads } from '../src/index.ts'

const SIZE = 200_000
const PIECE = 10_000
const ROUNDS = 20

interface Outcome {
  readonly status: number
  readonly offset: number
}

async function serving(t: TestContext) {
  const directory = temporaryDirectory(t)
  const clock = new TestClock()
  const whole: Buffer[] = []
  const failures: unknown[] = []
  const server = new HttpServer({ port: 0, address: '127.0.0.1', logger: { error: (_, error) => void failures.push(error) } })
  const storage = diskStorage(directory, { sync: false })
  server.use(uploads('/files', { storage, clock, onComplete: ({ path }) => void whole.push(readFileSync(path)) }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const open = (method: string, path: string, headers: Readonly<Record<string, string | number>>): ClientRequest =>
    request({ port: server.port, host: '127.0.0.1', method, path, agent: false, headers: { 'Tus-Resumable': '1.0.0', ...headers } })
  const ask = async (method: string, path: string, headers: Readonly<Record<string, string | number>> = {}): Promise<IncomingMessage> => {
    const sent = open(method, path, { 'Content-Length': 0, ...headers })
    sent.end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response.resume()
  }
  /**
   * Sends what is left of `content` in pieces, each in a turn of its own.
   * @param halfway waited for when half of it was sent
   */
  const patch = (url: string, offset: number, content: Buffer, halfway?: () => Promise<unknown>): Promise<Outcome> =>
    new Promise((resolve, reject) => {
      const sent = open('PATCH', url, { 'Content-Type': BYTES_TYPE, 'Upload-Offset': offset, 'Content-Length': content.length - offset })
      let isAnswered = false
      sent.on('response', (response) => {
        isAnswered = true
        response.resume()
        resolve({ status: response.statusCode!, offset: Number(response.headers['upload-offset']) })
      })
      // The rest of a body that is refused has nobody who reads it.
      sent.on('error', (error) => (isAnswered ? undefined : reject(error)))
      let at = offset
      let wait = halfway
      const next = (): void => {
        if (wait !== undefined && at - offset >= (content.length - offset) / 2) {
          const waiting = wait()
          wait = undefined
          return void waiting.then(next, reject)
        }
        if (isAnswered || at >= content.length) return void sent.end()
        sent.write(content.subarray(at, (at += PIECE)))
        setImmediate(next)
      }
      next()
    })
  const create = async (): Promise<string> => (await ask('POST', '/files', { 'Upload-Length': SIZE })).headers.location!
  const offsetOf = async (url: string): Promise<number> => Number((await ask('HEAD', url)).headers['upload-offset'])
  return { directory, clock, whole, failures, ask, patch, create, offsetOf }
}

const filled = (text: string): Buffer => Buffer.alloc(SIZE, text)

test('two PATCHes at one offset: the bytes are those of one of them', async (t) => {
  const { whole, failures, patch, create, offsetOf } = await serving(t)
  for (let i = 0; i < ROUNDS; i++) {
    const url = await create()
    const writers = ['a', 'b', 'c'].map(filled)
    const responses = await Promise.all(writers.map((content) => patch(url, 0, content)))
    for (const { status } of responses) assert.ok(status === 204 || status === 409, `${status}`)
    const offset = await offsetOf(url)
    assert.ok(responses.filter(({ status }) => status === 204).length <= 1, 'one of them appends all')
    if (offset < SIZE) assert.equal((await patch(url, offset, filled('z'))).status, 204)
    const bytes = whole[i]!
    assert.equal(bytes.length, SIZE)
    const [first] = bytes
    assert.ok(
      bytes.subarray(0, offset).every((byte) => byte === first),
      'not of two',
    )
    assert.ok(bytes.subarray(offset).every((byte) => byte === 0x7a))
  }
  assert.equal(whole.length, ROUNDS)
  assert.deepEqual(failures, [])
})

test('HEAD while a PATCH appends: its offset is where the next one goes on', async (t) => {
  const { whole, failures, patch, create, offsetOf } = await serving(t)
  const content = Buffer.from(Array.from({ length: SIZE }, (_, i) => (i * 31 + (i >> 8)) & 0xff))
  let interrupted = 0
  for (let i = 0; i < ROUNDS; i++) {
    const url = await create()
    let offset = 0
    for (let tries = 0; offset < SIZE; tries++) {
      const before = offset
      const look = async (): Promise<void> => {
        const seen = await offsetOf(url)
        assert.ok(seen >= before && seen <= SIZE, `${before}, ${seen}`)
        offset = seen
      }
      const running = patch(url, offset, content, tries < 3 && i % 2 === 0 ? look : undefined)
      if (tries < 3 && i % 2 === 1) {
        for (let turns = 0; turns < i % 11; turns++) await new Promise(setImmediate)
        await look()
      }
      const { status } = await running
      assert.ok(status === 204 || status === 409, `${status}`)
      if (status === 409) interrupted++
      // A PATCH that the server saw only after HEAD has gone on behind it.
      offset = await offsetOf(url)
    }
    assert.ok(whole[i]!.equals(content))
  }
  assert.equal(whole.length, ROUNDS)
  assert.ok(interrupted > 0, 'some were interrupted')
  assert.deepEqual(failures, [])
})

test('DELETE while a PATCH appends: nothing is left, and nothing comes back', async (t) => {
  const { directory, whole, failures, ask, patch, create } = await serving(t)
  for (let i = 0; i < ROUNDS; i++) {
    const url = await create()
    const running = patch(url, 0, filled('a'))
    for (let turns = 0; turns < i % 11; turns++) await new Promise(setImmediate)
    const { statusCode } = await ask('DELETE', url)
    const { status } = await running
    assert.ok(statusCode === 204 && [204, 404, 409, 410].includes(status), `${statusCode} ${status}`)
    assert.ok([404, 410].includes((await patch(url, 0, filled('b'))).status))
    assert.deepEqual(readdirSync(directory), [])
  }
  assert.ok(whole.every((bytes) => bytes.length === SIZE))
  assert.deepEqual(failures, [])
})

test('PATCH of an upload that has expired: it is gone, and nothing is left', async (t) => {
  const { directory, clock, whole, failures, ask, patch, create, offsetOf } = await serving(t)
  const urls = await Promise.all([create(), create(), create()])
  assert.equal((await patch(urls[0]!, 0, filled('a').subarray(0, SIZE / 2))).status, 204)
  assert.equal(await offsetOf(urls[0]!), SIZE / 2)
  await clock.advance(25 * 60 * 60_000)
  const statuses = await Promise.all(urls.flatMap((url) => [patch(url, SIZE / 2, filled('b')), patch(url, 0, filled('c'))]))
  for (const { status } of statuses) assert.ok([404, 410].includes(status), `${status}`)
  for (const url of urls) assert.ok([404, 410].includes((await ask('HEAD', url)).statusCode!))
  // A sweep that is still at work when an upload expires leaves it to the next one.
  while (readdirSync(directory).length > 0) {
    await clock.advance(60 * 60_000)
    await pause(10)
  }
  assert.deepEqual([whole, failures], [[], []])
})
