// Middleware for event streams and WebSockets.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'

import { createResponse, createSession } from 'better-sse'
import express from 'express'
import expressWs from 'express-ws'
import { WebSocket, WebSocketServer } from 'ws'

import { guest } from '../support/guest.mjs'

/** What `count` messages say, after `send`. */
async function messages(socket, count, send = () => {}) {
  const seen = []
  const done = new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('message', (data, isBinary) => {
      seen.push(isBinary ? data.length : data.toString())
      if (seen.length === count) resolve(seen)
    })
  })
  await send()
  return done
}

guest('better-sse', {
  driven: 'events with ids and names, the last id, a client that leaves, an early end',
  app: () => {
    let left = 0
    return express()
      .get('/left', (_request, response) => response.json(left))
      .get('/events', async (request, response) => {
        const session = await createSession(request, response, { keepAlive: null })
        session.on('disconnected', () => left++)
        const { lastId } = session
        session.push({ a: 1 }, 'first', '1')
        session.push(lastId, 'second', '2')
        if (request.query.end) response.end()
      })
  },
  async drive({ get, open }) {
    const events = await get('/events?end=1', { headers: { 'last-event-id': '41' } })
    assert.equal(events.header('content-type'), 'text/event-stream')
    assert.match(events.text, /event:first\nid:1\ndata:\{"a":1\}/)
    assert.match(events.text, /"41"/)
    const before = (await get('/left', { hidden: true })).json()
    const stream = open('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await stream.read('second')
    stream.leave()
    for (let i = 0; i < 100; i++) {
      if ((await get('/left', { hidden: true })).json() > before) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    assert.fail('the session did not end')
  },
})

guest('ws', {
  driven:
    'a WebSocket on the option `upgrade`: text, 200 kB of bytes, a subprotocol, compression, pings, closing by both sides; a refused origin',
  app: () => {
    const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true, handleProtocols: (given) => [...given][0] })
    sockets.on('connection', (socket, request) => {
      socket.send(`hello ${request.url}`)
      socket.on('message', (data, isBinary) =>
        data.toString() === 'close' ? socket.close(4000, 'as asked') : socket.send(data, { binary: isBinary }),
      )
    })
    return {
      handler: (_request, response) => response.end('no upgrade'),
      upgrade: (request, socket, head) => {
        if (request.headers.origin === 'http://evil.example')
          return socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
        sockets.handleUpgrade(request, socket, head, (accepted) => sockets.emit('connection', accepted, request))
      },
      close: () => sockets.close(),
    }
  },
  async drive({ get, note }, { origin }) {
    const address = `${origin.replace('http', 'ws')}/chat?a=1`
    const socket = new WebSocket(address, ['one', 'two'])
    const seen = await messages(socket, 3, async () => {
      await once(socket, 'open')
      socket.send('ü')
      socket.send(Buffer.alloc(200_000, 'x'))
    })
    assert.deepEqual(
      [seen, socket.protocol, socket.extensions.startsWith('permessage-deflate')],
      [['hello /chat?a=1', 'ü', 200_000], 'one', true],
    )
    socket.ping('ping')
    const [pong] = await once(socket, 'pong')
    assert.equal(pong.toString(), 'ping')
    socket.send('close')
    const [code, reason] = await once(socket, 'close')
    assert.deepEqual([code, reason.toString()], [4000, 'as asked'])
    const refused = new WebSocket(address, { origin: 'http://evil.example' })
    const [error] = await once(refused, 'error')
    note('refused', error.message)
    assert.match(error.message, /403/)
    assert.equal((await get('/')).text, 'no upgrade')
  },
})

guest('express-ws', {
  packages: ['express-ws', 'ws'],
  driven: '`app.ws()` routes, on an event emitter in place of the server',
  app: () => {
    const server = new EventEmitter() // express-ws listens to `upgrade` and nothing else
    const { app } = expressWs(express(), server)
    app.ws('/echo/:name', (socket, { params }) => socket.on('message', (text) => socket.send(`${params.name}: ${text}`)))
    app.get('/', (_request, response) => response.send('http'))
    return { handler: app, upgrade: (request, socket, head) => server.emit('upgrade', request, socket, head) }
  },
  async drive({ get }, { origin }) {
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/echo/ada`)
    const seen = await messages(socket, 1, async () => {
      await once(socket, 'open')
      socket.send('hello')
    })
    assert.deepEqual(seen, ['ada: hello'])
    socket.close()
    await once(socket, 'close')
    const none = new WebSocket(`${origin.replace('http', 'ws')}/none`)
    none.on('error', () => {})
    await once(none, 'close')
    assert.equal((await get('/')).text, 'http')
  },
})

guest('better-sse (fetch)', {
  packages: ['better-sse'],
  driven: 'by `mountFetch`: events with ids and names, a client that leaves',
  app: () => {
    let left = 0
    return {
      fetch: (request) => {
        if (request.url.endsWith('/left')) return Response.json(left)
        return createResponse(request, { keepAlive: null }, (session) => {
          session.on('disconnected', () => left++)
          session.push({ a: 1 }, 'first', '1')
        })
      },
    }
  },
  async drive({ get, open }) {
    const stream = open('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n')
    assert.match(await stream.read('{"a":1}'), /content-type: text\/event-stream/i)
    stream.leave()
    for (let i = 0; i < 100; i++) {
      if ((await get('/left', { hidden: true })).json() > 0) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    assert.fail('the session did not end')
  },
})
