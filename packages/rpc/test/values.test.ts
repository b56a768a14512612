// Messages of many small values, which take far more time and memory than their bytes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'

import { fromBinary, isMessage, type Message, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { HttpServer } from 'weirjs'

import { countBinaryValues } from '../src/binary-values.ts'
import { Codec } from '../src/codec.ts'
import { frame } from '../src/frames.ts'
import { mapService, type RpcOptions } from '../src/index.ts'
import { countJsonValues } from '../src/json-values.ts'
import { costOf } from '../src/message-cost.ts'
import { Node, OddService, oddTypes, sized, tagged, times } from './support/odd-types.ts'

const COST = costOf(Node)
const MAX = 262_144
const MANY = 400_000

const isRefused = (bytes: Uint8Array, maxValues = MAX): boolean => {
  try {
    countBinaryValues(bytes, COST, maxValues)
    return false
  } catch (error) {
    assert.deepEqual(
      [(error as { code?: string }).code, (error as Error).message],
      ['resource_exhausted', `a message may have at most ${maxValues} values (maxValues)`],
    )
    return true
  }
}

const isJsonRefused = (json: string, maxValues = MAX): boolean => {
  try {
    countJsonValues(Buffer.from(json), json, COST, oddTypes, maxValues)
    return false
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'resource_exhausted', String(error))
    return true
  }
}

const structOf = (entries: number): Buffer =>
  Buffer.concat(
    Array.from({ length: entries }, (_, i) => sized(1, Buffer.concat([sized(1, Buffer.from(`k${i}`)), sized(2, tagged(4, 0, [1]))]))),
  )

let levels: Buffer = Buffer.alloc(0)
for (let i = 0; i < 90; i++) levels = sized(2, levels)

/** Each becomes more than a message may have. */
const BINARY: Readonly<Record<string, Buffer>> = {
  'empty messages': times(MANY, sized(1)),
  'messages with many lists': times(15_000, sized(2)),
  'messages within messages': times(200, levels),
  texts: times(MANY, sized(3)),
  'bytes fields': times(MANY, sized(4)),
  'numbers one by one': times(MANY, tagged(5, 0, [1])),
  'numbers in one piece': sized(5, Buffer.alloc(4 * MANY)),
  'integers of 64 bits': sized(6, Buffer.alloc(2 * MANY)),
  enums: sized(9, Buffer.alloc(4 * MANY)),
  'a number again and again': times(MANY, tagged(17, 0, [1])),
  'a message again and again': times(15_000, sized(10)),
  'another of one again and again': times(15_000, sized(19)),
  'fields that are not declared': times(MANY, tagged(100, 0, [1])),
  'groups that are not declared': times(MANY / 2, Buffer.concat([tagged(100, 3), tagged(1, 0, [1]), tagged(100, 4)])),
  'entries of a map': times(50_000, sized(20)),
  'entries with messages': times(15_000, sized(21)),
  'keys of an entry': sized(20, times(MANY, sized(1))),
  'messages that state to be numbers': times(15_000, tagged(2, 0, [0])),
  'entries of a Struct': sized(11, structOf(8_000)),
  'a Struct again and again': Buffer.concat([sized(11, structOf(500)), times(500, sized(11))]),
  'a Struct in a message again and again': Buffer.concat([sized(10, sized(11, structOf(500))), times(500, sized(10, sized(11)))]),
  'a Struct in one of several again and again': Buffer.concat([sized(19, sized(11, structOf(500))), times(500, sized(19, sized(11)))]),
  'a Struct in an entry again and again': sized(22, Buffer.concat([sized(2, structOf(500)), times(500, sized(2))])),
  'values of a Value': sized(12, sized(6, times(40_000, sized(1)))),
}

