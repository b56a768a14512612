// toNodeServer: a server of weir in the form of Node's http.Server, and req.socket.server of mounted code.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as ask, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'

import { WebSocket, WebSocketServer } from 'ws'

import { HttpServer } from '../../src/index.ts'
import { mountNode, toNodeServer } from '../../src/node/index.ts'
import { connect as connectInMemory, TestClock } from '../../src/testing/index.ts'
import { mount } from '../support/mounted.ts'
import { within } from '../support/serving.ts'

function make(options: ConstructorParameters<typeof HttpServer>[0] = {}): { readonly server: HttpServer; readonly node: Server } {
  const server = new HttpServer({ logger: null, address: '127.0.0.1', port: 0, ...options })
  server.mapGet('/weir', () => 'weir')
  return { server, node: toNodeServer(server) }
}

test('listens, answers, tells its address, and closes', async () => {
  const { node } = make()
  assert.deepEqual([node.listening, node.address()], [false, null])
  node.on('request', (req, res) => res.end(`${req.url} ${(req.socket as unknown as { server: unknown }).server === node}`))
  await within(new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve)), 'listening')
  const { port, address, family } = node.address() as AddressInfo
  assert.deepEqual([node.listening, address, family], [true, '127.0.0.1', 'IPv4'])
  const text = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })).text()
  assert.deepEqual([await text('/weir'), await text('/node?a=1')], ['weir', '/node?a=1 true'])
  await within(new Promise((resolve) => node.close(resolve)), 'the end')
  assert.equal(node.listening, false)
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => node.close(resolve))
  assert.equal(error?.code, 'ERR_SERVER_NOT_RUNNING')
  const again = once(node, 'close')
  node.close({} as never) // not a function: ignored, as Node does
  await within(again, 'the event of a server that is closed twice')
})

test('without a listener, what no route matches is 404', async (t) => {
  const { server, node } = make()
  node.listen({ port: 0 })
  await once(node, 'listening')
  t.after(() => server.stop({ graceMs: 0 }))
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/none`)).status, 404)
})

test('a port that is taken is an error event', async (t) => {
  const first = make()
  await first.server.start()
  t.after(() => first.server.stop({ graceMs: 0 }))
  const { node } = make()
  node.listen(first.server.port, '127.0.0.1')
  const [error] = (await within(once(node, 'error'), 'the error')) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'EADDRINUSE')
})

test('ws listens for its upgrades, as on http.Server', async (t) => {
  const { server, node } = make()
  const wss = new WebSocketServer({ server: node, path: '/chat' })
  wss.on('connection', (socket) => socket.on('message', (data) => socket.send(`echo ${data}`)))
  node.listen()
  await once(node, 'listening')
  t.after(() => server.stop({ graceMs: 0 }))
  const client = new WebSocket(`ws://127.0.0.1:${server.port}/chat`)
  await within(once(client, 'open'), 'open')
  client.send('hi')
  const [data] = await within(once(client, 'message'), 'the echo')
  assert.equal(String(data), 'echo hi')
  client.terminate()
})

