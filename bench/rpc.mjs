// CPU time and memory of calls: weir, grpc-js and connect-node on node:http2 in turns, and weir without protocol buffers.
//
//   npm run build && npm run compile && node bench/rpc.mjs [--rounds 9] [--only unary] [--node /path/to/node]
//
// The load is that of h2load (Debian: nghttp2-client): 4 connections with 32 streams each. Each server is a process, which reads its own CPU time
// before and after each round; the servers take turns. `--node` is what runs them. The last two tables are the memory of a stream that is open
// and idle, and what protocol buffers themselves cost.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'

import { EchoRequestSchema, EchoResponseSchema, EchoService } from '../build/packages/rpc/test/proto/echo_pb.js'
import { describeMachine } from './machine.mjs'
import { median, uncertainty } from './statistics.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    only: { type: 'string', default: '' },
    node: { type: 'string', default: process.execPath },
    serve: { type: 'string' },
  },
})
const pathOf = (method) => `/${EchoService.typeName}/${method}`
const GRPC = ['content-type: application/grpc', 'te: trailers']

const implementation = {
  say: ({ text }) => ({ text }),
  async *repeat({ text, count }) {
    for (let index = 0; index < count; index++) yield { text, index }
  },
  async *converse(requests) {
    for await (const { text } of requests) yield { text }
  },
}

/** Each returns the port for gRPC and, if it has one, that for HTTP/1.1. */
const SERVERS = {
  async weir() {
    const { HttpServer } = await import('../packages/weirjs/dist/index.js')
    const { mapService } = await import('../packages/rpc/dist/index.js')
    const listen = [
      { address: '127.0.0.1', port: 0, http2: 'cleartext' },
      { address: '127.0.0.1', port: 0, name: 'http1' },
    ]
    const server = new HttpServer({ listen, limits: { maxRequestsPerConnection: null } })
    mapService(server, EchoService, implementation)
    await server.start()
    return server.endpoints.map(({ port }) => port)
  },
  /** The same bytes and trailer, without the package: what weir's engine and routes cost. */
  async 'weir, bytes alone'() {
    const { HttpServer } = await import('../packages/weirjs/dist/index.js')
    const server = new HttpServer({ address: '127.0.0.1', port: 0, http2: 'cleartext', limits: { maxRequestsPerConnection: null } })
    server.map('POST', pathOf('Say'), { body: 'buffer' }, (_, { request, response }) =>
      response.body(request.bodyBytes, 'application/grpc').trailer('grpc-status', '0'),
    )
    await server.start()
    return [server.port]
  },
  async 'grpc-js'() {
    const grpc = await import('@grpc/grpc-js')
    const server = new grpc.Server({ 'grpc.default_compression_algorithm': 2 })
    const method = (name, requestStream, responseStream) => ({
      path: pathOf(name),
      requestStream,
      responseStream,
      requestSerialize: (message) => Buffer.from(toBinary(EchoRequestSchema, message)),
      requestDeserialize: (bytes) => fromBinary(EchoRequestSchema, bytes),
      responseSerialize: (message) => Buffer.from(toBinary(EchoResponseSchema, message)),
      responseDeserialize: (bytes) => fromBinary(EchoResponseSchema, bytes),
    })
    server.addService(
      { say: method('Say', false, false), repeat: method('Repeat', false, true), converse: method('Converse', true, true) },
      {
        say: ({ request }, respond) => respond(null, create(EchoResponseSchema, { text: request.text })),
        async repeat(call) {
          const { text, count } = call.request
          for (let index = 0; index < count; index++)
            if (!call.write(create(EchoResponseSchema, { text, index }))) await once(call, 'drain')
          call.end()
        },
        converse(call) {
          call.on('data', ({ text }) => call.write(create(EchoResponseSchema, { text })))
          call.on('end', () => call.end())
        },
      },
    )
    return await new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => (error ? reject(error) : resolve([port])))
    })
  },
  async 'connect-node'() {
    const [http, http2] = await Promise.all([import('node:http'), import('node:http2')])
    const { connectNodeAdapter } = await import('@connectrpc/connect-node')
    const adapter = connectNodeAdapter({ routes: (router) => router.service(EchoService, implementation) })
    const servers = [http2.createServer(adapter), http.createServer(adapter)]
    for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
    return servers.map((server) => server.address().port)
  },
}

