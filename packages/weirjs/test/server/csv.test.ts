// Tables that a server sends as text, and the names under which clients save what they get.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csv, HttpServer, text } from '../../src/index.ts'

const rowsOf = function* (count: number): Generator<{ id: number; name: string }> {
  for (let id = 1; id <= count; id++) yield { id, name: `row "${id}"` }
}

test('a table is streamed, with its type and the name of the file', async () => {
  const server = new HttpServer({ logger: null })
  server.mapGet('/rows', () => csv(rowsOf(100_000), { columns: ['id', 'name'] }).attachment('Rückblick 2026.csv'))
  const response = await server.inject('/rows')
  assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(
    response.headers.get('content-disposition'),
    `attachment; filename="R_ckblick 2026.csv"; filename*=UTF-8''R%C3%BCckblick%202026.csv`,
  )
  const lines = response.text().split('\r\n')
  assert.equal(lines.length, 100_002)
  assert.equal(lines[100_000], '100000,"row ""100000"""')
})

test('a table is a declared text', async () => {
  const server = new HttpServer({ logger: null })
  server.mapGet('/rows', { answers: { 200: text('text/csv') } }, () => csv(rowsOf(1), { columns: ['id'] }))
  assert.equal((await server.inject('/rows')).text(), 'id\r\n1\r\n')
})

test('rows that cannot be had before the first of them are an error response', async () => {
  const server = new HttpServer({ logger: null })
  server.mapGet('/rows', () => {
    // biome-ignore lint/correctness/useYield: it fails before that
    const failing = async function* (): AsyncGenerator<{ id: number }> {
      throw new Error('no database')
    }
    return csv(failing(), { columns: ['id'] })
  })
  assert.equal((await server.inject('/rows')).status, 500)
})

test('attachment() is for any body, and the last name counts', async () => {
  const server = new HttpServer({ logger: null })
  const source = async function* (): AsyncGenerator<string> {
    yield 'x'
  }
  server.mapGet('/own', (_, { response }) => {
    response.attachment('a.bin').attachment('b/c".bin')
    return source()
  })
  server.mapGet('/none', (_, { response }) => response.attachment().text('x'))
  assert.equal(
    (await server.inject('/own')).headers.get('content-disposition'),
    `attachment; filename="b_c_.bin"; filename*=UTF-8''b_c%22.bin`,
  )
  assert.equal((await server.inject('/none')).headers.get('content-disposition'), 'attachment')
  server.mapGet('/wrong', (_, { response }) => {
    assert.throws(() => response.attachment(5 as never), { code: 'WEIR_OPTION_INVALID' })
    return 'x'
  })
  assert.equal((await server.inject('/wrong')).status, 200)
})