test('mounted code adds its listener for upgrade to req.socket.server, as proxies do', async (t) => {
  let isAdded = false
  const server = await mount(t, (req: IncomingMessage, res) => {
    if (!isAdded) {
      isAdded = true
      const { server: node } = req.socket as unknown as { server: Server }
      node.on('upgrade', (_req, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n'))
    }
    res.end('page')
  })
  assert.equal(await (await fetch(`http://127.0.0.1:${server.port}/`)).text(), 'page')
  const request = ask({ port: server.port, host: '127.0.0.1', headers: { connection: 'upgrade', upgrade: 'echo' } }).end()
  const [response] = (await within(once(request, 'upgrade'), 'the upgrade')) as [IncomingMessage]
  assert.equal(response.statusCode, 101)
})

test('what is no server, and what is mounted twice', () => {
  assert.throws(() => toNodeServer({} as HttpServer), { code: 'WEIR_OPTION_INVALID' })
  const { server } = make()
  assert.throws(() => mountNode(server, '/', () => {}), { code: 'WEIR_ROUTE_CLASH' })
})

test('a server with several endpoints listens where its options say', async () => {
  const listen = [
    { address: '127.0.0.1', port: 0 },
    { address: '127.0.0.1', port: 0 },
  ]
  const server = new HttpServer({ logger: null, listen })
  const node = toNodeServer(server)
  node.listen(3000)
  const [error] = (await within(once(node, 'error'), 'the error')) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'WEIR_OPTION_INVALID')
})

test('each exchange is a connection for what listens, and ends once, however it ends', async (t) => {
  const { server, node } = make()
  const open = new Map<Socket, string>()
  const events: string[] = []
  node.on('connection', (socket: Socket) => {
    open.set(socket, 'open')
    socket.once('close', () => {
      events.push(open.get(socket)!)
      open.delete(socket)
    })
  })
  node.on('request', (req, res) => {
    open.set(req.socket, req.url!)
    // As a package that counts responses does: after this, nothing may count the socket again.
    res.once('finish', () => events.push(`finish ${open.get(req.socket)}`))
    if (req.url === '/destroyed') req.socket.destroy()
    else if (req.url === '/later') setImmediate(() => res.end('later'))
    else if (req.url !== '/stuck') res.end('now')
  })
  node.on('upgrade', (req, socket: Socket) => {
    open.set(socket, req.url!)
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  node.listen()
  await once(node, 'listening')
  t.after(() => server.stop({ graceMs: 0 }))
  const url = `http://127.0.0.1:${server.port}`
  for (const path of ['/now', '/later', '/weir']) await (await fetch(url + path)).text()
  await assert.rejects(fetch(`${url}/destroyed`))
  const refused = ask({
    port: server.port,
    host: '127.0.0.1',
    path: '/upgraded',
    headers: { connection: 'upgrade', upgrade: 'echo' },
  }).end()
  const [response] = (await within(once(refused, 'response'), 'the refusal')) as [IncomingMessage]
  response.resume()
  const stuck = assert.rejects(fetch(`${url}/stuck`))
  while (![...open.values()].includes('/stuck')) await new Promise(setImmediate)
  for (const socket of open.keys()) socket.destroy() // as packages that drain do
  await stuck
  while (open.size > 0) await new Promise(setImmediate)
  assert.deepEqual(events.sort(), ['/destroyed', '/later', '/now', '/stuck', '/upgraded', 'finish /later', 'finish /now'])
})

test('closeAllConnections ends what is stuck, and close waits for that', async () => {
  for (const order of ['before', 'after']) {
    const { server, node } = make()
    node.on('request', () => {})
    node.listen()
    await once(node, 'listening')
    const stuck = assert.rejects(fetch(`http://127.0.0.1:${server.port}/stuck`))
    while (server.connections === 0) await new Promise(setImmediate)
    let closes = 0
    node.on('close', () => closes++)
    if (order === 'before') node.closeAllConnections()
    const closed = new Promise<Error | undefined>((resolve) => node.close(resolve))
    if (order === 'after') node.closeAllConnections()
    assert.equal(await within(closed, `the end, ${order}`), undefined)
    assert.deepEqual([server.connections, closes], [0, 1])
    await stuck
  }
})

test('the timeout of the server is that of each exchange, and a listener on the socket alone does not keep it', async () => {
  const clock = new TestClock()
  const { server, node } = make()
  const heard: string[] = []
  node.on('request', (req, res) => {
    req.socket.on('timeout', () => heard.push(`socket ${req.url}`))
    if (req.url === '/heard') res.on('timeout', () => res.end('too slow'))
  })
  node.setTimeout(1000)
  const client = await connectInMemory(server, { clock })
  const kept = client.get('/heard')
  await new Promise(setImmediate)
  await clock.advance(1500)
  assert.equal((await kept).text(), 'too slow')
  const cut = assert.rejects(client.get('/cut'))
  await new Promise(setImmediate)
  await clock.advance(1500)
  await cut
  node.on('timeout', (socket: Socket) => {
    heard.push('server')
    socket.destroy()
  })
  const told = assert.rejects((await connectInMemory(server, { clock })).get('/told'))
  await new Promise(setImmediate)
  await clock.advance(1500)
  await told
  assert.deepEqual(heard, ['socket /heard', 'socket /cut', 'socket /told', 'server'])
})
