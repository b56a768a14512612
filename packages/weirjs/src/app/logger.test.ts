import assert from 'node:assert/strict'
import { test } from 'node:test'

import { logError, logWarning, moduleLogger } from './logger.ts'

const FAILURE = new Error('x')

/** A logger that notes how it is called, shaped as the members say. */
function noting(members: object = {}): { calls: unknown[][]; logger: never } {
  const calls: unknown[][] = []
  const level =
    (name: string) =>
    (...args: unknown[]) =>
      void calls.push([name, ...args])
  return { calls, logger: { error: level('error'), warn: level('warn'), info: level('info'), ...members } as never }
}

test('console and winston get the message first, pino its fields', () => {
  const plain = noting()
  logError(plain.logger, 'm', FAILURE, { requestId: '7' })
  logError(plain.logger, 'm', FAILURE)
  assert.deepEqual(plain.calls, [
    ['error', 'm (request 7)', FAILURE],
    ['error', 'm', FAILURE],
  ])
  const winston = noting({ child: () => {}, transports: [] })
  logError(winston.logger, 'm', FAILURE)
  assert.deepEqual(winston.calls, [['error', 'm', FAILURE]])
  const pino = noting({ child: () => {} })
  logError(pino.logger, 'm', FAILURE, { requestId: '7' })
  logWarning(pino.logger, 'w')
  assert.deepEqual(pino.calls, [
    ['error', { err: FAILURE, requestId: '7' }, 'm'],
    ['warn', {}, 'w'],
  ])
})

test('without warn, a warning is an error; without info, information is dropped', () => {
  const { calls, logger } = noting({ warn: undefined, info: undefined })
  logWarning(logger, 'w')
  moduleLogger(logger)?.info?.('i')
  assert.deepEqual(calls, [['error', 'w']])
})

test('a logger that fails never fails its caller', async () => {
  const fail = () => {
    throw FAILURE
  }
  const rejects = { error: async () => fail(), warn: async () => fail(), info: async () => fail() }
  for (const logger of [{ error: fail, warn: fail, info: fail }, rejects]) {
    const module = moduleLogger(logger as never)
    assert.doesNotThrow(() => logError(logger as never, 'm', FAILURE))
    assert.doesNotThrow(() => logWarning(logger as never, 'w'))
    assert.doesNotThrow(() => module?.info?.('i'))
  }
  await new Promise((resolve) => setImmediate(resolve)) // no rejection is left
})

test('an error that cannot be shown is reported without it', () => {
  const calls: unknown[][] = []
  const error = (message: string, detail: unknown): void => {
    if (detail !== undefined) throw FAILURE
    calls.push([message, detail])
  }
  logError({ error }, 'm', FAILURE)
  assert.deepEqual(calls, [['m, and the error cannot be shown', undefined]])
})

test('modules call any logger like console, and nothing where there is none', () => {
  assert.equal(moduleLogger(null), null)
  assert.doesNotThrow(() => logError(null, 'm', FAILURE))
  const pino = noting({ child: () => {} })
  moduleLogger(pino.logger)?.error('m', FAILURE)
  assert.deepEqual(pino.calls, [['error', { err: FAILURE }, 'm']])
})
