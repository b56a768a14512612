// How streams read and write several messages at once.
import assert from 'node:assert/strict'
import http2 from 'node:http2'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'

import { eventually } from '../../weirjs/test/support/serving.ts'
import { FrameQueue, frame } from '../src/frames.ts'
import { mapService, type RpcImplementation, type RpcOptions } from '../src/index.ts'
import { EchoRequestSchema, EchoResponseSchema, EchoService } from './proto/echo_pb.ts'
import { serveCleartext } from './support/cleartext.ts'

const serve = (t: TestContext, implementation: RpcImplementation<typeof EchoService>, options: RpcOptions = {}) =>
  serveCleartext(t, (server) => mapService(server, EchoService, implementation, options))

interface Outcome {
  readonly status: string
  readonly texts: readonly string[]
  /** How many pieces the messages came in. */
  readonly pieces: number
}

/** @param fields of the head beside those of gRPC */
function open(client: http2.ClientHttp2Session, method: string, fields: Readonly<Record<string, string>> = {}) {
  const path = `/test.v1.EchoService/${method}`
  const stream = client.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...fields })
  const outcome = new Promise<Outcome>((resolve, reject) => {
    const queue = new FrameQueue()
    let pieces = 0
    let status = ''
    const see = (seen: http2.IncomingHttpHeaders): void => void (status = String(seen['grpc-status'] ?? status))
    stream
      .on('response', see)
      .on('trailers', see)
      .on('data', (piece: Buffer) => {
        pieces++
        queue.add(piece, 0, piece.length)
      })
      .on('error', reject)
      .on('close', () => {
        const texts: string[] = []
        for (let one = queue.take(1e6); one !== null; one = queue.take(1e6)) texts.push(fromBinary(EchoResponseSchema, one.bytes).text)
        resolve({ status, texts, pieces })
      })
  })
  return { stream, outcome }
}

const message = (text: string, padding = 0): Uint8Array =>
  toBinary(EchoRequestSchema, create(EchoRequestSchema, { text, padding: new Uint8Array(padding) }))

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']

test('several reads at once get the messages in order, however they arrive', async (t) => {
  const client = await serve(t, {
    async gather(requests) {
      const iterator = requests[Symbol.asyncIterator]()
      let text = ''
      for (;;) {
        const results = await Promise.all([iterator.next(), iterator.next(), iterator.next()])
        for (const { done, value } of results) text += done === true ? '.' : value.text
        if (results.some(({ done }) => done)) return { text }
      }
    },
  })
  for (const isZipped of [false, true])
    for (const step of [1, 3, 26]) {
      const { stream, outcome } = open(client, 'Gather', isZipped ? { 'grpc-encoding': 'gzip' } : {})
      // The thread pool decompresses every other message.
      const frames = LETTERS.map((text, i) =>
        isZipped ? frame(1, gzipSync(message(text, i % 2 === 0 ? 100_000 : 1_000))) : frame(0, message(text)),
      )
      for (let i = 0; i < frames.length; i += step) {
        stream.write(Buffer.concat(frames.slice(i, i + step)))
        await new Promise((resolve) => setImmediate(resolve))
      }
      stream.end()
      assert.deepEqual(await outcome, { status: '0', texts: [`${LETTERS.join('')}.`], pieces: 1 })
    }
})

test('what a handler does not read is discarded, and its connection goes on', async (t) => {
  const client = await serve(t, {
    async gather(requests) {
      for await (const { text } of requests) return { text }
      return {}
    },
    say: ({ text }) => ({ text }),
  })
  const { stream, outcome } = open(client, 'Gather')
  const one = frame(0, message('a', 10_000))
  for (let i = 0; i < 20; i++) stream.write(one)
  stream.end()
  assert.deepEqual((await outcome).texts, ['a'])
  for (let i = 0; i < 20; i++) {
    const said = open(client, 'Say')
    said.stream.end(frame(0, message('b', 10_000)))
    assert.deepEqual((await said.outcome).texts, ['b'])
  }
})

