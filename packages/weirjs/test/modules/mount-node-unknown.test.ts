// weirjs/node on a version of Node whose responses it does not know.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

const PROGRAM = `
const symbolsOf = Object.getOwnPropertySymbols
Object.getOwnPropertySymbols = (object) => symbolsOf(object).filter(({ description }) => description !== 'kNeedDrain')
const { HttpServer } = await import('${import.meta.resolve('../../src/index.js')}')
const { mountFetch, mountNode } = await import('${import.meta.resolve('../../src/node/index.js')}')
const server = new HttpServer({ logger: null })
mountFetch(server, '/new', () => new Response('fetched'))
console.log((await server.inject('/new')).text())
try {
  mountNode(server, '/old', () => {})
} catch (error) {
  console.log(error.code, error.message)
}
`

test('only mountNode needs it, and refuses to mount', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', PROGRAM], { encoding: 'utf8' })
  assert.match(output, /^fetched\nWEIR_SERVER_STATE .*mountNode\(\) does not support the responses of Node v\d/)
})
