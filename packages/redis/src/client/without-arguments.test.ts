import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'

import { withoutArguments } from './without-arguments.ts'

class ReplyError extends Error {
  override get name(): string {
    return 'ReplyError'
  }
}

const args = ['weir:session:CANARY', 'CANARY', Buffer.from('CANARY')]
const ERRORS: Readonly<Record<string, () => Error>> = {
  'of ioredis': () => Object.assign(new ReplyError('READONLY You cannot write'), { command: { name: 'set', args } }),
  'about an unknown command': () => new ReplyError(`ERR unknown command 'EVALSHA', with args beginning with: 'x' 'CANARY\n' 'CANARY' `),
  'in a cause': () =>
    Object.assign(new Error('a', { cause: Object.assign(new ReplyError('b'), { command: { args } }) }), { command: { name: 'x' } }),
}

for (const [what, make] of Object.entries(ERRORS))
  test(`an error ${what} keeps its class, code and message, and no argument`, () => {
    const made = Object.assign(make(), { code: 'E' })
    const error = withoutArguments(made) as Error & { code: string }
    const text = inspect(error, { depth: 10, showHidden: true }) + error.message + String(error.stack)
    assert.ok(!text.includes('CANARY') && !text.includes(Buffer.from('CANARY').toString('hex').match(/../g)!.join(' ')), text)
    assert.deepEqual([error.constructor, error.code, error.name], [made.constructor, 'E', made.name])
    assert.match(error.stack!, /\n {4}at /)
  })

test('any other error, and anything else, is the same', () => {
  for (const error of [new Error('ECONNREFUSED'), 'text', null, { command: 1 }]) assert.equal(withoutArguments(error), error)
})
