// Mistakes that a program rarely makes, and what a module sees of the server from a group: each is decided in one line.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { bagKey, events, file, HttpResponse, HttpServer, type ModuleHost, multipart } from '../../src/index.ts'

const refused: readonly (readonly [says: RegExp, code: string, make: () => unknown])[] = [
  [/200 is not the status of a redirect/, 'WEIR_RESPONSE_STATUS', () => new HttpResponse().redirect('/', 200)],
  [/takes the connection over/, 'WEIR_RESULT_UNSENDABLE', () => new HttpResponse().upgrade('echo', 'echo' as never)],
  [/"hosts" cannot be used with a Unix socket/, 'WEIR_OPTION_INVALID', () => listening({ unixSocket: '/tmp/weir.sock', hosts: ['a'] })],
  [/"tls" is not an object/, 'WEIR_OPTION_INVALID', () => listening({ port: 0, tls: null })],
  [/"x" is not a schema/, 'WEIR_OPTION_INVALID', () => events('x' as never)],
  [/1 is not a schema/, 'WEIR_OPTION_INVALID', () => events({ tick: 1 } as never)],
  [/"__proto__" would be a prototype/, 'WEIR_OPTION_INVALID', () => multipart({ files: Object.fromEntries([['__proto__', file()]]) })],
]

function listening(entry: object): HttpServer {
  return new HttpServer({ listen: [entry as never] })
}

for (const [says, code, make] of refused)
  test(`refuses: ${says.source}`, () => {
    assert.throws(make, (error: Error & { code?: string }) => error.code === code && says.test(error.message))
  })

test('a module that is used in a group sees the server around it', async () => {
  const server = new HttpServer({ address: '127.0.0.1', port: 0, basePath: '/shop' })
  const seen: ModuleHost[] = []
  server.group('/a').use({ name: 'module', install: (host) => void seen.push(host) })
  await server.start()
  const [host] = seen
  assert.deepEqual([host!.connections, host!.basePath, host!.stopping.aborted], [0, '/shop', false])
  const { stopping } = host!
  await server.stop()
  assert.equal(stopping.aborted, true)
})

test('a value that is deleted from the bag of a request is gone', async () => {
  const key = bagKey<number>('count')
  const server = new HttpServer()
  server.mapGet('/', (_, { bag }) => {
    bag.set(key, 1)
    return [bag.delete(key), bag.delete(key), bag.has(key)]
  })
  assert.deepEqual((await server.inject('/')).json(), [true, false, false])
})
