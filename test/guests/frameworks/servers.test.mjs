// Code that wants an http.Server, and starts and stops it: on node:http, and on toNodeServer.
import 'reflect-metadata'

import assert from 'node:assert/strict'
import { once } from 'node:events'

import { ApolloServer } from '@apollo/server'
import { ApolloServerPluginDrainHttpServer } from '@apollo/server/plugin/drainHttpServer'
import { expressMiddleware } from '@as-integrations/express5'
import { Controller, Get, Module, Sse } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import express from 'express'
import Fastify from 'fastify'
import { createProxyMiddleware } from 'http-proxy-middleware'
import { interval, map } from 'rxjs'
import { Server as SocketServer } from 'socket.io'
import { io } from 'socket.io-client'
import { WebSocket, WebSocketServer } from 'ws'

import { guest } from '../support/guest.mjs'

const listening = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const closed = (server) => new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())))

guest('Fastify by serverFactory', {
  kind: 'framework',
  packages: ['fastify'],
  driven: '`serverFactory`, `listen`, JSON, 404, a timeout of the server with the hook `onTimeout`, `close` with a request in progress',
  app: () => {
    let app
    let slow
    return {
      async start(server) {
        app = Fastify({ serverFactory: (handler) => server.on('request', handler).setTimeout(200) })
        const timedOut = []
        app.addHook('onTimeout', async ({ url }) => void timedOut.push(url))
        app.post('/echo', async ({ body }) => body)
        app.get('/silent', () => new Promise(() => {}))
        app.get('/timed-out', async () => timedOut)
        app.get('/slow', () => new Promise((resolve) => setTimeout(resolve, 100, { slow: true })))
        await app.listen({ port: 0, host: '127.0.0.1' })
        slow = async () => (await fetch(`http://127.0.0.1:${server.address().port}/slow`)).json()
      },
      async close() {
        const answer = slow()
        await new Promise((resolve) => setTimeout(resolve, 50))
        await app.close()
        assert.deepEqual(await answer, { slow: true })
      },
    }
  },
  async drive({ get, post }, { origin }) {
    assert.deepEqual((await post('/echo', { a: 1 })).json(), { a: 1 })
    assert.equal((await get('/none')).status, 404)
    await assert.rejects(fetch(`${origin}/silent`))
    assert.deepEqual((await get('/timed-out')).json(), ['/silent'])
  },
})

class HostedAdapter extends ExpressAdapter {
  constructor(server) {
    super()
    this.given = server
  }
  initHttpServer(options) {
    this.httpServer = this.given.on('request', this.getInstance())
    if (options?.forceCloseConnections) this.trackOpenConnections()
  }
}

// Nest's decorators are called, because they need a compiler.
class Pages {
  page() {
    return { page: 1 }
  }
  endless() {
    return interval(5).pipe(map((i) => ({ data: `${i}` })))
  }
}
for (const [name, decorate] of [
  ['page', Get('page')],
  ['endless', Sse('endless')],
]) {
  Reflect.defineMetadata('design:paramtypes', [], Pages.prototype, name)
  decorate(Pages.prototype, name, Object.getOwnPropertyDescriptor(Pages.prototype, name))
}
Controller()(Pages)
class PagesModule {}
Module({ controllers: [Pages] })(PagesModule)

guest('Nest by listen', {
  kind: 'framework',
  packages: ['@nestjs/core', '@nestjs/platform-express'],
  driven: 'an adapter that sets `httpServer`, `listen`, `getUrl`, and `close` with `forceCloseConnections` while an endless stream is open',
  app: () => {
    let nest
    return {
      async start(server) {
        nest = await NestFactory.create(PagesModule, new HostedAdapter(server), { logger: false, forceCloseConnections: true })
        await nest.listen(0, '127.0.0.1')
      },
      async close() {
        const { body } = await fetch(`${await nest.getUrl()}/endless`)
        const reader = body.getReader()
        await reader.read()
        await nest.close()
        await assert.rejects(async () => {
          while (!(await reader.read()).done);
        })
      },
    }
  },
  async drive({ get }) {
    assert.deepEqual((await get('/page')).json(), { page: 1 })
    assert.equal((await get('/none')).json().message, 'Cannot GET /none')
  },
})

