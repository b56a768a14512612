// What monitors of Node's HTTP servers see of mounted code: the channels of Node, and a wrapped `emit`. They see the same of a server of Node.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { mountNode, toNodeServer } from '../../src/node/index.ts'

interface Told {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly server: { emit: (...values: unknown[]) => boolean }
}

/** Ways to serve a listener. Each returns its origin. */
const HOSTS: Readonly<Record<string, (t: TestContext, listener: RequestListener) => Promise<string>>> = {
  async 'node:http'(t, listener) {
    const server = createServer(listener).listen(0, '127.0.0.1')
    t.after(() => server.close().closeAllConnections())
    await once(server, 'listening')
    return originOf(server)
  },
  async toNodeServer(t, listener) {
    const server = toNodeServer(new HttpServer({ logger: null, port: 0, address: '127.0.0.1' })).on('request', listener)
    server.listen()
    t.after(() => server.closeAllConnections())
    await once(server, 'listening')
    return originOf(server)
  },
  mountNode: (t, listener) => mounted(t, listener, {}),
  'mountNode without next': (t, listener) => mounted(t, listener, { next: false }),
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function mounted(t: TestContext, listener: RequestListener, options: { readonly next?: false }): Promise<string> {
  const server = new HttpServer({ logger: null, port: 0, address: '127.0.0.1' })
  mountNode(server, '/', listener, options)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return `http://127.0.0.1:${server.port}`
}

function listen(t: TestContext, name: string, listener: (told: Told) => void): void {
  const heard = (message: unknown): void => listener(message as Told)
  subscribe(name, heard)
  t.after(() => unsubscribe(name, heard))
}

for (const [host, serve] of Object.entries(HOSTS)) {
  test(`${host}: the channels of Node tell of a request and of its response`, async (t) => {
    const heard: string[] = []
    for (const name of ['http.server.request.start', 'http.server.response.finish']) {
      listen(t, name, (told) => {
        assert.deepEqual(Object.keys(told), ['request', 'response', 'socket', 'server'])
        assert.equal(told.response.req, told.request)
        assert.equal(typeof told.server.emit, 'function')
        heard.push(`${name} ${told.request.url} ${told.response.statusCode}`)
      })
    }
    const origin = await serve(t, (req, res) => {
      heard.push(`called ${req.url}`)
      res.statusCode = 201
      if (req.url === '/later') setImmediate(() => res.end('later'))
      else res.end('now')
    })
    for (const path of ['/now', '/later']) await (await fetch(origin + path)).text()
    const expected = (path: string): string[] => [
      `http.server.request.start ${path} 200`,
      `called ${path}`,
      `http.server.response.finish ${path} 201`,
    ]
    while (heard.length < 6) await new Promise(setImmediate)
    assert.deepEqual(heard, [...expected('/now'), ...expected('/later')])
  })

  test(`${host}: one that wraps emit of the server that the channel names runs each request in a scope`, async (t) => {
    const scope = new AsyncLocalStorage<string>()
    const wrapped = new WeakSet<object>()
    listen(t, 'http.server.request.start', ({ server }) => {
      if (wrapped.has(server)) return
      wrapped.add(server)
      const { emit } = server
      server.emit = function (this: unknown, ...values) {
        const [event, req] = values as [string, IncomingMessage]
        return event === 'request' ? scope.run(req.url!, () => emit.apply(this, values)) : emit.apply(this, values)
      }
    })
    const origin = await serve(t, (_req, res) => void setImmediate(() => res.end(`${scope.getStore()}`)))
    const paths = Array.from({ length: 20 }, (_, i) => `/${i}`)
    assert.deepEqual(await Promise.all(paths.map(async (path) => (await fetch(origin + path)).text())), paths)
  })

  test(`${host}: one that wraps emit of http.Server runs each request in a scope, and sees what is thrown`, async (t) => {
    const scope = new AsyncLocalStorage<string>()
    const had = Object.getOwnPropertyDescriptor(Server.prototype, 'emit')
    const emit = Server.prototype.emit as (...values: unknown[]) => boolean
    const thrown: unknown[] = []
    Server.prototype.emit = function (this: Server, ...values: [event: string, ...unknown[]]): boolean {
      if (values[0] !== 'request') return emit.apply(this, values)
      try {
        return scope.run((values[1] as IncomingMessage).url!, () => emit.apply(this, values))
      } catch (error) {
        thrown.push(error)
        if (host === 'node:http') (values[2] as ServerResponse).writeHead(500).end()
        else throw error
        return true
      }
    } as typeof Server.prototype.emit
    t.after(() => {
      if (had === undefined) Reflect.deleteProperty(Server.prototype, 'emit')
      else Object.defineProperty(Server.prototype, 'emit', had)
    })
    const origin = await serve(t, (req, res) => {
      if (req.url === '/throws') throw new TypeError('no')
      setImmediate(() => res.end(`${scope.getStore()}`))
    })
    const paths = Array.from({ length: 20 }, (_, i) => `/${i}`)
    assert.deepEqual(await Promise.all(paths.map(async (path) => (await fetch(origin + path)).text())), paths)
    assert.equal((await fetch(`${origin}/throws`)).status, 500)
    assert.match(String(thrown), /TypeError: no/)
  })
}