test('messages that are there at once leave as one piece, and before a failure behind them', async (t) => {
  const client = await serve(t, {
    async *repeat({ text }) {
      for (const letter of LETTERS) yield { text: letter }
      if (text === 'fail') throw new Error('no')
      if (text === 'wrong') yield 'wrong' as never
      if (text !== 'wait') return
      await new Promise((resolve) => setImmediate(resolve))
      for (const letter of LETTERS) yield { text: letter }
    },
  })
  const outcomeOf = (text: string): Promise<Outcome> => {
    const { stream, outcome } = open(client, 'Repeat')
    stream.end(frame(0, message(text)))
    return outcome
  }
  assert.deepEqual(await outcomeOf(''), { status: '0', texts: LETTERS, pieces: 1 })
  assert.deepEqual(await outcomeOf('fail'), { status: '13', texts: LETTERS, pieces: 1 })
  assert.deepEqual(await outcomeOf('wrong'), { status: '13', texts: LETTERS, pieces: 1 })
  assert.deepEqual(await outcomeOf('wait'), { status: '0', texts: [...LETTERS, ...LETTERS], pieces: 2 })
})

test('iterators that programs write themselves can fail and end in any way', async (t) => {
  let returned = 0
  const iterating = (next: () => unknown, others: object = {}) =>
    ({ [Symbol.asyncIterator]: () => ({ next, ...others }) }) as unknown as AsyncIterable<object>
  let made = 0
  const client = await serve(t, {
    repeat({ text }) {
      made = 0
      const fail = (): never => {
        throw new Error('no')
      }
      const end = (): unknown => {
        returned++
        return text === 'bad return' ? fail() : Promise.reject(new Error('no'))
      }
      if (text === 'at once') return iterating(fail)
      return iterating(() => (made++ < 3 ? { done: false, value: { text: 'a' } } : text === 'plain' ? { done: true } : fail()), {
        return: end,
      })
    },
  })
  const outcomeOf = async (text: string): Promise<string> => {
    const { stream, outcome } = open(client, 'Repeat')
    stream.end(frame(0, message(text)))
    const { status, texts } = await outcome
    return `${status} ${texts.join('')}`
  }
  assert.equal(await outcomeOf('plain'), '0 aaa')
  assert.equal(await outcomeOf('at once'), '13 ')
  assert.equal(await outcomeOf('later'), '13 aaa')
  assert.equal(await outcomeOf('bad return'), '13 aaa')
  assert.equal(returned, 2)
})

test('a handler that waits for something else ends when its client leaves, in every kind of stream', async (t) => {
  const ended: string[] = []
  let begun = 0
  const never = new Promise<never>(() => {})
  const endless = (name: string, isFirst: boolean): AsyncIterable<object> => {
    let isDue = !isFirst
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          if (!isDue) begun++
          const next = isDue ? Promise.resolve({ done: false, value: {} }) : never
          isDue = false
          return next
        },
        return: async () => {
          ended.push(name)
          return { done: true, value: undefined }
        },
      }),
    }
  }
  const client = await serve(t, {
    repeat: ({ text }) => endless(`repeat ${text}`, text === 'first'),
    converse: (_, call) => endless('converse', call.requestHeaders.get('x-first') !== null),
  })
  const cases: [string, string, Readonly<Record<string, string>>][] = [
    ['Repeat', 'first', {}],
    ['Repeat', 'second', {}],
    ['Converse', '', { 'x-first': '1' }],
    ['Converse', '', {}],
  ]
  for (const [method, text, fields] of cases) {
    const { stream, outcome } = open(client, method, fields)
    outcome.catch(() => {})
    stream.write(frame(0, message(text)))
    if (method === 'Repeat') stream.end()
    const before = begun
    await eventually(() => begun > before, 'it waits')
    stream.close(http2.constants.NGHTTP2_CANCEL)
    const count = ended.length
    await eventually(() => ended.length > count, `${method} ${text} ends`)
  }
  assert.deepEqual(ended, ['repeat first', 'repeat second', 'converse', 'converse'])
})
