// weirjs/log: slow, broken and closed streams, and what a stop writes.

import assert from 'node:assert/strict'
import { createWriteStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { destination, pino } from 'pino'

import { systemClock } from '../../../src/base/clock.ts'
import { HttpServer } from '../../../src/index.ts'
import { accessLogOn } from '../../../src/modules/log/access-log.ts'
import { type AccessLogOptions, accessLog } from '../../../src/modules/log/index.ts'
import { LineWriter } from '../../../src/modules/log/line-writer.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { eventually } from '../../support/serving.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

/** A stream that keeps what it is given until the test lets it go. */
class SlowStream extends Writable {
  readonly pieces: string[] = []
  #onWritten: (() => void) | null = null

  constructor() {
    super({ decodeStrings: false, highWaterMark: 1 })
  }

  override _write(chunk: string, _encoding: string, onWritten: () => void): void {
    this.pieces.push(chunk)
    this.#onWritten = onWritten
  }

  accept(): void {
    const onWritten = this.#onWritten
    this.#onWritten = null
    onWritten?.()
  }

  get lines(): string[] {
    return this.pieces.join('').split('\n').slice(0, -1)
  }
}

function collecting(): { readonly writer: LineWriter; readonly pieces: string[] } {
  const pieces: string[] = []
  const options = { maxWaiting: 10, finishMs: 10, isAscii: true, clock: systemClock, gapLine: null, onDropped() {}, onError() {} }
  return { writer: new LineWriter({ to: { write: (piece) => pieces.push(piece) }, ...options }), pieces }
}

test('the lines of one turn are written together', async () => {
  const { writer, pieces } = collecting()
  for (const line of ['a', 'b', 'c']) writer.add(line)
  await Promise.resolve()
  assert.deepEqual(pieces, ['a\nb\nc\n'])
})

test('under load, lines of up to eight turns are written together', async () => {
  const { writer, pieces } = collecting()
  const addMany = (): void => {
    for (let i = 0; i < 10; i++) writer.add('x')
  }
  for (let turn = 0; turn < 3; turn++) {
    addMany()
    await new Promise(setImmediate)
  }
  assert.deepEqual(pieces, [], 'more may follow')
  await new Promise(setImmediate)
  assert.deepEqual(pieces, ['x\n'.repeat(30)], 'a turn without lines')
  for (let turn = 0; turn < 20; turn++) {
    addMany()
    await new Promise(setImmediate)
  }
  await writer.finish()
  assert.deepEqual(
    pieces.slice(1).map(({ length }) => length / 20),
    [8, 8, 4],
  )
})

test('a large piece does not wait for more lines', async () => {
  const { writer, pieces } = collecting()
  for (let i = 0; i < 100; i++) writer.add('x'.repeat(1_000))
  await Promise.resolve()
  assert.equal(pieces.length, 1)
})

test('a slow stream gets larger pieces, and lines beyond the limit are dropped, counted and reported', async () => {
  const clock = new TestClock()
  const warnings: string[] = []
  const to = new SlowStream()
  const logger = { error() {}, warn: (message: string) => warnings.push(message) }
  const server = new HttpServer({ logger })
  const log = accessLogOn(clock, { to, maxWaitingSize: 44, format: ({ url }) => `line of ${url}` })
  server.use(log)
  for (let i = 0; i < 6; i++) await server.inject(`/${i}`)
  assert.deepEqual(to.lines, ['line of /0'], 'the stream has not accepted more')
  assert.equal(log.dropped, 1)
  assert.deepEqual(warnings, ['weir: accessLog has dropped 1 line: "to" is closed, or does not keep up and maxWaitingSize is 44'])
  for (let i = 6; i < 10; i++) await server.inject(`/${i}`)
  assert.equal(log.dropped, 5)
  assert.equal(warnings.length, 1, 'at most every ten seconds')
  to.accept()
  await eventually(() => to.pieces.length === 2, 'the second piece')
  assert.equal(to.pieces[1], 'line of /1\nline of /2\nline of /3\nline of /4\n')
  await clock.advance(10_000)
  to.accept()
  await eventually(() => warnings.length === 2, 'the second warning')
  assert.match(warnings[1]!, /dropped 4 lines/)
  await server.inject('/10')
  await eventually(() => to.lines.at(-1) === 'line of /10', 'lines after that')
  assert.deepEqual([...log.metrics()][0]!.samples, [{ labels: { log: 'accessLog' }, value: 5 }])
})

test('the JSON log says itself how many lines are missing', async () => {
  const to = new SlowStream()
  const server = new HttpServer({ logger: null }).use(accessLog({ to, maxWaitingSize: 0 }))
  await server.inject('/1')
  await server.inject('/2')
  to.accept()
  await eventually(() => !to.writableNeedDrain, 'an empty stream')
  await server.inject('/3')
  await eventually(() => to.lines.length === 3, 'more lines')
  const entries = to.lines.map((line) => JSON.parse(line) as { kind?: string; lines?: number; url?: string })
  assert.deepEqual(
    entries.map(({ kind, lines, url }) => [kind, lines, url]),
    [
      [undefined, undefined, '/1'],
      ['dropped', 1, undefined],
      [undefined, undefined, '/3'],
    ],
  )
})

test('stop waits for the last lines', async (t) => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'access.log')
  const to = createWriteStream(file)
  t.after(() => to.destroy())
  const server = new HttpServer('127.0.0.1', 0, { logger: null }).use(accessLog({ to, format: 'combined' }))
  server.mapGet('/', () => 'hello')
  await server.start()
  await Promise.all(Array.from({ length: 50 }, () => fetch(`http://127.0.0.1:${server.port}/`, { headers: { connection: 'close' } })))
  await server.stop()
  assert.equal(readFileSync(file, 'utf8').match(/"GET \/ HTTP\/1\.1" 200 5 /g)?.length, 50)
  assert.equal(to.destroyed, false, 'the program owns the stream')
})

