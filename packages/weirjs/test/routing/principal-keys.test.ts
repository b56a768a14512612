// `principalKey(…).required`: the sender of a request where there has to be one.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, principalKey, type WeirError } from '../../src/index.ts'

interface User {
  readonly name: string
}
const userOf = principalKey<User>()

test('required() returns the principal, typed', async () => {
  const server = new HttpServer({ logger: null }).gate((session) => userOf.set(session, { name: 'Ada' }))
  server.mapGet('/', (_, session) => {
    const { name }: User = userOf.required(session)
    return name
  })
  assert.equal((await server.inject('/')).text(), 'Ada')
})

test('required() throws a 401 without one, and for one that other code has set', async () => {
  const codes: string[] = []
  const server = new HttpServer({ logger: null, onError: (error) => void codes.push((error as WeirError).code) })
  server.mapGet('/none', (_, session) => userOf.required(session).name)
  server.mapGet('/other', (_, session) => {
    session.principal = { name: 'Mallory' }
    return userOf.required(session).name
  })
  for (const url of ['/none', '/other']) assert.equal((await server.inject(url)).status, 401)
  assert.deepEqual(codes, ['WEIR_PRINCIPAL_MISSING', 'WEIR_PRINCIPAL_MISSING'])
})
