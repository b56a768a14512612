// A handler’s signal if its client leaves while the server does not read from the socket.

import { test } from 'node:test'

import { eventually, inBothReadModes } from '../support/serving.ts'

inBothReadModes('a client that leaves', (serve) => {
  test('a client that has left is noticed while its socket is not read', async (t) => {
    let aborted = 0
    let started = 0
    const wait = (signal: AbortSignal): Promise<void> => {
      started++
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(void aborted++)))
    }
    const { connect } = await serve(
      t,
      (server) => {
        server.mapGet('/wait', (_, { signal }) => wait(signal))
        server.mapPost('/unread', { body: 'stream' }, (_, { signal }) => wait(signal))
      },
      { timeouts: { lingerTimeout: 100 } },
    )
    const flood = await connect()
    flood.send('GET /wait HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(5_000))
    const unread = await connect()
    unread.send('POST /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc')
    await eventually(() => started === 2, 'both handlers')
    await new Promise((resolve) => setTimeout(resolve, 50))
    flood.reset()
    unread.reset()
    await eventually(() => aborted === 2, 'both signals')
  })
})