guest('Apollo Server that drains', {
  kind: 'framework',
  packages: ['@apollo/server', '@as-integrations/express5'],
  driven: '`ApolloServerPluginDrainHttpServer`: which sockets it keeps, and a stop with a query in progress and one that never ends',
  app: () => {
    let apollo
    let origin
    const kept = new Set()
    const ask = async (query) => {
      const headers = { 'content-type': 'application/json' }
      return (await fetch(`${origin}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })).json()
    }
    return {
      kept,
      async start(httpServer) {
        const app = express()
        httpServer.on('request', app)
        // It forgets a socket when that closes, as the plugin does.
        httpServer.on('connection', (socket) => socket.once('close', () => kept.delete(socket)))
        httpServer.on('request', ({ socket }) => kept.add(socket))
        apollo = new ApolloServer({
          typeDefs: 'type Query { now: Int, slow: Int, never: Int }',
          resolvers: { Query: { now: () => 1, slow: () => new Promise((r) => setTimeout(r, 100, 2)), never: () => new Promise(() => {}) } },
          stopOnTerminationSignals: false,
          plugins: [ApolloServerPluginDrainHttpServer({ httpServer, stopGracePeriodMillis: 500 })],
        })
        await apollo.start()
        app.use('/graphql', express.json(), expressMiddleware(apollo))
        await listening(httpServer)
        origin = `http://127.0.0.1:${httpServer.address().port}`
      },
      async close() {
        const slow = ask('{ slow }')
        const never = assert.rejects(ask('{ never }'))
        await new Promise((resolve) => setTimeout(resolve, 50))
        await apollo.stop()
        assert.deepEqual(await slow, { data: { slow: 2 } })
        await never
      },
    }
  },
  mask: [[/[0-9a-f]{64}/g, '*']],
  async drive({ post }, _served, { kept }) {
    for (let i = 0; i < 20; i++) assert.deepEqual((await post('/graphql', { query: '{ now }' })).json(), { data: { now: 1 } })
    assert.ok(kept.size <= 1, `${kept.size} sockets are kept`)
  },
})

guest('Socket.IO on a server', {
  kind: 'framework',
  packages: ['socket.io'],
  driven: '`new Server(httpServer)` beside a listener for requests, by polling and by WebSocket, and `close` with a client',
  app: () => {
    let sockets
    return {
      async start(server) {
        server.on('request', (request, response) => {
          if (!request.url.startsWith('/socket.io/')) response.end('page')
        })
        sockets = new SocketServer(server)
        sockets.on('connection', (socket) => socket.on('echo', (value, reply) => reply(value)))
        await listening(server)
      },
      async close() {
        await sockets.close()
      },
    }
  },
  async drive({ get, note }, { origin }) {
    assert.equal((await get('/')).text, 'page')
    for (const transport of ['polling', 'websocket']) {
      const socket = io(origin, { reconnection: false, forceNew: true, transports: [transport] })
      note(transport, await socket.emitWithAck('echo', { a: 'ü' }))
      if (transport === 'polling') socket.disconnect()
    }
  },
})

guest('http-proxy-middleware for WebSockets', {
  packages: ['http-proxy-middleware'],
  driven: '`ws: true`: it finds the server by the first request; a WebSocket through it, and a close by each side',
  app: () => {
    let server
    const backend = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    backend.on('connection', (socket) =>
      socket.on('message', (data) => (`${data}` === 'end' ? socket.close(4000, 'over') : socket.send(`echo ${data}`))),
    )
    return {
      async start(given) {
        server = given
        if (backend.address() === null) await once(backend, 'listening')
        const target = `http://127.0.0.1:${backend.address().port}`
        const app = express()
        app.get('/page', (_request, response) => response.send('page'))
        app.use(createProxyMiddleware({ target, ws: true }))
        server.on('request', app)
        await listening(server)
      },
      async close() {
        backend.close()
        for (const socket of backend.clients) socket.terminate()
        const end = closed(server)
        server.closeAllConnections()
        await end
      },
    }
  },
  async drive({ get, note }, { port }) {
    assert.equal((await get('/page')).text, 'page')
    assert.equal((await get('/through')).status, 426)
    for (const side of ['server', 'client']) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`)
      await once(socket, 'open')
      socket.send('ü')
      note('message', String((await once(socket, 'message'))[0]))
      if (side === 'server') socket.send('end')
      else socket.close(4001)
      note('code', (await once(socket, 'close'))[0])
    }
  },
})
