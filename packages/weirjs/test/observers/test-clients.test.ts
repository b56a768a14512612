// A test that has read a response can look at its record: clients of `weirjs/testing` wait for observers, as `inject` does.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { connect, TestClock } from '../../src/testing/index.ts'
import { Observed } from '../support/observed.ts'

function serverWith(): HttpServer {
  const server = new HttpServer({ logger: null })
  server.mapGet('/whole', () => 'whole')
  server.mapGet('/later', async () => 'later')
  server.mapGet('/large', () => 'x'.repeat(300_000))
  server.mapGet('/stream', async function* () {
    yield 'a'
    yield 'b'
  })
  server.mapGet(
    '/never',
    (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  )
  return server
}

const outcomes = ({ ended }: Observed): string[] => ended.map(({ route, outcome }) => `${route} ${outcome}`)

for (const path of ['/whole', '/later', '/large', '/stream']) {
  test(`of ${path}`, async () => {
    const server = serverWith()
    const observed = new Observed().on(server)
    await using client = connect(server, { clock: new TestClock() })
    for (let i = 1; i <= 3; i++) {
      await client.get(path)
      assert.deepEqual(outcomes(observed), new Array(i).fill(`GET ${path} completed`))
    }
  })
}

test('of pipelined requests, those that were read', async () => {
  const server = serverWith()
  const observed = new Observed().on(server)
  await using client = connect(server)
  const later = client.get('/later')
  const stream = client.get('/stream')
  await later
  assert.equal(outcomes(observed)[0], 'GET /later completed')
  await stream
  assert.deepEqual(outcomes(observed), ['GET /later completed', 'GET /stream completed'])
})

test('of a stream that the test reads by itself', async () => {
  const server = serverWith()
  const observed = new Observed().on(server)
  await using client = connect(server)
  const response = await client.stream('/stream')
  await response.next()
  await response.whole()
  assert.deepEqual(outcomes(observed), ['GET /stream completed'])
})

test('of a client that leaves', async () => {
  const server = serverWith()
  const observed = new Observed().on(server)
  {
    await using client = connect(server)
    await client.send('GET /never HTTP/1.1\r\nHost: a\r\n\r\n')
  }
  assert.deepEqual(outcomes(observed), ['GET /never client-gone'])
})
