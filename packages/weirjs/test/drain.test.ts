// A server that is stopped while it does everything at the same time: it answers whatever it has accepted.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { HttpServer, WeirError } from '../src/index.ts'
import type { Message, RawClient } from './support/raw-client.ts'
import { eventually, gate, inBothReadModes, type Serve, within } from './support/serving.ts'

type Context = Parameters<Serve>[0]

/** A server with handlers of all kinds, and a record of the requests that reached one. */
async function busyServer(serve: Serve, t: Context) {
  const accepted = new Set<string>()
  const [slow, stream, news] = [gate(), gate(), gate()]
  const reasons: string[] = []
  const map = (server: HttpServer): unknown =>
    server
      .use((session, next) => {
        accepted.add(session.request.path)
        next()
      })
      .mapGet('/quick/:n', ({ n }) => n)
      .mapGet('/later/:n', async ({ n }) => {
        await new Promise((resolve) => setTimeout(resolve, 2))
        return n
      })
      .mapGet('/slow/:n', async ({ n }) => {
        await slow.promise
        return n
      })
      .mapGet('/stream/:n', async function* ({ n }) {
        yield 'first '
        await stream.promise
        yield n
      })
      .mapGet('/poll/:n', async ({ n }, { signal }) => {
        const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
        await Promise.race([news.promise, aborted])
        return n
      })
      .mapPost('/upload/:n', { body: 'stream' }, async ({ n }, { request }) => {
        let bytes = 0
        for await (const piece of request.bodyStream()) bytes += (piece as Buffer).length
        return `${n} ${bytes}`
      })
      .mapGet('/stuck/:n', (_, { signal }) => {
        signal.addEventListener('abort', () => reasons.push((signal.reason as WeirError).code))
        return new Promise(() => {})
      })
  const serving = await serve(t, map)
  return { ...serving, accepted, reasons, slow, stream, news }
}

/** Sends requests until the server has ended the connection. @returns the paths that were answered */
async function askOn(client: RawClient, name: string): Promise<string[]> {
  const answered: string[] = []
  for (let i = 0; ; i++) {
    const path = `/${i % 3 === 0 ? 'later' : 'quick'}/${name}-${i}`
    const response = await client
      .get(path)
      .message()
      .catch(() => null)
    if (response === null) return answered
    assert.equal(response.text, `${name}-${i}`)
    answered.push(path)
    if (response.header('connection') === 'close') return answered
  }
}

/** Keeps a few requests in progress at a time. @returns the paths that were answered */
async function pipelineOn(client: RawClient, name: string): Promise<string[]> {
  const answered: string[] = []
  let sent = 0
  for (let i = 0; ; i++) {
    while (sent < i + 8) client.get(`/${sent % 3 === 0 ? 'later' : 'quick'}/${name}-${sent++}`)
    const response = await client.message().catch(() => null)
    if (response === null) return answered
    assert.equal(response.text, `${name}-${i}`)
    answered.push(`/${i % 3 === 0 ? 'later' : 'quick'}/${name}-${i}`)
    if (response.header('connection') === 'close') return answered
  }
}

const numbered = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

