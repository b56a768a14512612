// record and replay with fields after the body.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { connect, record, replay } from '../../src/testing/index.ts'
import { temporaryDirectory } from '../support/temporary.ts'

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
