// An implementation that was written for Connect: it compiles here with another context, and serves.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { ServiceImpl } from '@connectrpc/connect'
import { HttpServer } from 'weirjs'

import { mapService, type RpcCall, type RpcImplementation } from '../src/index.ts'
import { type EchoRequest, EchoService } from './proto/echo_pb.ts'

type Implementation = ServiceImpl<typeof EchoService>

/** As Connect wants it, but for the context. */
type WithCall = {
  [K in keyof Implementation]: Implementation[K] extends (request: infer I, context: never) => infer O
    ? (request: I, call: RpcCall) => O
    : never
}

/** Compiles only if every implementation fits. */
const fitted = (implementation: WithCall): RpcImplementation<typeof EchoService> => implementation

/** Checked against both types. */
const written = {
  async say({ text }: EchoRequest) {
    return { text }
  },
  peek({ text }: EchoRequest) {
    return { text }
  },
  async *repeat({ text, count }: EchoRequest) {
    for (let index = 0; index < count; index++) yield { text, index }
  },
  async gather(requests: AsyncIterable<EchoRequest>) {
    let all = ''
    for await (const { text } of requests) all += text
    return { text: all }
  },
  async *converse(requests: AsyncIterable<EchoRequest>) {
    for await (const { text } of requests) yield { text }
  },
} satisfies Implementation satisfies RpcImplementation<typeof EchoService>

test('an implementation for Connect serves as it is, and one that uses its context with another type for that', async () => {
  for (const implementation of [
    written,
    fitted({ ...written, say: ({ text }, { requestHeaders }) => ({ text: text + requestHeaders.get('x-a') }) }),
  ]) {
    const server = new HttpServer({ logger: null })
    mapService(server, EchoService, implementation)
    const said = await server.inject({ method: 'POST', url: '/test.v1.EchoService/Say', json: { text: 'a' }, headers: { 'x-a': '!' } })
    assert.deepEqual(said.json(), { text: implementation === written ? 'a' : 'a!' })
  }
})
