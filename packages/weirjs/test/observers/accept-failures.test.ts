// A connection that cannot be accepted is a record, and the server goes on. Where descriptors are missing, Node itself accepts such a
// connection and closes it, and tells nobody. What it does tell is made up here.

import assert from 'node:assert/strict'
import { Server } from 'node:net'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { Observed } from '../support/observed.ts'

test('a connection that cannot be accepted is a record, and the next one is accepted', async (t) => {
  const listening: Server[] = []
  const { listen } = Server.prototype
  Server.prototype.listen = function (this: Server, ...args: Parameters<typeof listen>) {
    listening.push(this)
    return listen.apply(this, args)
  } as typeof listen
  t.after(() => (Server.prototype.listen = listen))
  const logged: unknown[] = []
  const server = new HttpServer({ port: 0, logger: { error: (...args) => logged.push(args) } }).mapGet('/', () => 'fine')
  const observed = new Observed().on(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const error = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' })
  listening[0]!.emit('error', error)
  const { kind, outcome, code, error: reported, clientAddress, connectionId, session, status } = await observed.record()
  assert.deepEqual(
    [kind, outcome, code, clientAddress, connectionId, session, status],
    ['connection', 'failed', 'EMFILE', '', null, null, null],
  )
  assert.equal(reported, error)
  assert.deepEqual(logged, [['weir: a connection could not be accepted', error]])
  assert.equal(await (await fetch(`http://127.0.0.1:${server.port}/`)).text(), 'fine')
})
