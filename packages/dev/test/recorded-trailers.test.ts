// record and replay with fields after the body.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import { HttpServer } from '../../weirjs/src/index.ts'
import { connect } from '../../weirjs/src/testing/index.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { record, replay } from '../src/index.ts'

function server(suffix = ''): HttpServer {
  const server = new HttpServer({ logger: null })
  server.mapPost('/sum', { body: 'buffer' }, (_, { request }) => `${request.trailers.get('x-sum')}${suffix}`)
  return server
}

test('trailers of requests are recorded, without secrets, and replayed', async (t) => {
  const to = join(temporaryDirectory(t), 'exchanges')
  const original = server()
  const recording = record(original, { to })
  await using client = connect(original)
  const head = 'POST /sum HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
  await client.send(`${head}3\r\nabc\r\n0\r\nX-Sum: 900150983c`)
  await client.send('d24fb0\r\nX-Auth-Token: SECRET-1\r\n\r\n')
  assert.equal((await client.answer()).text(), '900150983cd24fb0')
  assert.equal((await recording.stop()).exchanges, 1)
  const text = readFileSync(join(to, readdirSync(to)[0]!), 'utf8')
  assert.ok(!text.includes('SECRET'), text)
  const same = await replay(server(), to)
  assert.equal(same.exchanges, 1)
  assert.deepEqual(same.differences, [])
  const { differences } = await replay(server('!'), to)
  assert.deepEqual(
    differences.map(({ kind, recorded, replayed }) => [kind, recorded, replayed]),
    [['body', '"900150983cd24fb0"', '"900150983cd24fb0!"']],
  )
})

test('trailers of responses are recorded, without secrets, and compared', async (t) => {
  const to = join(temporaryDirectory(t), 'exchanges')
  const summed = (trailers: readonly [string, string][]): HttpServer =>
    new HttpServer({ logger: null }).mapGet('/', (_, { response }) => {
      response.stream(Readable.from(['abc']))
      for (const [name, value] of trailers) response.trailer(name, value)
      return response
    })
  const recorded: [string, string][] = [
    ['X-Sum', '900150983c'],
    ['X-Id', '11111111-2222-3333-4444-555555555555'],
    ['X-Auth-Token', 'SECRET-1'],
    ['Server-Timing', 'all;dur=1'],
    ['X-Turn', '1'],
  ]
  const original = summed(recorded)
  const recording = record(original, { to })
  const { trailers } = await original.inject({ url: '/', headers: { TE: 'trailers' } })
  assert.equal(trailers.get('x-sum'), '900150983c')
  await recording.stop()
  const text = readFileSync(join(to, readdirSync(to)[0]!), 'utf8')
  assert.ok(text.includes('"x-sum"') && !text.includes('SECRET'), text)
  assert.deepEqual((await replay(summed(recorded), to)).differences, [])

  const changed: [string, string][] = [
    ['X-Sum', 'd24fb0'],
    ['X-Id', '99999999-2222-3333-4444-555555555555'],
    ['X-Auth-Token', 'SECRET-2'],
    ['Server-Timing', 'all;dur=2'],
    ['X-New', 'yes'],
  ]
  const { differences } = await replay(summed(changed), to)
  assert.deepEqual(
    differences.map(({ kind, at, recorded, replayed }) => [kind, at, recorded, replayed]),
    [
      ['trailer', 'x-sum', '900150983c', 'd24fb0'],
      ['trailer', 'x-turn', '1', 'none'],
      ['trailer', 'x-new', 'none', 'yes'],
    ],
  )
  const ignoring = await replay(summed([...recorded.slice(1), ['X-Sum', '0']]), to, { compare: { ignore: ['x-sum'] } })
  assert.deepEqual(ignoring.differences, [])
})
