// `server.fetch` when its caller gives up at an unusual moment, and what happens to the body of the request.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { gate } from '../support/serving.ts'
import { Turns } from '../support/turns.ts'

test('a signal that aborts before the handler has settled is noticed, whoever aborts it', async () => {
  const server = new HttpServer({ logger: null })
  const controllers = [new AbortController(), new AbortController()]
  const reasons: unknown[] = []
  server.observe({ begin: ({ session }) => session.request.url === '/0' && controllers[0]!.abort('by an observer'), end() {} })
  server.mapGet('/:n', async ({ n }, { signal }) => {
    if (n === '1') controllers[1]!.abort('by the handler')
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
    reasons.push((signal.reason as Error).cause)
  })
  for (const [n, { signal }] of controllers.entries())
    await server.fetch(new Request(`http://h/${n}`, { signal })).catch((reason: unknown) => reasons.push(reason))
  assert.deepEqual(reasons.sort(), ['by an observer', 'by an observer', 'by the handler', 'by the handler'])
})

test('the body of a request whose response breaks is cancelled', async () => {
  const server = new HttpServer({ logger: null })
  const cancelled = gate<unknown>()
  server.mapPost('/', { body: 'stream' }, (_, { request }) => {
    request.bodyStream().on('error', () => {})
    return (async function* () {
      yield 'first'
      throw new Error('broken')
    })()
  })
  const body = new ReadableStream({ pull: () => new Promise(() => {}), cancel: cancelled.open })
  const response = await server.fetch(new Request('http://h/', { method: 'POST', body, duplex: 'half' } as RequestInit))
  await assert.rejects(response.text())
  assert.match(String(await cancelled.promise), /broken/)
})

test('a body whose pieces are all there is read in several turns of the event loop', async (t) => {
  const turns = new Turns(t)
  const server = new HttpServer({ logger: null })
  server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
    let size = 0
    for await (const piece of request.bodyStream()) size += piece.length
    return size
  })
  const body = new ReadableStream(
    {
      pull(controller) {
        if (turns.all === 20_000) controller.close()
        else controller.enqueue(new Uint8Array(1))
        turns.count()
      },
    },
    { highWaterMark: 0 },
  )
  const response = await server.fetch(new Request('http://h/', { method: 'POST', body, duplex: 'half' } as RequestInit))
  assert.equal(await response.text(), '20000')
  assert.ok(turns.most <= 2 * 4_096, `${turns.most} pieces in one turn`) // the check phase may have two parts
})
