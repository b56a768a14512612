// Clients that ask a mounted handler for another protocol, and leave: whatever the handler does with the socket, nothing of them remains.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'

import { WebSocketServer } from 'ws'

import type { NodeUpgradeHandler } from '../../src/node/index.ts'
import { mount } from '../support/mounted.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate, within } from '../support/serving.ts'
import { HANDSHAKE } from '../support/websocket-client.ts'

const ASK = `GET /chat HTTP/1.1\r\nHost: localhost\r\n${HANDSHAKE}\r\n`
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'
const TIMEOUTS = { lingerTimeout: 50, keepAliveTimeout: 500 }

const GUESTS: Readonly<Record<string, () => NodeUpgradeHandler>> = {
  'nobody looks at the socket': () => () => {},
  'it is answered later, by ws': () => {
    const wss = new WebSocketServer({ noServer: true })
    return async (req, socket, head) => {
      await new Promise((resolve) => setTimeout(resolve, 200))
      wss.handleUpgrade(req, socket, head, (ws) => ws.on('error', () => {}))
    }
  },
  'it is answered, and ends with its client': () => (_req, socket) => {
    socket.on('end', () => socket.end())
    socket.on('error', () => {})
    socket.write(SWITCH)
  },
  'it is answered, and written to': () => (_req, socket) => {
    socket.write(SWITCH)
    const timer = setInterval(() => socket.write('more'), 10)
    socket.on('error', () => {})
    socket.on('close', () => clearInterval(timer))
  },
  'it is refused later': () => (_req, socket) => {
    setTimeout(() => socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n'), 20)
  },
}

const LEAVES: Readonly<Record<string, (client: RawClient) => void>> = {
  'with FIN': (client) => client.destroy(),
  'with RST': (client) => client.reset(),
  'after bytes that nobody has asked for': (client) => {
    client.send('x'.repeat(1000))
    client.destroy()
  },
  'after more bytes than are kept': (client) => {
    client.send('x'.repeat(1_000_000))
    setTimeout(() => client.destroy(), 30)
  },
}

for (const [guest, upgrade] of Object.entries(GUESTS)) {
  for (const [how, leave] of Object.entries(LEAVES)) {
    if (guest.includes('ends with its client') && how.startsWith('after')) continue // it would have to read
    test(`an upgrade that is abandoned leaves nothing: ${guest}; the client leaves ${how}`, async (t) => {
      const server = await mount(t, (_req, res) => res.end('page'), {
        upgrade: upgrade(),
        server: { timeouts: TIMEOUTS, limits: { maxConnections: 30 } },
      })
      for (let i = 0; i < 40; i++) {
        const client = await RawClient.connect(server.port)
        client.send(ASK)
        setTimeout(() => leave(client), 5)
      }
      await eventually(() => server.connections === 0, 'no connection is left')
      assert.equal(await (await fetch(`http://127.0.0.1:${server.port}/`, { headers: { connection: 'close' } })).text(), 'page')
    })
  }
}

test('a client that has only ended its side gets the response of a handler that is not quick', async (t) => {
  const server = await mount(t, () => {}, {
    upgrade: (_req, socket) => void setTimeout(() => socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n'), 50),
  })
  const client = await RawClient.connect(server.port)
  client.send(ASK).end()
  assert.match(await client.rest(), /^HTTP\/1.1 401 /)
})

/** What a handler hears of its socket that it does not read, under node:http and inside weir. */
test('a socket given away tells of the end and of a reset of its client', async (t) => {
  for (const how of ['end', 'reset'] as const) {
    const heard = gate<string[]>()
    const server = await mount(t, () => {}, {
      upgrade: (_req, socket) => {
        const log: string[] = []
        socket.write(SWITCH)
        socket.on('end', () => {
          log.push('end')
          socket.end()
        })
        socket.on('error', (error: NodeJS.ErrnoException) => log.push(`error ${error.code}`))
        socket.on('close', () => heard.open([...log, 'close']))
      },
    })
    const client = await RawClient.connect(server.port)
    client.send(ASK)
    await client.until('Switching')
    if (how === 'end') client.end()
    else client.reset()
    assert.deepEqual(await within(heard.promise, 'close'), how === 'end' ? ['end', 'close'] : ['error ECONNRESET', 'close'])
  }
})

test('a socket given away has what a socket of Node has', async (t) => {
  const taken = gate<{ req: IncomingMessage; socket: Socket }>()
  const server = await mount(t, () => {}, {
    upgrade: (req: IncomingMessage, socket: Duplex) => taken.open({ req, socket: socket as Socket }),
  })
  const client = connect(server.port, '127.0.0.1')
  await once(client, 'connect')
  client.write(ASK)
  const { req, socket } = await within(taken.promise, 'the upgrade')
  assert.equal(req.socket, socket)
  assert.deepEqual([socket.remoteAddress, socket.remotePort, socket.remoteFamily], ['127.0.0.1', client.localPort, 'IPv4'])
  assert.deepEqual([socket.localPort, socket.localFamily, socket.readyState], [server.port, 'IPv4', 'open'])
  assert.deepEqual([socket.connecting, socket.pending, socket.timeout], [false, false, 0])
  socket.write('12345')
  assert.equal(socket.bytesWritten, 5)
  client.write('123')
  await once(socket, 'data')
  assert.equal(socket.bytesRead, 3)
  for (const call of ['setNoDelay', 'setKeepAlive', 'ref', 'unref'] as const)
    assert.equal((socket as unknown as Record<string, () => unknown>)[call]!(), socket)
  await within(new Promise<void>((resolve) => socket.setTimeout(20, resolve)), 'the timeout')
  assert.equal(socket.timeout, 20)
  // Every public name of a socket of Node that is of use on an accepted one.
  const here = socket as unknown as Record<string, unknown>
  const missing = publicNames(client).filter((name) => !(name in here) && !/^(?:connect|autoSelectFamily|\w+TypeOfService$)/i.test(name))
  assert.deepEqual(missing, [])
  const closed = once(client, 'error')
  socket.resetAndDestroy()
  const [error] = (await within(closed, 'the reset')) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ECONNRESET')
})

function publicNames(object: object): string[] {
  const names = new Set<string>()
  for (let at: object | null = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at) as object | null)
    for (const name of Object.getOwnPropertyNames(at)) if (/^[a-z]/.test(name)) names.add(name)
  return [...names]
}

test('a handler that has refused does not keep a client that stays', async (t) => {
  const server = await mount(t, () => {}, {
    upgrade: (_req, socket) => void socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n'),
    server: { timeouts: TIMEOUTS },
  })
  const client = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => client.destroy())
  client.on('error', () => {})
  client.resume()
  client.write(ASK)
  await within(once(client, 'end'), 'the response')
  await eventually(() => server.connections === 0, 'no connection is left')
})

test('destroySoon() sends what was written', async (t) => {
  const server = await mount(t, () => {}, {
    upgrade: (_req, socket) => {
      socket.write('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n')
      ;(socket as Socket).destroySoon()
    },
  })
  const client = await RawClient.connect(server.port)
  client.send(ASK)
  assert.match(await client.rest(), /^HTTP\/1.1 403 /)
})
