// Every case of the conformance table and every fixture of packages/weirjs/test/wire, sent to a proxy in front of weir. Whatever the proxy makes of it,
// weir reads the same requests that the proxy forwarded and no more, and every client gets its own response.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { loadConformanceCases } from '../../packages/weirjs/test/conformance/cases.ts'
import { loadWireCases, wireTopics } from '../../packages/weirjs/test/support/wire-cases.ts'
import { PROXIES } from './proxy.ts'
import { disagreements, mapWitness, mismatches, type Sighting } from './witness.ts'

/** The number of simultaneous clients. They share the proxy's few connections to the server. */
const CLIENTS = 12
/** A proxy gives up on half a request after a second. This only ends waits that would never end. */
const PATIENCE_MS = 15_000

/** What one client sends. */
interface Attack {
  readonly id: string
  readonly bytes: Buffer
  readonly halfClose: boolean
}

const fixtures = wireTopics('packages/weirjs/test/wire').flatMap((topic) => loadWireCases(`packages/weirjs/test/wire/${topic}.http`))
const attacks: Attack[] = [...loadConformanceCases(), ...fixtures.map(({ where, bytes, halfClose }) => ({ id: where, bytes, halfClose }))]

for (const kind of PROXIES) {
  test(`through ${kind.name}: no request is read as a different one, or as two`, { skip: kind.missing }, async (t) => {
    const server = new HttpServer({ hosts: 'any', logger: null })
    const sightings = mapWitness(server)
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const proxy = await kind.start(t, server.port)
    const waiting = attacks.entries()
    const work = async (): Promise<void> => {
      for (const [i, one] of waiting) {
        const received = await exchange(proxy.port, bytesOf(one), one.halfClose)
        assert.deepEqual(mismatches(received), [], `${one.id}: a response that belongs to another request`)
        await checkVictim(proxy.port, i, one.id)
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, work))
    await proxy.stop()
    assert.deepEqual(disagreements(sightings, proxy.bodies()), [])
    const count = (path: string): number => sightings.filter(({ url }) => url.startsWith(path)).length
    const victims = count('/victim/')
    const others = sightings.length - victims - count('/behind')
    assert.equal(victims, attacks.length)
    t.diagnostic(`${attacks.length} attacks; the proxy forwarded ${others} requests from them`)
    assert.ok(others > 300, `only ${others} requests got through, which proves nothing`)
  })
}

/** What the client sends. If the connection is still open, one more request ends it. */
function bytesOf(one: Attack): Buffer {
  return one.halfClose ? one.bytes : Buffer.concat([one.bytes, Buffer.from('GET /behind HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')])
}

/** The next client: it would get the response to whatever an attacker has left on a shared connection. */
async function checkVictim(port: number, i: number, id: string): Promise<void> {
  const request = Buffer.from(`GET /victim/${i} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
  let received = ''
  // If the machine is blocked for a second, the proxy gives up, and responds with 408.
  for (let attempt = 0; attempt < 3 && (received === '' || / 408 /.test(received.slice(0, 20))); attempt++) {
    received = await exchange(port, request, false)
  }
  assert.match(received, /^HTTP\/1\.1 200 /, `the client after ${id}`)
  assert.deepEqual(mismatches(received), [], `the client after ${id}`)
}

/** Sends bytes and returns everything that arrives until the proxy closes. */
function exchange(port: number, bytes: Buffer, halfClose: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const received: Buffer[] = []
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`no end within ${PATIENCE_MS} ms; received: ${Buffer.concat(received).toString('latin1', 0, 300)}`))
    }, PATIENCE_MS)
    socket.write(bytes)
    if (halfClose) socket.end()
    socket.on('data', (piece) => received.push(piece))
    socket.on('error', () => {}) // a reset ends the connection too
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(Buffer.concat(received).toString('latin1'))
    })
  })
}

test('the witness reports a smuggled request', () => {
  const fair: Sighting = {
    method: 'GET',
    url: '/a',
    body: 'b',
    proxyId: '1',
    proxyMethod: 'GET',
    proxyTarget: 'http://h/a',
    proxyBody: '62',
    connectionId: 'c',
  }
  assert.deepEqual(disagreements([fair], new Map()), [])
  const unfair: Partial<Sighting>[] = [{ proxyId: null }, { method: 'POST' }, { url: '/b' }, { body: 'c' }, { proxyTarget: '/a/b' }]
  for (const change of unfair) assert.equal(disagreements([{ ...fair, ...change }], new Map()).length, 1, JSON.stringify(change))
  assert.equal(disagreements([fair, fair], new Map()).length, 1)
  assert.equal(disagreements([{ ...fair, proxyBody: null }], new Map([['1', 'c']])).length, 1)
  const answer = (meant: string, read: string): string => `HTTP/1.1 200 OK\r\nX-Proxy-Id: ${meant}\r\n\r\nread ${read}`
  assert.equal(mismatches(answer('1', '1') + answer('2', '3') + answer('3', '3')).length, 1)
})
