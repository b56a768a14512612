// Loggers with the message as first argument, such as console, and loggers with the fields first, such as pino.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'

import { HttpServer, type Logger, type ModuleHost } from '../../src/index.ts'

interface Line {
  readonly level: number
  readonly msg: string
  readonly requestId?: string
  readonly err?: { readonly message: string; readonly stack: string; readonly type: string; readonly code?: string }
}

/** A real pino, and the lines that it has written. */
function newPino() {
  const lines: Line[] = []
  return { logger: pino({}, { write: (text) => void lines.push(JSON.parse(text) as Line) }), lines }
}

const fails = (): never => {
  throw new TypeError('broken')
}

const withoutId = (message: unknown): string => String(message).replace(/request \S+\)$/, 'request #)')

test('pino gets message, error with its stack, and requestId', async () => {
  const { logger, lines } = newPino()
  let requestId = ''
  const server = new HttpServer({ logger }).mapGet('/', (_, session) => {
    requestId = session.requestId
    fails()
  })
  assert.equal((await server.inject('/')).status, 500)
  const [line, ...others] = lines
  assert.deepEqual(others, [])
  assert.deepEqual([line?.level, line?.msg, line?.err?.type, line?.err?.message], [50, 'weir: GET / failed', 'TypeError', 'broken'])
  assert.match(line!.err!.stack, /TypeError: broken\n +at fails/)
  assert.deepEqual([line?.requestId, requestId !== ''], [requestId, true])
})

test('a child of pino keeps its bindings', async () => {
  const { logger, lines } = newPino()
  const server = new HttpServer({ logger: logger.child({ service: 'shop' }) }).mapGet('/', fails)
  await server.inject('/')
  assert.deepEqual([(lines[0] as { service?: string }).service, lines[0]?.err?.message], ['shop', 'broken'])
})

test('warn of pino gets warnings, and error gets aborted connections', async () => {
  const { logger, lines } = newPino()
  const server = new HttpServer({ logger }).mapGet('/{id}', () => 1)
  assert.deepEqual([lines[0]?.level, /literal text/.test(lines[0]?.msg ?? '')], [40, true])
  server.mapGet('/', async function* () {
    yield 'first'
    fails()
  })
  await assert.rejects(server.inject('/'))
  assert.deepEqual([lines[1]?.err?.message, 'connectionId' in lines[1]!], ['broken', true])
  assert.equal(lines[1]!.msg, 'weir: the response to GET / was aborted, route GET /')
  assert.match(lines[1]!.requestId ?? '', /^\S+$/)
})

test('modules call any logger like console', () => {
  const { logger, lines } = newPino()
  let host!: ModuleHost
  new HttpServer({ logger }).use({ name: 'm', install: (one) => void (host = one) })
  host.logger!.error('weir: m failed', new RangeError('too far'))
  assert.deepEqual([lines[0]?.msg, lines[0]?.err?.type, lines[0]?.err?.message], ['weir: m failed', 'RangeError', 'too far'])
})

test('a logger without child gets the message first', async () => {
  const calls: unknown[][] = []
  const logger: Logger = { error: (...all: unknown[]) => void calls.push(all) }
  const server = new HttpServer({ logger }).mapGet('/', fails)
  await server.inject('/')
  assert.deepEqual(
    calls.map(([message, error, ...more]) => [withoutId(message), String(error), more]),
    [['weir: GET / failed (request #)', 'TypeError: broken', []]],
  )
})

test('so does winston, which also has child: it is recognised by its transports', async () => {
  const calls: unknown[][] = []
  const logger = { error: (...all: unknown[]) => void calls.push(all), child: () => logger, transports: [] }
  const server = new HttpServer({ logger }).mapGet('/', fails)
  await server.inject('/')
  assert.deepEqual([withoutId(calls[0]?.[0]), String(calls[0]?.[1])], ['weir: GET / failed (request #)', 'TypeError: broken'])
})

test('a logger that throws costs no client its response', async () => {
  const server = new HttpServer({ logger: { error: fails, child: fails } as Logger }).mapGet('/', fails).mapGet('/ok', () => 'ok')
  assert.equal((await server.inject('/')).status, 500)
  assert.equal((await server.inject('/ok')).text(), 'ok')
})

test('a logger that fails later does not end the process', async (t) => {
  const unhandled: unknown[] = []
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', onUnhandled)
  t.after(() => process.off('unhandledRejection', onUnhandled))
  const full = async (): Promise<never> => Promise.reject(new Error('the disk is full'))
  for (const logger of [
    { error: full, warn: full },
    { error: full, warn: full, child: () => {} },
  ]) {
    const server = new HttpServer({ logger, debug: true }).mapGet('/', fails).mapGet('/{id}', fails)
    server.logger?.error('of a module')
    assert.equal((await server.inject('/')).status, 500)
  }
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(unhandled, [])
})
