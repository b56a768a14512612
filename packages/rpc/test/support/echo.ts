// What the clients of the tests call: each kind of method, and each way to fail.

import { errorDetail, RpcError, type RpcImplementation } from '../../src/index.ts'
import { EchoRequestSchema, type EchoService } from '../proto/echo_pb.ts'

export const ECHO: RpcImplementation<typeof EchoService> = {
  async say({ text }, call) {
    if (text === 'fail')
      throw new RpcError('not_found', 'no ä here %', [errorDetail(EchoRequestSchema, { text: 'detail' })], {
        metadata: { 'x-why': 'gone' },
      })
    if (text === 'break') throw new Error('a secret')
    if (text === 'wait') await new Promise((resolve) => call.signal.addEventListener('abort', resolve, { once: true }))
    call.responseHeaders.set('x-head', call.requestHeaders.get('x-sent') ?? 'none')
    call.responseTrailers.set('x-tail', 'the end')
    const data = call.requestHeaders.get('x-data-bin')
    if (data !== null) call.responseTrailers.set('x-data-bin', data)
    call.responseTrailers.set('x-sent-in', call.requestHeaders.get('grpc-encoding') ?? 'identity')
    return { text }
  },
  peek: ({ text }) => ({ text: `peeked at ${text}` }),
  async *repeat({ text, count }) {
    for (let index = 0; index < count; index++) yield { text, index }
    if (text === 'fail') throw new RpcError('aborted', 'in the middle')
    if (text === 'break') throw new Error('a secret')
  },
  async gather(requests) {
    let all = ''
    for await (const { text } of requests) all += text
    return { text: all }
  },
  async *converse(requests) {
    for await (const { text } of requests) yield { text: `re: ${text}` }
  },
}
