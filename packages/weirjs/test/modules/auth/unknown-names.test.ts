// A name that nobody has must not be told from a wrong password by the work that it causes. The work is counted, not timed.

import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { auth, basic, PasswordHasher } from '../../../src/modules/auth/index.ts'

const CHEAP = { ln: 4, r: 2, p: 1 }

test('a table of basic: a name that nobody has is one hash with the cost of the first user, as is a wrong password', async (t) => {
  const hash = await new PasswordHasher(CHEAP).hash('right')
  const server = new HttpServer({ logger: null }).use(auth({ schemes: [basic({ users: { ann: hash, bob: hash }, allowInsecure: true })] }))
  server.mapGet('/', () => 'done')
  const work: string[] = []
  const real = crypto.scrypt
  crypto.scrypt = ((password: Buffer, salt: Buffer, length: number, options: crypto.ScryptOptions, callback: never) => {
    work.push(`${options.N} ${options.r} ${options.p}, ${salt.length} and ${length} bytes`)
    real(password, salt, length, options, callback)
  }) as typeof crypto.scrypt
  syncBuiltinESMExports()
  t.after(() => {
    crypto.scrypt = real
    syncBuiltinESMExports()
  })

  const workFor = async (name: string, password: string): Promise<{ status: number; work: string[]; text: string }> => {
    work.length = 0
    const headers = { Authorization: `Basic ${btoa(`${name}:${password}`)}` }
    const { status, text } = await server.inject({ url: '/', headers })
    return { status, work: [...work], text: text() }
  }
  const wrong = await workFor('ann', 'wrong')
  assert.equal(wrong.status, 401)
  assert.deepEqual(wrong.work, ['16 2 1, 16 and 32 bytes'])
  for (const [name, password] of [
    ['nobody', 'wrong'],
    ['nobody', 'right'],
    ['', ''],
    ['__proto__', 'right'],
    ['nobody', 'x'.repeat(2_000)],
    ['ann', 'x'.repeat(2_000)],
  ] as const) {
    const unknown = await workFor(name, password)
    assert.deepEqual({ ...unknown, text: '' }, { ...wrong, text: '' }, name)
    // A failure is not kept: the second try is as much work as the first.
    assert.deepEqual((await workFor(name, password)).work, wrong.work, name)
  }
  assert.equal((await workFor('bob', 'right')).status, 200)
})
