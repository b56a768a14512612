import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { SocketTransport } from './socket-transport.ts'

/** A transport at one end of a connection, a plain socket at the other, and the moment at which the transport says that it is gone. */
async function pair(
  t: TestContext,
  sharesBuffer: boolean,
  path: string | null = null,
): Promise<{ transport: SocketTransport; client: Socket; closed: Promise<void> }> {
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true })
  if (path === null) server.listen(0, '127.0.0.1')
  else server.listen(path)
  await once(server, 'listening')
  const client = path === null ? connect((server.address() as AddressInfo).port, '127.0.0.1') : connect(path)
  client.on('error', () => {}) // a reset is what some tests are about
  t.after(() => {
    client.destroy()
    server.close()
  })
  const [accepted] = (await once(server, 'connection')) as [Socket]
  const transport = new SocketTransport(accepted, path === null ? 'tcp' : 'unix', sharesBuffer)
  const closed = new Promise<void>((resolve) => {
    transport.start({ onBytes() {}, onEnd() {}, onDrain() {}, onClose: resolve })
  })
  return { transport, client, closed }
}

for (const sharesBuffer of [true, false]) {
  const mode = sharesBuffer ? 'shared buffer' : 'data events'

  test(`a reset right behind an end still closes (${mode})`, { timeout: 20_000 }, async (t) => {
    const { transport, client, closed } = await pair(t, sharesBuffer)
    transport.writeText('the last words')
    transport.end()
    transport.reset()
    await closed
    const chunks: Buffer[] = []
    for await (const chunk of client) chunks.push(chunk as Buffer)
    assert.equal(Buffer.concat(chunks).toString(), 'the last words')
  })

  test(`a reset is seen by the client (${mode})`, { timeout: 20_000 }, async (t) => {
    const { transport, client, closed } = await pair(t, sharesBuffer)
    const failed = once(client, 'error')
    transport.reset()
    await closed
    assert.equal(((await failed)[0] as NodeJS.ErrnoException).code, 'ECONNRESET')
  })

  test(`what cannot be reset is closed (${mode})`, {
    timeout: 20_000,
    skip: process.platform === 'win32' && 'no Unix sockets',
  }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const { transport, closed } = await pair(t, sharesBuffer, join(folder, 'socket'))
    transport.reset()
    await closed
  })
}
