// The OpenAPI documents of the examples: that of the inbox was read by a person, operation by operation.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { startDemo } from '../../packages/weirjs/test/support/demo.ts'
import { validated } from '../../packages/weirjs/test/support/openapi-validator.ts'
import { createInbox } from './inbox-server.ts'

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary?: string }>>>>
}

test('the inbox has the reviewed document, in examples/inbox/openapi.json', async (t) => {
  const { server } = await createInbox(t)
  const document = (await server.inject('/openapi.json')).json() as Document
  assert.deepEqual(document, JSON.parse(readFileSync('examples/inbox/openapi.json', 'utf8')))
  assert.equal(await validated(document), null)
})

test('the demo has a valid document of OpenAPI 3.2, in which each operation has a summary', async (t) => {
  const { server } = await startDemo(t)
  const document = (await server.inject('/openapi.json')).json() as Document
  assert.equal(document.openapi, '3.2.0')
  assert.equal(await validated(document), null)
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { summary }]) => ({ name: `${method} ${path}`, summary })),
  )
  assert.ok(operations.length > 20)
  assert.deepEqual(
    operations.filter(({ summary }) => summary === undefined).map(({ name }) => name),
    ['get /chat/{room}'], // a WebSocket
  )
  assert.deepEqual(
    operations.filter(({ name }) => name.includes('_weir')),
    [],
    'tools',
  )
})
