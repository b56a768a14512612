// A whole server that speaks HTTP/2 through random cuts, delays, streams in any order, cancelled requests, small windows, failed writes,
// failing handlers, passing time and stops.
//
// `SEED=123 node scripts/test.mjs simulation-http2` runs one seed again and prints what happened, with `FAIL_AT`, `RESET_AT` or `CUT_AT` if
// given; `SEEDS=100000` runs that many from a random start.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { settled } from '../src/testing/test-clock.ts'
import { type Http2SimulationCounts, type Http2SimulationOptions, simulateHttp2 } from './support/simulation-http2.ts'
import { thinned } from './support/thinned.ts'

const ONE_SEED = process.env['SEED']
const MORE_SEEDS = process.env['SEEDS']
const SEEDS = thinned(500)
/** For this many seeds, each operation fails once, and each frame is the last one of its stream, and of its connection. */
const FAILING_SEEDS = thinned(4)

const accidents: unknown[] = []
process.on('uncaughtException', (error) => accidents.push(error))
process.on('unhandledRejection', (error) => accidents.push(error))

async function run(seed: number, options: Http2SimulationOptions = {}): Promise<Http2SimulationCounts> {
  const { failAt, resetAt, cutAt } = options
  const again = Object.entries({ SEED: seed, FAIL_AT: failAt, RESET_AT: resetAt, CUT_AT: cutAt }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  try {
    const counts = await simulateHttp2(seed, options)
    await settled()
    assert.deepEqual(accidents, [], 'no error goes uncaught')
    return counts
  } catch (error) {
    throw new Error(`${again.join(' ')}: ${(error as Error).message}`, { cause: error })
  } finally {
    accidents.length = 0
  }
}

function asked(): Http2SimulationOptions {
  const at = (name: string): number | undefined => (process.env[name] === undefined ? undefined : Number(process.env[name]))
  const given = { failAt: at('FAIL_AT'), resetAt: at('RESET_AT'), cutAt: at('CUT_AT') }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

if (ONE_SEED !== undefined) {
  test(`seed ${ONE_SEED}`, async () => {
    await run(Number(ONE_SEED), { ...asked(), trace: (event) => console.log(event) })
  })
} else {
  test('whatever the network, the clients, the handlers and the clock do, every request has one end, and no stream is left', async () => {
    const first = MORE_SEEDS === undefined ? 1 : Math.floor(Math.random() * 1e9)
    const count = Number(MORE_SEEDS ?? SEEDS)
    for (let seed = first; seed < first + count; seed++) await run(seed)
  })

  test('whichever operation of a socket fails, nothing is left behind', async () => {
    for (let seed = 1; seed <= FAILING_SEEDS; seed++) {
      const { operations } = await run(seed, { failAt: Number.POSITIVE_INFINITY })
      for (let failAt = 1; failAt <= operations; failAt++) await run(seed, { failAt })
    }
  })

  test('after whichever frame a client cancels its request, or leaves, nothing is left behind', async () => {
    for (let seed = 1; seed <= FAILING_SEEDS; seed++) {
      const { frames } = await run(seed, { cutAt: Number.POSITIVE_INFINITY })
      for (let at = 1; at <= frames; at++) {
        await run(seed, { resetAt: at })
        await run(seed, { cutAt: at })
      }
    }
  })
}
