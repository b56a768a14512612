import assert from 'node:assert/strict'
import { test } from 'node:test'

import { routeOf, tableOf } from '../../../test/support/asked.ts'
import { t } from '../../schema/t.ts'
import { limitsOf, listingOf } from './route-listing.ts'

const SERVER = { maxRequestBodySize: 1, requestTimeout: 2, writeTimeout: null }
const listed = (declaration: object) =>
  listingOf(routeOf(tableOf({}), 'POST /a/:id', declaration), { limits: SERVER, invalidBodyStatus: 422 })

test('a limit of the route comes before that of the server, also where it lifts it', () => {
  assert.deepEqual(limitsOf(routeOf(tableOf({}), 'POST /', { maxRequestBodySize: '1KiB', requestTimeout: null }), SERVER), {
    maxRequestBodySize: { value: 1024, level: 'route' },
    requestTimeout: { value: null, level: 'route' },
    writeTimeout: { value: null, level: 'server' },
  })
})

test('states what the route declares, and what policies say of themselves', () => {
  const gate = (): void => {}
  const { policies, ...listing } = listed({
    id: t.int,
    body: t.int,
    tags: ['x'],
    operationId: 'make',
    metadata: { a: 1 },
    answers: { 201: null },
    use: [{ name: 'auth', gate, describe: () => 'token' }, { gate }],
  })
  assert.deepEqual(policies, [
    { name: 'auth', level: 'route', description: 'token' },
    { name: '(anonymous)', level: 'route', description: null },
  ])
  const { method, path, body, bodyMode, tags, operationId, summary, deprecated, metadata, answers, invalidBodyStatus, source } = listing
  assert.deepEqual(
    [
      method,
      path,
      body?.kind,
      bodyMode,
      tags,
      operationId,
      summary,
      deprecated,
      { ...metadata },
      { ...answers },
      invalidBodyStatus,
      source,
    ],
    ['POST', '/a/:id', 'schema', 'buffer', ['x'], 'make', null, false, { a: 1 }, { 201: null }, 422, 'inline'],
  )
  assert.deepEqual(Object.keys(listing.bindings), ['id'])
})

test('without a declaration, the handler reads the body', () => {
  const { body, bodyMode, upgradesTo, host, endpoint } = listed({})
  assert.deepEqual([body, bodyMode, upgradesTo, host, endpoint], [null, 'auto', null, null, null])
})
