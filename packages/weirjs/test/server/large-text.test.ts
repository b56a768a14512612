// Large texts are written from memory that all connections share: no response may show a byte of another one.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'

import { inBothReadModes } from '../support/serving.ts'

/** 17 KB to 1.5 MB: from the smallest that uses this memory to one that is too large for it. */
const LENGTHS = [17_000, 32_700, 40_000, 70_000, 150_000, 600_000, 1_500_000]
const LETTERS = ['a', 'é', '語', '😀']

inBothReadModes('large texts', (serve) => {
  test('they arrive as they were sent, many at the same time, at clients that read late', async (t) => {
    const { server } = await serve(t, (server) => {
      server.mapGet('/:letter/:count', ({ letter, count }) => letter.repeat(Number(count)))
    })
    const wanted = LETTERS.flatMap((letter) => LENGTHS.map((length) => ({ letter, count: Math.ceil(length / Buffer.byteLength(letter)) })))
    const bodies = await Promise.all(
      wanted.map(async ({ letter, count }, i) => {
        const socket = connect(server.port, '127.0.0.1').pause()
        socket.write(`GET /${encodeURIComponent(letter)}/${count} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)
        // Half of them leave the server with bytes that the system does not accept, while the others are answered.
        if (i % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 50))
        const chunks: Buffer[] = []
        for await (const chunk of socket) chunks.push(chunk as Buffer)
        const text = Buffer.concat(chunks).toString()
        return text.slice(text.indexOf('\r\n\r\n') + 4)
      }),
    )
    for (const [i, { letter, count }] of wanted.entries()) assert.ok(bodies[i] === letter.repeat(count), `${count} times ${letter}`)
  })

  test('pipelined ones arrive in order and complete', async (t) => {
    const { connect: open } = await serve(t, (server) => server.mapGet('/:letter', ({ letter }) => letter.repeat(50_000)))
    const client = await open()
    client.send(
      'GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\nGET /c HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n',
    )
    const bodies = (await client.rest()).split(/HTTP\/1\.1 200 OK\r\n[\s\S]*?\r\n\r\n/).slice(1)
    assert.deepEqual(
      bodies.map((body) => [body[0], body.length, new Set(body).size]),
      [
        ['a', 50_000, 1],
        ['b', 50_000, 1],
        ['c', 50_000, 1],
      ],
    )
  })
})
