// Events that `answers` declare: in tests and with `debug`, others are not sent.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, t } from '../../src/index.ts'
import { events } from '../../src/modules/client/index.ts'
import { SseChannel, type SseEvent, type SseSource, sse } from '../../src/modules/sse/index.ts'

const Tick = t.object({ n: t.int, at: t.dateTime.optional(), parts: t.array(t.object({ a: t.string })).optional() })
const named = events({ tick: Tick, message: t.object({ m: t.string }) })
const unnamed = events(Tick)

function serverOf(source: SseSource, declared: object, debug = false) {
  const errors: string[] = []
  const logger = { error: (message: string, error?: unknown) => void errors.push(`${message} ${(error as Error | undefined)?.message}`) }
  const server = new HttpServer({ logger, debug, port: 0 })
  server.mapGet('/', { answers: { 200: declared as typeof named } }, (_, session) => sse(session, source) as never)
  return { server, errors }
}

/** What a client gets, and the error that ended the stream. */
async function sentOf(source: SseSource, declared: object, where: 'inject' | 'debug' | 'production') {
  const { server, errors } = serverOf(source, declared, where === 'debug')
  await using _ = server
  if (where === 'inject') {
    const text = await server.inject('/').then(
      (response) => response.text(),
      (error: Error) => `${error.message} ${(error.cause as Error | undefined)?.message}`,
    )
    return `${text} ${errors.join()}`
  }
  await server.start()
  const text = await fetch(`http://127.0.0.1:${server.port}/`)
    .then((response) => response.text())
    .catch((error: Error) => error.message)
  return `${text} ${errors.join()}`
}

async function* yielding(...list: (SseEvent | string)[]): AsyncGenerator<SseEvent | string> {
  yield* list
}

const WRONG: [string, object, SseEvent | string, RegExp][] = [
  [
    'a name that is not declared',
    named,
    { event: 'nonsense', data: { secret: 1 } },
    /an event of GET \/: the name "nonsense" is not declared; declared are tick, message/,
  ],
  ['a name of every object', named, { event: 'constructor', data: { secret: 1 } }, /"constructor" is not declared/],
  ['data of another type', named, { event: 'tick', data: { n: 'secret' } }, /the data of "tick": \/n: expected a whole number/],
  ['data of the usual name', named, { data: { x: 'secret' } }, /the data of "message": \/m: /],
  [
    'a Date where a day is declared',
    events(t.object({ day: t.date })),
    { data: { day: new Date(0), secret: 1 } },
    /\/day: expected a date like 2024-01-31, got "1970-.*: an event is sent as JSON.stringify writes it, so pass a day as text/,
  ],
  ['data of any name', unnamed, { event: 'any', data: { n: 'secret' } }, /the data of "any": \/n: expected/],
  ['a property that is not declared', unnamed, { data: { n: 1, secret: 1 } }, /the data of "message" has \/secret, which is not declared/],
  ['one deeper', unnamed, { data: { n: 1, parts: [{ a: 'x' }, { a: 'y', secret: 1 }] } }, /has \/parts\/1\/secret, which/],
  ['text where JSON is declared', unnamed, 'secret text', /the data of "message" is not JSON/],
]
for (const [what, declared, event, expected] of WRONG) {
  for (const where of ['inject', 'debug'] as const)
    test(`${what} ends the stream: ${where}`, async () => {
      const sent = await sentOf(yielding({ comment: 'begin' }, event), declared, where)
      assert.match(sent, expected)
      assert.doesNotMatch(sent, /data: .*secret/)
    })

  test(`${what} is sent in production`, async () => {
    assert.match(await sentOf(yielding(event), declared, 'production'), /data: /)
  })
}

for (const where of ['inject', 'debug', 'production'] as const)
  test(`what is declared is sent, and so is what has no data: ${where}`, async () => {
    const good = yielding(
      { comment: 'x' },
      { retry: 5 },
      { id: '7' },
      { event: 'tick', data: { n: 1, at: new Date(0), parts: [{ a: 'x\n\ny' }] } },
      { data: { m: 'data: {}' } },
    )
    const sent = await sentOf(good, named, where)
    assert.match(
      sent,
      /event: tick\ndata: \{"n":1,"at":"1970-01-01T00:00:00.000Z","parts":\[\{"a":"x\\n\\ny"\}\]\}\n\ndata: \{"m":"data: \{\}"\}\n\n $/,
    )
    assert.match(await sentOf(yielding('any text'), events(), where), /data: any text\n\n $/)
  })

test('events of a channel are checked as well, and its other clients are not affected', async () => {
  const channel = new SseChannel()
  const { server, errors } = serverOf(channel, named, true)
  server.mapGet('/undeclared', (_, session) => sse(session, channel))
  await using _ = server
  await server.start()
  const [declared, undeclared] = await Promise.all(['', 'undeclared'].map((path) => fetch(`http://127.0.0.1:${server.port}/${path}`)))
  const reading = declared!.text()
  while (channel.size < 2) await new Promise((resolve) => setImmediate(resolve))
  channel.send({ event: 'nonsense', data: { secret: 1 } })
  await assert.rejects(reading)
  assert.match(errors.join(), /the name "nonsense" is not declared/)
  assert.equal(channel.size, 1)
  await undeclared!.body!.cancel()
})