test('a stream that never accepts anything does not hold up a stop for longer than flushTimeout', async () => {
  const to = new SlowStream()
  const server = new HttpServer('127.0.0.1', 0, { logger: null }).use(accessLog({ to, flushTimeout: 20 }))
  await server.start()
  await server.inject('/')
  assert.deepEqual(await server.stop(), { aborted: 0 })
})

test('a stream that fails is reported, and the server goes on', async () => {
  const errors: unknown[] = []
  const warnings: unknown[] = []
  const logger = {
    error: (message: string, detail: unknown) => errors.push([message, String(detail)]),
    warn: (text: string) => warnings.push(text),
  }
  const to = new Writable({ write: (_chunk, _encoding, onWritten) => onWritten(new Error('ENOSPC')) })
  const log = accessLog({ to })
  const server = new HttpServer({ logger }).use(log).mapGet('/', () => 'fine')
  for (let i = 0; i < 3; i++) {
    assert.equal((await server.inject('/')).text(), 'fine')
    await new Promise(setImmediate)
  }
  assert.deepEqual(errors, [['weir: accessLog could not write', 'Error: ENOSPC']])
  assert.equal(log.dropped, 2)
  assert.equal(warnings.length, 1)
})

test('a write that throws is reported, and its lines are counted', async () => {
  const errors: string[] = []
  const to = {
    write(): never {
      throw new Error('closed')
    },
  }
  const log = accessLog({ to })
  const server = new HttpServer({ logger: { error: (message) => errors.push(message) } }).use(log)
  await server.inject('/')
  await eventually(() => log.dropped === 1, 'the count')
  assert.deepEqual(errors.slice(0, 1), [
    'weir: accessLog has dropped 1 line: "to" is closed, or does not keep up and maxWaitingSize is 1048576',
  ])
})

test('a destination of pino is a stream like others', async (t) => {
  const file = join(temporaryDirectory(t), 'access.log')
  const to = destination({ dest: file, sync: false })
  const server = new HttpServer('127.0.0.1', 0, { logger: null }).use(accessLog({ to }))
  await server.start()
  for (let i = 0; i < 3; i++) await server.inject(`/${i}`)
  await server.stop()
  assert.equal(readFileSync(file, 'utf8').split('\n').length, 4)
  to.destroy()
})

test('pino gets fields and a level, and is flushed at the stop', async (t) => {
  const file = join(temporaryDirectory(t), 'access.log')
  const to = destination({ dest: file, sync: false, minLength: 4096 })
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  server.use(accessLog({ to: pino({ level: 'info', base: null }, to), slow: 1_000 } satisfies AccessLogOptions))
  server.mapGet('/', () => 'ok').mapGet('/broken', () => Promise.reject(new Error('broken')))
  await server.start()
  await server.inject('/')
  await server.inject('/broken')
  await server.stop()
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    entries.map(({ level, msg, url, status, outcome, user }) => [level, msg, url, status, outcome, user]),
    [
      [30, 'request', '/', 200, 'completed', undefined],
      [50, 'request', '/broken', 500, 'failed', undefined],
    ],
  )
  to.destroy()
})
