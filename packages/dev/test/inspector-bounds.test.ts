// What clients send costs the inspector little: one exchange with many secrets, many messages at once, and WebSockets that stay open.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { HttpServer } from '../../weirjs/src/index.ts'
import { dev } from '../../weirjs/src/modules/kit/index.ts'
import { websocket } from '../../weirjs/src/modules/websocket/index.ts'
import { RawClient } from '../../weirjs/test/support/raw-client.ts'
import { eventually } from '../../weirjs/test/support/serving.ts'
import { Turns } from '../../weirjs/test/support/turns.ts'
import { frame, TEXT } from '../../weirjs/test/support/websocket-client.ts'
import { inspector } from '../src/index.ts'
import { Capture } from '../src/inspector/capture.ts'
import type { Entry } from '../src/inspector/entry.ts'
import { ExchangeList } from '../src/inspector/exchange-list.ts'
import { SocketMessages } from '../src/inspector/socket-messages.ts'

test('the secrets of a head that are looked for in the rest of the exchange are bounded, and all are masked', async () => {
  const server = new HttpServer({ logger: null })
  const masking = dev.masking(server, [])
  const list = new ExchangeList(10)
  let most = 0
  const counting: dev.Masking = {
    refresh: () => masking.refresh(),
    request: (text, isRefused) => masking.request(text, isRefused),
    refusedHead: (text) => masking.refusedHead(text),
    target: (target) => masking.target(target),
    field: (name, value) => masking.field(name, value),
    body: (text, contentType) => masking.body(text, contentType),
    isSecret: (name) => masking.isSecret(name),
    without(text, secrets) {
      most = Math.max(most, secrets.length)
      return masking.without(text, secrets)
    },
  }
  const capture = new Capture(list, counting, 1_024, () => false)
  server.observe({ begin: (start) => capture.begin(start), end: (record) => capture.end(record) })
  server.mapGet('/', () => 'x')
  const secretIn = (field: number, i: number): string => `s${field}<'&"%22${i}`
  for (const fields of [10, 40, 160]) {
    const cookies = Array.from({ length: fields }, (_, field) => Array.from({ length: 20 }, (_, i) => `a=${secretIn(field, i)}`).join('; '))
    await server.inject({ url: '/', headers: cookies.map((value): [string, string] => ['Cookie', value]) })
    await eventually(() => list.entries.at(-1)?.requestHead.includes(`a=`) === true, 'the entry')
    assert.doesNotMatch(list.entries.at(-1)!.requestHead, /a=s/)
  }
  assert.ok(most > 20 && most < 2_000, `${most} texts are looked for`)
})

test('messages of a WebSocket with secrets are read in several turns of the event loop', async (t) => {
  const turns = new Turns(t)
  const server = new HttpServer({ hosts: 'any', port: 0, logger: null })
  server.use(inspector({ token: 'token-of-these-tests-1' }))
  server.use(websocket('/', { message: () => turns.count() }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const client = await RawClient.connect(server.port)
  t.after(() => client.destroy())
  client.send(
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  )
  await client.until('\r\n\r\n')
  const messages = 600 // one read, which one turn handles without the inspector
  client.send(Buffer.concat(Array.from({ length: messages }, (_, i) => frame(TEXT, `"token":"<${i}'&z",`.repeat(4)))))
  await eventually(() => turns.all === messages, 'all messages')
  assert.ok(turns.most < messages * 0.9, `${turns.most} in one turn`)
})

test('open WebSockets whose rows are gone keep few messages, all of them together', () => {
  const masking = dev.masking(new HttpServer({ logger: null }), [])
  const list = new ExchangeList(10)
  const all = Array.from({ length: 300 }, (_, i) => {
    const messages = new SocketMessages(masking, () => [])
    list.add({ number: i, kind: 'request', messages, requestId: null, requestHead: '', lines: [], hiddenChars: 0 } as unknown as Entry)
    messages.add(true, 'a')
    return messages
  })
  for (const messages of all) messages.add(true, 'b')
  const open = all.filter(({ kept }) => kept.length > 0)
  assert.ok(open.length > 10 && open.length < 150, `${open.length} keep messages`)
  assert.equal(all.at(-11)!.kept.length, 2)
  assert.deepEqual([all[0]!.kept.length, all[0]!.count], [0, 2])
  list.clear()
  assert.equal(all.at(-1)!.kept.length, 2)
})
