// WebSockets through random cuts, stalls, slow handlers, passing time and ends of every kind, and through the failure of each operation.
//
// `SEED=123 node scripts/test.mjs simulation-websocket` runs one seed again and prints what happened; `SEEDS=100000` runs that many from a random
// start.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { settled } from '../src/testing/test-clock.ts'
import { simulateWebSockets } from './support/simulation-websocket.ts'
import { isThinned, thinned } from './support/thinned.ts'

const ONE_SEED = process.env['SEED']
const FAIL_AT = Number(process.env['FAIL_AT'] ?? 0)
const MORE_SEEDS = process.env['SEEDS']
const SEEDS = thinned(1_000)
/** For this many seeds, each operation fails once. */
const FAILING_SEEDS = isThinned ? 1 : 12

const accidents: unknown[] = []
process.on('uncaughtException', (error) => accidents.push(error))
process.on('unhandledRejection', (error) => accidents.push(error))

async function run(seed: number, options: Parameters<typeof simulateWebSockets>[1] = {}): Promise<number> {
  const again = `SEED=${seed}${options.failAt === undefined ? '' : ` FAIL_AT=${options.failAt}`}`
  try {
    const operations = await simulateWebSockets(seed, options)
    await settled()
    assert.deepEqual(accidents, [], 'no error goes uncaught')
    return operations
  } catch (error) {
    throw new Error(`${again}: ${(error as Error).message}`, { cause: error })
  } finally {
    accidents.length = 0
  }
}

if (ONE_SEED !== undefined) {
  test(`seed ${ONE_SEED}`, async () => {
    const trace = (event: string): void => console.log(event)
    await run(Number(ONE_SEED), FAIL_AT > 0 ? { failAt: FAIL_AT, trace } : { trace })
  })
} else {
  test('whatever the network, the clients, the handlers and the clock do, messages arrive once and in order, and nothing is left behind', async () => {
    const first = MORE_SEEDS === undefined ? 1 : Math.floor(Math.random() * 1e9)
    const count = Number(MORE_SEEDS ?? SEEDS)
    for (let seed = first; seed < first + count; seed++) await run(seed)
  })

  test('whichever operation of a socket fails, the first, the second and so on, nothing is left behind', async () => {
    for (let seed = 1; seed <= FAILING_SEEDS; seed++) {
      const operations = await run(seed, { failAt: Number.POSITIVE_INFINITY })
      for (let failAt = 1; failAt <= operations; failAt++) await run(seed, { failAt })
    }
  })
}
