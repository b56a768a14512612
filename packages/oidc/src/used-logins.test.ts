import assert from 'node:assert/strict'
import { test } from 'node:test'

import { UsedLogins } from './used-logins.ts'

const VALID_MS = 1_000
const USED = { code: 'WEIR_OIDC_RESPONSE' }

test('a login is used once, also while it is being used', async () => {
  const used = new UsedLogins(VALID_MS)
  let calls = 0
  const use = () => used.use('a', 0, async () => ++calls)
  const [first, second] = await Promise.allSettled([use(), use()])
  assert.deepEqual([first.status, second.status, calls], ['fulfilled', 'rejected', 1])
  await assert.rejects(use(), USED)
  assert.equal(await used.use('b', 0, async () => 'another'), 'another')
})

test('a login that has failed may be tried again', async () => {
  const used = new UsedLogins(VALID_MS)
  const fail = () => Promise.reject(new Error('the provider is away'))
  await assert.rejects(used.use('a', 0, fail), /away/)
  assert.equal(await used.use('a', 0, async () => 'in'), 'in')
  await assert.rejects(used.use('a', 0, fail), USED)
})

test('a full table refuses others and forgets nobody, until their cookies have expired', async () => {
  const used = new UsedLogins(VALID_MS, 2)
  const use = (state: string, now: number) => used.use(state, now, async () => {})
  await use('a', 0)
  await use('b', 500)
  await assert.rejects(use('c', 999), { code: 'WEIR_OIDC_UNAVAILABLE' })
  await assert.rejects(use('a', 999), USED)
  await use('c', 1_000)
  await assert.rejects(use('b', 1_000), USED)
})
