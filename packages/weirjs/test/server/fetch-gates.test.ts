// server.fetch and gates: they run before the body is read.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpError, HttpServer } from '../../src/index.ts'
import { settled } from '../../src/testing/test-clock.ts'
import { gate, within } from '../support/serving.ts'

interface CountedRequest {
  readonly request: Request
  /** How often a piece of its body was requested. */
  pulls(): number
}

function counted(init: RequestInit = {}): CountedRequest {
  let pulls = 0
  const body = new ReadableStream(
    {
      pull(controller) {
        if (pulls++ === 0) controller.enqueue(Buffer.from('body'))
        else controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  const request = new Request('http://localhost/', { ...init, method: 'POST', body, duplex: 'half' } as RequestInit)
  return { request, pulls: () => pulls }
}

for (const mode of ['buffer', 'stream'] as const) {
  for (const when of ['at once', 'later'] as const) {
    test(`a gate that refuses ${when} leaves the body unread (${mode})`, async () => {
      const server = new HttpServer({ logger: null })
      const refuse = (): never => {
        throw new HttpError(401, 'who are you?')
      }
      server.gate(when === 'at once' ? refuse : () => settled().then(refuse))
      server.mapPost('/', { body: mode }, () => assert.fail('the handler ran'))
      const { request, pulls } = counted()
      assert.equal((await server.fetch(request)).status, 401)
      assert.deepEqual([pulls(), request.bodyUsed], [0, false])
    })

    test(`a gate that lets the request pass ${when} changes nothing (${mode})`, async () => {
      const server = new HttpServer({ logger: null })
      server.gate(when === 'at once' ? () => {} : settled)
      server
        .mapPost('/', { body: mode }, async (_, { request }) => {
          await request.bufferBody()
          return request.body
        })
        .mapGet('/', () => 'no body')
      assert.equal(await (await within(server.fetch(counted().request), 'the response')).text(), 'body')
      assert.equal(await (await within(server.fetch(new Request('http://localhost/')), 'the response')).text(), 'no body')
    })
  }
}

test('a request that is aborted at a gate does not reach its handler', async () => {
  const controller = new AbortController()
  const [waiting, passed] = [gate(), gate()]
  const server = new HttpServer({ logger: null })
  server.gate(async () => {
    waiting.open()
    await passed.promise
  })
  server.mapPost('/', () => assert.fail('the handler ran'))
  const { request, pulls } = counted({ signal: controller.signal })
  const response = server.fetch(request)
  await waiting.promise
  controller.abort(new Error('left'))
  await assert.rejects(response, /left/)
  passed.open()
  await settled()
  assert.equal(pulls(), 0)
})
