import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange } from '../../../test/support/asked.ts'
import { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { runGates } from './gates.ts'
import type { Gate } from './policy.ts'

const never: Gate = () => assert.fail('a gate after one that has answered')
const run = (...gates: readonly unknown[]) => runGates(askedExchange(), gates as Gate[], 0)

test('gates that return nothing let the request pass, without a promise where none is needed', async () => {
  assert.equal(run(), null)
  assert.equal(
    run(
      () => {},
      () => undefined,
    ),
    null,
  )
  const held = run(
    async () => {},
    () => {},
  )
  assert.ok(held instanceof Promise)
  assert.equal(await held, null)
})

test('the first response ends it', async () => {
  for (const answer of ['no', { error: 'no' }]) {
    assert.ok(
      run(
        () => {},
        () => answer,
        never,
      ) instanceof OutgoingResponse,
    )
    assert.ok((await run(async () => answer, never)) instanceof OutgoingResponse)
  }
})

test('a gate that has built a response and returns nothing has answered', () => {
  const held = run((session: Parameters<Gate>[0]) => void session.response.status(403).text('no'), never)
  assert.equal((held as OutgoingResponse).statusCode, 403)
  assert.equal(
    run((session: Parameters<Gate>[0]) => void session.response.header('X', 'y')),
    null,
    'fields alone are no response',
  )
})

test('a verdict, a status and the principal are refused, for they would be sent', () => {
  for (const verdict of [true, false, 401, null])
    assert.throws(() => run(() => verdict, never), { code: 'WEIR_RESULT_UNSENDABLE' }, `${verdict}`)
  const leak = (session: Parameters<Gate>[0]) => (session.principal = { password: 'x' })
  assert.throws(() => run(leak), { code: 'WEIR_RESULT_UNSENDABLE', message: /session.principal/ })
})

test('a gate whose request has been answered meanwhile stops the rest', async () => {
  const exchange = askedExchange()
  const late: Gate = async (session) => {
    session.response.text('time is up')
    exchange.own.isTaken = true
  }
  await assert.rejects(Promise.resolve(runGates(exchange, [late, never], 0)), { code: 'WEIR_RESPONSE_SENT' })
})

test('what a gate throws is thrown', async () => {
  const error = new Error('own')
  const fail = () => {
    throw error
  }
  assert.throws(() => run(fail, never), error)
  await assert.rejects(Promise.resolve(run(async () => fail(), never)), error)
})
