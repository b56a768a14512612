import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { DEFAULT_TIMEOUTS } from '../../base/limits.ts'
import { TestClock } from '../../testing/test-clock.ts'
import { Deadlines } from '../time/deadlines.ts'
import { Ticker } from '../time/ticker.ts'
import { SocketTransport } from './socket-transport.ts'

/**
 * A transport at one end of a connection, a plain socket at the other, and a promise that resolves when the transport reports its end.
 * @param prepare called with the accepted socket before the transport takes it over
 */
async function pair(
  t: TestContext,
  sharesBuffer: boolean,
  path: string | null = null,
  prepare: (accepted: Socket) => void = () => {},
): Promise<{ transport: SocketTransport; client: Socket; closed: Promise<void> }> {
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true })
  if (path === null) server.listen(0, '127.0.0.1')
  else server.listen(path)
  await once(server, 'listening')
  const client = path === null ? connect((server.address() as AddressInfo).port, '127.0.0.1') : connect(path)
  client.on('error', () => {}) // some tests cause a reset
  t.after(() => {
    client.destroy()
    server.close()
  })
  const [accepted] = (await once(server, 'connection')) as [Socket]
  prepare(accepted)
  const transport = new SocketTransport(accepted, path === null ? 'tcp' : 'unix', sharesBuffer)
  const closed = new Promise<void>((resolve) => {
    transport.start({ onBytes() {}, onEnd() {}, onDrain() {}, onClose: () => resolve() })
  })
  return { transport, client, closed }
}

for (const sharesBuffer of [true, false]) {
  const mode = sharesBuffer ? 'shared buffer' : 'data events'

  test(`a reset right after an end still closes (${mode})`, async (t) => {
    const { transport, client, closed } = await pair(t, sharesBuffer)
    transport.writeText('the last words')
    transport.end()
    transport.reset()
    await closed
    const chunks: Buffer[] = []
    for await (const chunk of client) chunks.push(chunk as Buffer)
    assert.equal(Buffer.concat(chunks).toString(), 'the last words')
  })

  test(`the client sees a reset (${mode})`, async (t) => {
    const { transport, client, closed } = await pair(t, sharesBuffer)
    const failed = once(client, 'error')
    transport.reset()
    await closed
    assert.equal(((await failed)[0] as NodeJS.ErrnoException).code, 'ECONNRESET')
  })

  test(`a connection that cannot be reset is closed (${mode})`, {
    skip: process.platform === 'win32' && 'no Unix sockets',
  }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const { transport, closed } = await pair(t, sharesBuffer, join(folder, 'socket'))
    transport.reset()
    await closed
  })
}

/** A handle as another release of Node might have it. */
function hideWriteQueueSize(accepted: Socket): void {
  const { _handle } = accepted as unknown as { readonly _handle: object }
  Object.defineProperty(_handle, 'writeQueueSize', { value: undefined })
}

for (const sharesBuffer of [true, false]) {
  const mode = sharesBuffer ? 'shared buffer' : 'data events'

  test(`without writeQueueSize, a client that does not read crosses writeTimeout (${mode})`, async (t) => {
    const { transport, client } = await pair(t, sharesBuffer, null, hideWriteQueueSize)
    const ticker = new Ticker(new TestClock(), DEFAULT_TIMEOUTS)
    ticker.busyMs = Number.POSITIVE_INFINITY // it does not tick: the test says how much time is over
    const deadlines = new Deadlines(DEFAULT_TIMEOUTS, ticker)
    const elapse = (ms: number): unknown => deadlines.checkWrite(ms, transport.unsentBytes > 0, transport.sentBytes)?.limit
    client.pause()
    transport.writeBytes(Buffer.alloc(32 * 1024 * 1024))
    assert.ok(transport.isBlocked)
    elapse(0)
    assert.equal(elapse(DEFAULT_TIMEOUTS.writeTimeout!), undefined)
    assert.equal(elapse(1), 'writeTimeout')

    const drained = new Promise<void>((resolve) => {
      transport.handOver({ onBytes() {}, onEnd() {}, onDrain: resolve, onClose() {} })
    })
    client.resume()
    await drained
    assert.equal(transport.unsentBytes, 0)
    assert.equal(elapse(DEFAULT_TIMEOUTS.writeTimeout!), undefined)
  })
}

test('bytes to be kept arrive in memory that is not reused, if they arrive quickly', async (t) => {
  const { transport, client } = await pair(t, true)
  const sent = Buffer.from(Array.from({ length: 4 * 1024 * 1024 }, (_, i) => (i * 7) ^ (i >> 8)))
  const kept: Buffer[] = []
  let borrowedBytes = 0
  const done = new Promise<void>((resolve) => {
    let length = 0
    const onBytes = (buffer: Buffer, end: number, borrowed: boolean) => {
      const piece = buffer.subarray(0, end)
      if (borrowed) borrowedBytes += end
      kept.push(borrowed ? Buffer.from(piece) : piece)
      length += end
      if (length === sent.length) resolve()
    }
    transport.handOver({ onBytes, onEnd() {}, onDrain() {}, onClose() {} })
  })
  transport.keepsBytes = true
  client.write(sent)
  await done
  assert.ok(Buffer.concat(kept).equals(sent), 'the kept bytes have not changed')
  assert.ok(borrowedBytes < sent.length / 2, `${borrowedBytes} of ${sent.length} bytes were borrowed`)

  transport.keepsBytes = false
  const lent: boolean[] = []
  const back = new Promise<void>((resolve) => {
    transport.handOver({
      onBytes(_buffer, _length, borrowed) {
        lent.push(borrowed)
        if (lent.length === 2) resolve()
        else client.write('and the last')
      },
      onEnd() {},
      onDrain() {},
      onClose() {},
    })
  })
  client.write('a few words more')
  await back
  assert.deepEqual(lent, [true, true])
})

test('a client that may have left without a reset is asked by the system, which is told so once', () => {
  const asked: unknown[][] = []
  const socket = new Socket()
  socket.setKeepAlive = (...how) => {
    asked.push(how)
    return socket
  }
  const transport = new SocketTransport(socket, 'tcp', false)
  assert.deepEqual(asked, [])
  transport.probe()
  transport.probe()
  assert.deepEqual(asked, [[true, 15_000]])
  socket.destroy()
})