/** A message in a frame. @param bytes of the message, about */
function framed(bytes, count = 0, isCompressed = false) {
  const plain = toBinary(EchoRequestSchema, create(EchoRequestSchema, { text: 'x'.repeat(Math.max(1, bytes - 2)), count }))
  const message = isCompressed ? gzipSync(plain) : plain
  const head = Buffer.alloc(5)
  head[0] = Number(isCompressed)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** `messages`: by how many the time of a call is divided. */
const WORKLOADS = {
  'unary, 35 B': { method: 'Say', body: framed(35), calls: 8_000 },
  'unary, 4 KiB': { method: 'Say', body: framed(4096), calls: 8_000 },
  'unary, 4 KiB in gzip': {
    method: 'Say',
    body: framed(4096, 0, true),
    calls: 4_000,
    fields: ['grpc-encoding: gzip', 'grpc-accept-encoding: gzip'],
  },
  'server stream, 1,000 messages': { method: 'Repeat', body: framed(35, 1_000), calls: 128, messages: 1_000 },
  'bidi echo, 100 messages': { method: 'Converse', body: Buffer.concat(Array(100).fill(framed(35))), calls: 512, messages: 100 },
  'Connect, JSON over HTTP/1.1': {
    method: 'Say',
    body: Buffer.from(JSON.stringify({ text: 'x'.repeat(33) })),
    calls: 8_000,
    isHttp1: true,
  },
}
const IDLE = 'idle streams'
const CODEC = 'protocol buffers alone'

if (values.serve !== undefined) {
  process.send(await SERVERS[values.serve]())
  process.on('message', (what) => {
    const { user, system } = process.cpuUsage()
    if (what === 'memory') for (let i = 0; i < 4; i++) globalThis.gc()
    process.send(what === 'memory' ? process.memoryUsage() : user + system)
  })
} else {
  const { processor, cores, node, commit } = describeMachine()
  const served = values.node === process.execPath ? node : spawnSync(values.node, ['--version'], { encoding: 'utf8' }).stdout.trim()
  console.log(`${processor}, ${cores} cores, servers on Node ${served}, ${commit}, ${values.rounds} rounds`)
  const isDue = (name) => name.includes(values.only)
  for (const [name, workload] of Object.entries(WORKLOADS)) if (isDue(name)) await compare(name, workload)
  if (isDue(IDLE)) await compareIdle()
  if (isDue(CODEC)) showCodec()
}

async function start(name) {
  const args = ['--expose-gc', import.meta.filename, '--serve', name]
  const child = spawn(values.node, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const [ports] = await once(child, 'message')
  const ask = async (what) => {
    child.send(what)
    return (await once(child, 'message'))[0]
  }
  return { name, child, ports, ask, times: [] }
}

async function compare(title, { method, body, calls, fields = [], messages = 1, isHttp1 = false }) {
  const file = join(mkdtempSync(join(tmpdir(), 'rpc-')), 'body')
  writeFileSync(file, body)
  const names = Object.keys(SERVERS).filter(
    (name) => !(isHttp1 && name === 'grpc-js') && (name !== 'weir, bytes alone' || title === 'unary, 35 B'),
  )
  const servers = []
  for (const name of names) servers.push(await start(name))
  const head = isHttp1 ? ['--h1', '-H', 'content-type: application/json'] : [...GRPC, ...fields].flatMap((field) => ['-H', field])
  for (let round = -1; round < Number(values.rounds); round++)
    for (let i = 0; i < servers.length; i++) {
      const { ask, ports, times } = servers[(i + round + 1) % servers.length]
      const before = await ask('cpu')
      load(`http://127.0.0.1:${ports[isHttp1 ? 1 : 0]}${pathOf(method)}`, [...head, '-d', file], calls)
      if (round >= 0) times.push(((await ask('cpu')) - before) / calls / messages) // the first warms up
    }
  const base = servers.find(({ name }) => name === (isHttp1 ? 'connect-node' : 'grpc-js'))
  console.log(`\n${title}: CPU of each ${messages === 1 ? 'call' : 'message'}`)
  for (const { name, child, times } of servers) {
    const ratios = times.map((time, i) => time / base.times[i])
    const ratio = `${median(ratios).toFixed(2)} of ${base.name} ± ${Math.round(uncertainty(ratios) * 100)} %`
    console.log(`${name.padEnd(20)} ${median(times).toFixed(1).padStart(7)} µs   ${ratio}`)
    child.kill()
  }
}

function load(url, args, calls) {
  const { stdout, stderr, error } = spawnSync('h2load', ['-n', calls, '-c', '4', '-m', '32', ...args, url], { encoding: 'utf8' })
  if (error) throw error
  if (!new RegExp(`${calls} succeeded, 0 failed, 0 errored`).test(stdout)) throw new Error(stdout + stderr)
}

/** Streams whose first message has come back, and that then wait: the heap of the server, and its resident memory, each. */
async function compareIdle() {
  const connections = 20
  const streams = 100
  console.log(`\n${connections * streams} ${IDLE}: memory of each`)
  for (const name of Object.keys(SERVERS)) {
    if (name === 'weir, bytes alone') continue
    const { child, ports, ask } = await start(name)
    const clients = Array.from({ length: connections }, () => connect(`http://127.0.0.1:${ports[0]}`))
    const open = async (client) => {
      const stream = client.request({ ':method': 'POST', ':path': pathOf('Converse'), 'content-type': 'application/grpc', te: 'trailers' })
      stream.write(framed(35))
      await once(stream, 'data')
    }
    for (const client of clients) await open(client) // what the first call of a connection costs is not that of a stream
    const before = await ask('memory')
    for (const client of clients) await Promise.all(Array.from({ length: streams - 1 }, () => open(client)))
    const after = await ask('memory')
    const each = (kind) => ((after[kind] - before[kind]) / (connections * (streams - 1)) / 1024).toFixed(1).padStart(7)
    console.log(`${name.padEnd(20)} ${each('heapUsed')} KiB of heap, ${each('rss')} KiB of resident memory`)
    for (const client of clients) client.destroy()
    child.kill()
  }
}

/** One message read and one written, as each unary call does. */
function showCodec() {
  console.log(`\n${CODEC}: CPU of reading a request and writing a response`)
  for (const size of [35, 4096]) {
    const bytes = framed(size).subarray(5)
    const turn = (count) => {
      for (let i = 0; i < count; i++) {
        const { text } = fromBinary(EchoRequestSchema, bytes)
        toBinary(EchoResponseSchema, create(EchoResponseSchema, { text }))
      }
    }
    turn(20_000)
    const times = Array.from({ length: Number(values.rounds) }, () => {
      const before = process.cpuUsage()
      turn(20_000)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 20_000
    })
    console.log(`${`${size} B`.padEnd(20)} ${median(times).toFixed(1).padStart(7)} µs`)
  }
}