const item = (text: string, count: number): string => Array<string>(count).fill(text).join()
const JSONS: Readonly<Record<string, string>> = {
  'empty messages': `{"empties":[${item('{}', 60_000)}]}`,
  'messages with many lists': `{"nodes":[${item('{}', 15_000)}]}`,
  'a message in a map': `{"nodeMap":{${Array.from({ length: 15_000 }, (_, i) => `"${i}":{}`)}}}`,
  texts: `{"texts":[${item('""', MANY)}]}`,
  numbers: `{"numbers":[${item('1', MANY)}]}`,
  'values of what is not declared': `{"x":[${item('1', MANY)}]}`,
  'lists of what is not declared': `{"x":${'['.repeat(MANY)}${']'.repeat(MANY)}}`,
  'names that are not declared': `{${Array.from({ length: MANY / 2 }, (_, i) => `"${i}":1`)}}`,
  'names that have not come before': `{${Array.from({ length: 30_000 }, (_, i) => `"n${i}":1`)}}`,
  'such names in many objects': `{"x":[${Array.from({ length: 28_000 }, (_, i) => `{"n${i}":1}`)}]}`,
  'entries of a Struct': `{"struct":{${Array.from({ length: 8_000 }, (_, i) => `"${i}":1`)}}}`,
  'values of a Value': `{"value":[${item('{}', 40_000)}]}`,
  'paths of a FieldMask': `{"mask":"${item('a', MANY / 2)}"}`,
  'capitals of a FieldMask': `{"mask":"${'A'.repeat(MANY)}"}`,
  times: `{"times":[${item('"2020-01-01T00:00:00Z"', 120_000)}]}`,
  'a message in an Any': `{"any":{"@type":"x/odd.Node","nodes":[${item('{}', 8_000)}]}}`,
  'an Any in an Any': `{"any":${'{"@type":"x/google.protobuf.Any","value":'.repeat(20)}{"@type":"x/odd.Node"}${'}'.repeat(20)}}`,
}

test('a message that becomes more values than it may have is refused, whatever they are', () => {
  for (const [name, bytes] of Object.entries(BINARY)) {
    assert.ok(bytes.length < 4 * 1024 * 1024, name)
    assert.ok(isRefused(bytes), name)
  }
  for (const [name, json] of Object.entries(JSONS)) {
    assert.ok(json.length < 4 * 1024 * 1024, name)
    assert.ok(isJsonRefused(json), name)
  }
})

test('a large message of few values is not', () => {
  const ROW = Buffer.concat([sized(3, Buffer.alloc(400)), sized(15, tagged(1, 0, [1])), tagged(17, 0, [1])])
  const rows = times(9_000, sized(2, ROW))
  assert.ok(rows.length > 3_500_000)
  assert.ok(isRefused(rows), 'a row with 23 fields counts all of them')
  assert.ok(!isRefused(times(5_000, sized(2, ROW))))
  for (const bytes of [
    sized(3, Buffer.alloc(4_000_000)),
    sized(8, Buffer.alloc(4_000_000)), // a million floats
    sized(7, Buffer.alloc(4_000_000)),
    times(1_000, sized(3, Buffer.alloc(4_000))),
  ])
    assert.ok(!isRefused(bytes))
  for (const json of [
    `{${Array.from({ length: 15_000 }, (_, i) => `"n${i}":1`)}}`,
    `{"x":[${item('{"one":1,"another":2,"third":3}', 25_000)}]}`,
    `{"text":"${'[{,:'.repeat(1_000_000)}"}`,
    `{"texts":[${item(`"${'\\"'.repeat(1_000)}"`, 1_000)}]}`,
  ])
    assert.ok(!isJsonRefused(json))
})

/** How many values a decoded message has at least, if none has been merged. Numbers in one piece count a quarter. */
function sizeOf(value: unknown): number {
  if (value instanceof Uint8Array || typeof value === 'string') return 1
  if (typeof value !== 'object' || value === null) return 0.25
  const parts = Array.isArray(value) ? value : Object.values(value)
  const within = parts.reduce<number>(
    (sum, part) => sum + (isMessage(part) || Array.isArray(part) || typeof part === 'object' ? sizeOf(part) : 0),
    0,
  )
  return within + (Array.isArray(value) ? value.reduce<number>((sum, part) => sum + (typeof part === 'object' ? 0 : sizeOf(part)), 0) : 1)
}

/** The least maximum with which the message is not refused. */
function countOf(bytes: Uint8Array): number {
  let [low, high] = [0, 1]
  while (isRefused(bytes, high)) [low, high] = [high, 2 * high]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (isRefused(bytes, middle)) low = middle
    else high = middle
  }
  return high
}

