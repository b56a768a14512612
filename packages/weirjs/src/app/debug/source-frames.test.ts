import assert from 'node:assert/strict'
import { test } from 'node:test'

import { framesOf } from './source-frames.ts'

const withStack = (stack: unknown, message = 'x'): Error => Object.assign(new Error(message), { stack })

test('frames have function, place and, for files of the program, the lines around', async () => {
  const stack = `Error: x\n    at make (/no/such/file.ts:3:7)\n    at async /no/node_modules/p/index.js:1:2\n    at node:internal/x:9:1\n    at Array.map (<anonymous>)`
  const frames = await framesOf(withStack(stack))
  assert.deepEqual(
    frames.map(({ name, file, isProgram, line, column, source }) => [name, file, isProgram, line, column, source]),
    [
      ['make', '/no/such/file.ts', true, 3, 7, null],
      ['', '/no/node_modules/p/index.js', false, 1, 2, null],
      ['', 'node:internal/x', false, 9, 1, null],
    ],
  )
})

test('a message cannot name files: what comes before the frames is cut off by its length', async () => {
  const frame = '    at evil (/etc/passwd:1:1)'
  const message = `x\n${frame}`
  assert.deepEqual(
    await framesOf(withStack(`Error: ${message}\n    at own (/a.js:1:1)`, message)).then((all) => all.map(({ name }) => name)),
    ['own'],
  )
  assert.deepEqual(await framesOf(withStack(`Error: y\n${frame}`, 'x')), [], 'the message was changed')
})

test('only source files are read', async () => {
  const [frame] = await framesOf(withStack('Error: x\n    at a (/etc/hostname:1:1)'))
  assert.equal(frame?.source, null)
})

test('what is no error, or throws when it is read, has no frames', async () => {
  const throwing = new Proxy(new Error('x'), {
    get: () => {
      throw new Error('y')
    },
  })
  for (const one of [null, undefined, 'text', {}, withStack(7), throwing]) assert.deepEqual(await framesOf(one), [])
})

test('a very deep stack is cut', async () => {
  const lines = Array.from({ length: 100 }, (_, i) => `    at f${i} (/a.txt:1:1)`)
  assert.equal((await framesOf(withStack(`Error: x\n${lines.join('\n')}`))).length, 20)
})
