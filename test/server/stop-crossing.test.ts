// A response that began before `stop` told its client that the connection stays open: the request that the client sends next is answered.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { eventually, gate, inBothReadModes, within } from '../support/serving.ts'

const CLIENTS = 100

inBothReadModes('requests that cross the end of a server', (serve) => {
  test('a streamed response that began before stop is followed by one more', async (t) => {
    const [end, hold] = [gate(), gate()]
    let began = 0
    const { server, connect } = await serve(t, (server) =>
      server
        .mapGet('/stream', async function* () {
          began++
          yield 'first '
          await end.promise
          yield 'last'
        })
        .mapGet('/next', () => 'next')
        .mapGet('/hold', async () => {
          await hold.promise
          return 'held'
        }),
    )
    const holder = await connect()
    holder.get('/hold')
    const clients = await Promise.all(Array.from({ length: CLIENTS }, connect))
    for (const client of clients) client.get('/stream')
    await eventually(() => began === CLIENTS, 'all streams')
    const beginnings = await Promise.all(clients.map((client) => client.until('first ')))
    for (const beginning of beginnings) assert.doesNotMatch(beginning, /connection:/i)
    const stopped = server.stop({ graceMs: 60_000 })
    end.open()
    const answered = await Promise.all(
      clients.map(async (client) => {
        await client.until('last\r\n0\r\n\r\n')
        const { status, text, header } = await client.get('/next').message()
        return [status, text, header('connection')].join(' ')
      }),
    )
    assert.deepEqual([...new Set(answered)], ['200 next close'])
    hold.open()
    assert.deepEqual(await within(stopped, 'the end of the server'), { aborted: 0 })
  })
})
