import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange } from '../../../test/support/asked.ts'
import { Controller } from './controller.ts'

class Shop extends Controller {
  readonly url = this.request.url
}

test('an instance knows its session, in its constructor already', () => {
  const { session } = askedExchange()
  const shop = Controller.forSession(session, () => new Shop())
  assert.deepEqual([shop.url, shop.session === session, shop.response === session.response], ['/', true, true])
})

test('one that is made elsewhere has none', () => {
  class Empty extends Controller {}
  assert.throws(() => new Empty().session, { code: 'WEIR_SERVER_STATE', message: /Empty was not created for a request/ })
  assert.throws(
    () =>
      Controller.forSession(askedExchange().session, () => {
        throw new Error('x')
      }),
    /x/,
  )
  assert.throws(() => new Empty().session, { code: 'WEIR_SERVER_STATE' }, 'the session of a failed creation is forgotten')
})

test('an instance that was made before gets the session, once', () => {
  class Kept extends Controller {}
  const kept = new Kept()
  const { session } = askedExchange()
  assert.equal(Controller.forSession(session, () => kept).session, session)
  assert.throws(() => Controller.forSession(askedExchange().session, () => kept), { message: /the same Kept for two requests/ })
})