inBothReadModes('stop under load', (serve) => {
  test('with idle, busy, pipelined, streaming, polling and uploading clients at the same time: what was accepted is answered', async (t) => {
    const { server, connect, accepted, slow, stream, news } = await busyServer(serve, t)
    const connections = async (count: number): Promise<RawClient[]> => Promise.all(numbered(count, () => connect()))
    const idle = await connections(10)
    for (const client of idle.slice(5)) await client.get('/quick/idle').message()
    const busy = (await connections(5)).map((client, n) => askOn(client, `busy${n}`))
    const pipelined = (await connections(5)).map((client, n) => pipelineOn(client, `pipelined${n}`))
    const slowOnes = (await connections(5)).map((client, n) => client.get(`/slow/${n}`))
    const streaming = (await connections(5)).map((client, n) => client.get(`/stream/${n}`))
    const polling = (await connections(20)).map((client, n) => client.get(`/poll/${n}`))
    const uploads = (await connections(5)).map((client, n) =>
      client.send(`POST /upload/${n} HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(100_000)}`),
    )
    const waiting = [...slowOnes, ...streaming, ...polling, ...uploads]
    await eventually(
      () => [...accepted].filter((path) => /slow|stream|poll|upload/.test(path)).length === waiting.length,
      'the start of all handlers',
    )
    for (const client of streaming) await client.until('first ')

    const stopped = server.stop({ graceMs: 60_000 })
    assert.deepEqual(
      await within(Promise.all(idle.map((client) => client.closed())), 'the end of the idle'),
      idle.map(() => 'end'),
    )
    const answered = (await within(Promise.all([...busy, ...pipelined]), 'the end of the busy')).flat()
    for (const client of uploads) client.send('x'.repeat(100_000))
    slow.open()
    news.open()
    stream.open()
    const closing = (response: Message): string => `${response.status} ${response.text} ${response.header('connection')}`
    for (const [n, client] of slowOnes.entries()) assert.equal(closing(await client.message()), `200 ${n} close`)
    for (const [n, client] of polling.entries()) assert.equal(closing(await client.message()), `200 ${n} close`)
    for (const [n, client] of uploads.entries()) assert.equal(closing(await client.message()), `200 ${n} 200000 close`)
    for (const [n, client] of streaming.entries()) assert.match(await client.rest(), new RegExp(`\r\n${n}\r\n0\r\n\r\n$`))
    for (const client of waiting) assert.equal(await client.closed(), 'end')
    assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
    const quickOnes = [...accepted].filter((path) => /quick|later/.test(path) && path !== '/quick/idle')
    assert.deepEqual(quickOnes.sort(), answered.sort())
  })

  test('a request that is on its way when the server stops is answered, on a connection that was idle until then', async (t) => {
    const { server, connect } = await busyServer(serve, t)
    const [used, fresh, silent] = await Promise.all([connect(), connect(), connect()])
    await used.get('/quick/first').message()
    await silent.get('/quick/first').message()
    const stopped = server.stop()
    for (const client of [used, fresh]) client.get('/later/last')
    for (const client of [used, fresh]) {
      const response = await within(client.message(), 'the response')
      assert.deepEqual([response.status, response.text, response.header('connection')], [200, 'last', 'close'])
    }
    assert.equal(await within(silent.closed(), 'the end of the silent one'), 'end')
    assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
  })

  for (const graceMs of [0, 5]) {
    test(`an idle connection ends normally, even with only ${graceMs} ms to stop`, async (t) => {
      const { server, connect } = await busyServer(serve, t)
      const client = await connect()
      await client.get('/quick/first').message()
      const stops = [server.stop(), server.stop({ graceMs })]
      assert.deepEqual(await within(Promise.all(stops), 'the stop'), [{ aborted: 0 }, { aborted: 0 }])
      assert.equal(await within(client.closed(), 'the end'), 'end')
    })
  }

  test('at any moment of a busy time, every request that has reached a handler is answered', async (t) => {
    for (let round = 0; round < 15; round++) {
      const { server, connect, accepted } = await busyServer(serve, t)
      const clients = await Promise.all(numbered(12, () => connect()))
      const asking = clients.map((client, n) => (n % 2 === 0 ? askOn(client, `a${n}`) : pipelineOn(client, `p${n}`)))
      await eventually(() => accepted.size > 20 * round, 'some requests')
      assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
      const answered = (await within(Promise.all(asking), 'the end of the clients')).flat()
      assert.deepEqual([...accepted].sort(), answered.sort())
    }
  })

  test('the deadline aborts what is left, tells its handlers why, and reports how much it was', async (t) => {
    const { server, connect, accepted, reasons, slow, logged } = await busyServer(serve, t)
    // First, so that they have been accepted before the last handler starts: a connection that still waits to be accepted is not served.
    const idle = await Promise.all(numbered(5, () => connect()))
    const stuck = await Promise.all(numbered(7, async (n) => (await connect()).get(`/stuck/${n}`)))
    const streaming = await Promise.all(numbered(3, async (n) => (await connect()).get(`/stream/${n}`)))
    const halfway = await Promise.all(
      numbered(4, async (n) => (await connect()).send(`POST /upload/${n} HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf`)),
    )
    const finishing = await Promise.all(numbered(5, async (n) => (await connect()).get(`/slow/${n}`)))
    await eventually(() => accepted.size === 19, 'the start of all handlers')
    for (const client of streaming) await client.until('first ')
    const stopped = server.stop({ graceMs: 300 })
    slow.open()
    for (const client of finishing) assert.equal((await client.message()).header('connection'), 'close')
    assert.deepEqual(await within(stopped, 'the stop'), { aborted: 14 })
    assert.deepEqual(
      reasons,
      stuck.map(() => 'WEIR_SERVER_STOPPED'),
    )
    for (const client of [...stuck, ...streaming, ...halfway]) assert.equal(await client.closed(), 'reset')
    for (const client of [...idle, ...finishing]) assert.equal(await client.closed(), 'end')
    // Only the aborted uploads are reported to the host program, with one line for all of them.
    assert.deepEqual(
      logged.map((error) => (error as WeirError).code),
      ['WEIR_SERVER_STOPPED'],
    )
  })
})
