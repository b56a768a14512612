import assert from 'node:assert/strict'
import { test } from 'node:test'

import { create, toBinary } from '@bufbuild/protobuf'

import { eventually, gate } from '../../weirjs/test/support/serving.ts'
import { Turns } from '../../weirjs/test/support/turns.ts'
import { inDecodingTurn } from '../src/decoding-turns.ts'
import { frame } from '../src/frames.ts'
import { mapService } from '../src/index.ts'
import { EchoRequestSchema, EchoService } from './proto/echo_pb.ts'
import { serveCleartext } from './support/cleartext.ts'

test('messages that take long to decode take turns of the event loop, and so do their clients', async (t) => {
  const turns = new Turns(t)
  const order: string[] = []
  const decode = (client: string, name: string): string | Promise<string> =>
    inDecodingTurn(client, () => {
      for (const start = performance.now(); performance.now() - start < 15; );
      turns.count()
      order.push(name)
      return name
    })
  assert.equal(decode('192.0.2.1', 'first'), 'first')
  const others = [1, 2, 3, 4].map((number) => decode('192.0.2.1', `many ${number}`))
  const one = decode('192.0.2.2', 'one')
  const bad = inDecodingTurn('192.0.2.2', () => {
    throw new Error('bad')
  })
  assert.deepEqual(order, ['first'])
  assert.equal(await one, 'one')
  await assert.rejects(bad as Promise<unknown>, { message: 'bad' })
  assert.deepEqual(await Promise.all(others), ['many 1', 'many 2', 'many 3', 'many 4'])
  assert.deepEqual(order, ['first', 'many 1', 'one', 'many 2', 'many 3', 'many 4'])
  assert.ok(turns.most <= 2, `${turns.most} messages in one turn`)
})

test('the small messages of many streams take turns of the event loop together', async (t) => {
  const turns = new Turns(t)
  const begun = gate()
  let waiting = 0
  const client = await serveCleartext(t, (server) =>
    mapService(server, EchoService, {
      async gather(requests) {
        waiting++
        await begun.promise
        for await (const _ of requests) turns.count()
        return {}
      },
    }),
  )
  const message = frame(0, toBinary(EchoRequestSchema, create(EchoRequestSchema, { text: 'a' })))
  for (let i = 0; i < 100; i++)
    client
      .request({ ':method': 'POST', ':path': '/test.v1.EchoService/Gather', 'content-type': 'application/grpc', te: 'trailers' })
      .end(Buffer.concat(Array<Buffer>(64).fill(message)))
  await eventually(() => waiting === 100, 'all streams have begun')
  await new Promise<void>((resolve, reject) => client.ping((error) => (error === null ? resolve() : reject(error)))) // all messages have arrived
  begun.open()
  await eventually(() => turns.all === 6_400, 'all messages were read')
  assert.ok(turns.most <= 2 * 1_100, `${turns.most} in one turn`) // the check phase may have two parts, and each stream has one at hand
})