test('whatever the bytes are, what the decoder makes of them was counted', () => {
  const record: fc.Memo<Buffer> = fc.memo((depth) => {
    const number = fc.oneof(fc.integer({ min: 1, max: 24 }), fc.integer({ min: 1, max: 3_000 }))
    const content =
      depth <= 1
        ? fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes))
        : fc.oneof(message(depth - 1), fc.uint8Array({ maxLength: 12 }))
    return fc.oneof(
      { weight: 5, arbitrary: fc.tuple(number, content).map(([one, bytes]) => sized(one, bytes)) },
      { weight: 1, arbitrary: fc.tuple(number, fc.nat(7), content).map(([one, wireType, bytes]) => tagged(one, wireType, bytes)) },
      { weight: 2, arbitrary: fc.tuple(number, fc.nat(127)).map(([one, byte]) => tagged(one, 0, [byte])) },
      { weight: 1, arbitrary: fc.tuple(number, fc.nat(127), content).map(([one, length, bytes]) => tagged(one, 0, [length, ...bytes])) },
    )
  })
  const message: fc.Memo<Buffer> = fc.memo((depth) => fc.array(record(depth), { maxLength: 8 }).map((all) => Buffer.concat(all)))
  let decoded = 0
  fc.assert(
    fc.property(message(4), (bytes) => {
      let made: Message
      try {
        made = fromBinary(Node, bytes, { readUnknownFields: false })
      } catch {
        return
      }
      decoded++
      const least = sizeOf(made)
      const count = countOf(bytes)
      assert.ok(count >= least, `${bytes.toString('hex')}: ${count} of ${least}`)
      // Encoded again, nothing is merged and nothing unknown: it cannot have more.
      assert.ok(countOf(toBinary(Node, made)) >= least, bytes.toString('hex'))
    }),
    { numRuns: 3_000 },
  )
  assert.ok(decoded > 300, `${decoded} were messages`)
})

function serverOf(options: RpcOptions): HttpServer {
  const server = new HttpServer({ logger: null })
  const respond = () => ({})
  mapService(
    server,
    OddService,
    {
      say: respond,
      peek: respond,
      async gather(requests: AsyncIterable<unknown>) {
        for await (const _ of requests);
        return {}
      },
    } as never,
    options,
  )
  return server
}

test('every form of a call has the limit, and says it', async () => {
  const server = serverOf({ maxValues: 200, registry: oddTypes })
  const send = async (method: string, body: Uint8Array | string, headers: Readonly<Record<string, string>>): Promise<string> =>
    (await server.inject({ method: 'POST', url: `/odd.OddService/${method}`, body, headers })).text()
  const expected = /"?resource_exhausted"?.*at most 200 values \(maxValues\)/
  // A root has 24 values: one, and one for each of its 22 fields and its oneof. An Empty has two.
  for (const [count, isFine] of [
    [88, true],
    [89, false],
  ] as const) {
    const bytes = times(count, sized(1))
    const check = (text: string): void => assert.equal(expected.test(text), !isFine, `${count}: ${text}`)
    check(await send('Say', bytes, { 'Content-Type': 'application/proto' }))
    check(await send('Say', gzipSync(bytes), { 'Content-Type': 'application/proto', 'Content-Encoding': 'gzip' }))
    check(await send('Gather', frame(0, bytes), { 'Content-Type': 'application/connect+proto' }))
    check((await server.inject({ url: `/odd.OddService/Peek?encoding=proto&base64=1&message=${bytes.toString('base64url')}` })).text())
    const web = await send('Say', frame(0, bytes), { 'Content-Type': 'application/grpc-web' })
    assert.match(web, isFine ? /grpc-status: 0/ : /grpc-status: 8/)
  }
  for (const [count, isFine] of [
    [20, true],
    [60, false],
  ] as const) {
    const json = `{"empties":[${item('{}', count)}]}`
    for (const text of [
      await send('Say', json, { 'Content-Type': 'application/json' }),
      await send('Gather', frame(0, Buffer.from(json)), { 'Content-Type': 'application/connect+json' }),
    ])
      assert.equal(expected.test(text), !isFine, `${count}: ${text}`)
  }
})

test('an integer of 64 bits has few digits, wherever JSON has one', () => {
  const codec = new Codec(OddService.method['say']!, oddTypes, MAX)
  const digits = '1'.repeat(20_000)
  for (const json of [
    `{"long":"${digits}"}`,
    `{"longs":["${digits}"]}`,
    `{"wrapped":"${digits}"}`,
    `{"nodeMap":{"${digits}":{}}}`,
    `{"any":{"@type":"x/odd.Node","long":"${digits}"}}`,
  ])
    assert.throws(() => codec.decode(Buffer.from(json), 'json'), { code: 'invalid_argument', message: /20000 digits/ })
  assert.equal((codec.decode(Buffer.from(`{"long":"7","texts":["${digits}"]}`), 'json') as unknown as { long: bigint }).long, 7n)
})
