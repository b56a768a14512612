import assert from 'node:assert/strict'
import { test } from 'node:test'

import { checkPolicies, checkPolicy } from './policy.ts'

const refused = (usable: unknown, message: RegExp): void =>
  assert.throws(() => checkPolicy('use()', usable), { code: 'WEIR_OPTION_INVALID', message }, String(message))

test('a function is a middleware, and is called by its name', () => {
  function log(): void {}
  const { name, label, middleware, gate } = checkPolicy('', log)
  assert.deepEqual([name, label, middleware, gate], [null, 'log', log, null])
  assert.equal(checkPolicy('', (() => () => {})()).label, '(anonymous)')
})

test('a policy is called by its name, or that of its first hook', () => {
  const gate = { gate: () => {} }.gate
  assert.equal(checkPolicy('', { name: 'auth', gate }).label, 'auth')
  assert.equal(checkPolicy('', { gate }).label, '(anonymous)', 'the name of a member says nothing')
  assert.equal(checkPolicy('', { gate: function guard() {} }).label, 'guard')
})

test('hooks are read once, and keep their object', () => {
  class Count {
    count = 0
    other = 1
    gate(): void {
      this.count++
    }
  }
  const policy = new Count()
  const { gate } = checkPolicy('', policy)
  policy.gate = () => assert.fail('read again')
  gate?.(null as never)
  assert.equal(policy.count, 1)
})

test('refuses what would never run', () => {
  refused(null, /not null/)
  refused([], /a middleware function or a policy is needed/)
  refused({}, /a policy has a name or a hook/)
  refused({ name: '' }, /name of a policy is/)
  refused({ name: 'a', gates: () => {} }, /policy "a" has "gates": a policy has name, gate/)
  refused({ gate: () => {}, runsFirst: 1 }, /runsFirst of a policy is 1: it is true or false/)
  refused({ name: 'a', beforeSend: () => {}, runsFirst: true }, /true is for a policy with a gate/)
  refused({ gate: true }, /gate of a policy is true, not a function/)
  refused({ name: 'a', install: () => {} }, /not a module: install it with server\.use\(\)/)
  refused((_req: unknown, _res: unknown, _next: unknown) => {}, /has two parameters, session and next, not 3.*mountNode/)
  assert.doesNotThrow(() => checkPolicy('', { name: 'auth' }), 'it removes the outer one')
})

test('a list has no two policies with one name', () => {
  assert.throws(() => checkPolicies('here', [{ name: 'a' }, { name: 'a' }]), {
    code: 'WEIR_ROUTE_DECLARATION',
    message: /two policies "a"/,
  })
  assert.throws(() => checkPolicies('here', () => {}), { code: 'WEIR_ROUTE_DECLARATION', message: /not a list/ })
  assert.deepEqual(checkPolicies('here', undefined), [])
  assert.equal(checkPolicies('here', [() => {}, () => {}, { name: 'a' }, { name: 'b' }]).length, 4)
})
