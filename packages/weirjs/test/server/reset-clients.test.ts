// A client that resets its connection while the server is busy: what it has sent may still be read, but the socket no longer knows its address.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'

import { HttpServer } from '../../src/index.ts'
import { toNodeListener } from '../../src/node/index.ts'
import { cert, key } from '../support/certificate.ts'
import { eventually, gate } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const GO = 0
const DONE = 1
const LONGEST_WAIT_MS = 20_000

/** Connects, waits for `go` if it is told to, sends a request that claims to be forwarded, and resets, on a thread of its own. */
const CLIENT = `
  const { parentPort, workerData: { port, isSecure, waits, flags } } = require('node:worker_threads')
  const socket = require('node:net').connect(port, '127.0.0.1')
  const request = 'POST /paid HTTP/1.1\\r\\nHost: localhost\\r\\nX-Forwarded-For: 192.0.2.1\\r\\nX-Forwarded-Proto: https\\r\\nContent-Length: 0\\r\\n\\r\\n'
  const send = (through) => {
    parentPort.postMessage('connected')
    if (waits) Atomics.wait(flags, ${GO}, 0)
    through.write(request, () => socket.resetAndDestroy())
  }
  socket.on('error', () => {}).on('close', () => {
    Atomics.store(flags, ${DONE}, 1)
    Atomics.notify(flags, ${DONE})
  })
  if (isSecure) {
    // The server sends a ticket when it has done its part of the handshake.
    const secured = require('node:tls').connect({ socket, rejectUnauthorized: false }).on('error', () => {})
    secured.once('session', () => setImmediate(send, secured))
  } else socket.on('connect', () => send(socket))
`

/** A client whose thread goes on while this one is busy. */
function clientOf(t: TestContext, port: number, options: { readonly isSecure?: boolean; readonly waits: boolean }) {
  const flags = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(CLIENT, { eval: true, workerData: { port, flags, isSecure: false, ...options } })
  t.after(() => worker.terminate())
  /** Keeps this thread busy until the client has reset the connection. */
  const awaitReset = (): void => {
    Atomics.store(flags, GO, 1)
    Atomics.notify(flags, GO)
    assert.notEqual(Atomics.wait(flags, DONE, 0, LONGEST_WAIT_MS), 'timed-out')
  }
  return { worker, awaitReset }
}

async function serve(t: TestContext, isSecure: boolean) {
  const server = new HttpServer({ logger: null, ...(isSecure && { tls: { cert, key } }) })
  const seen: unknown[] = []
  server.mapPost('/paid', (_, { clientAddress, isSecure, peer }) => {
    seen.push([clientAddress, peer.address, isSecure, peer.isTrusted])
    return 'paid'
  })
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return { server, seen }
}

for (const isSecure of [false, true])
  test(`a client that resets ${isSecure ? 'a TLS' : 'its'} connection has the address that it was accepted with`, async (t) => {
    const { server, seen } = await serve(t, isSecure)
    const { worker, awaitReset } = clientOf(t, server.port, { isSecure, waits: true })
    await once(worker, 'message')
    await eventually(() => server.connections === 1, 'the connection')
    awaitReset()
    await eventually(() => server.connections === 0, 'the end of the connection')
    // On Linux, what was received before a reset is read.
    const expected = [['127.0.0.1', '127.0.0.1', isSecure, false]]
    assert.deepEqual(seen, process.platform === 'linux' || seen.length > 0 ? expected : [])
  })

test('a client that has reset its connection before it was accepted is not served', async (t) => {
  const { server, seen } = await serve(t, false)
  const { worker, awaitReset } = clientOf(t, server.port, { waits: false })
  await once(worker, 'online')
  awaitReset()
  const { address, port } = server
  // The next one is accepted after it.
  assert.equal(await (await fetch(`http://${address}:${port}/paid`, { method: 'POST' })).text(), 'paid')
  assert.deepEqual(seen, [['127.0.0.1', '127.0.0.1', false, false]])
})

test('a client that resets its connection to a server of Node does not pass for one at a Unix socket', async (t) => {
  const server = new HttpServer({ logger: null, proxies: { trust: ['unix'] } })
  const seen: unknown[] = []
  server.mapPost('/paid', (_, { clientAddress, peer }) => void seen.push([clientAddress, peer.isTrusted]))
  const listener = toNodeListener(server)
  const handled = gate()
  const host = createServer((request, response) => {
    awaitReset()
    listener(request, response)
    response.on('close', handled.open)
  })
  await once(host.listen(0, '127.0.0.1'), 'listening')
  t.after(() => host.close())
  const { awaitReset } = clientOf(t, (host.address() as AddressInfo).port, { waits: false })
  await handled.promise
  assert.deepEqual(seen, [])
})

test('a process at a Unix socket of a server of Node is still trusted', { skip: process.platform === 'win32' }, async (t) => {
  const server = new HttpServer({ logger: null, proxies: { trust: ['unix'] } })
  server.mapPost('/paid', (_, { clientAddress, isSecure }) => ({ clientAddress, isSecure }))
  const socketPath = join(temporaryDirectory(t), 'host.sock')
  const host = createServer(toNodeListener(server))
  await once(host.listen(socketPath), 'listening')
  t.after(() => host.close())
  const headers = { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https' }
  const [response] = await once(send({ socketPath, path: '/paid', method: 'POST', headers, agent: false }).end(), 'response')
  assert.deepEqual(await json(response), { clientAddress: '192.0.2.1', isSecure: true })
})
