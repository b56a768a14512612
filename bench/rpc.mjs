// Unary calls of gRPC: CPU time per call of weir, grpc-js and connect-node on node:http2, and of weir without protocol buffers.
//
//   npm run build && npm run compile && node bench/rpc.mjs [--rounds 9] [--calls 8000] [--bytes 35]
//
// The load is that of h2load (Debian: nghttp2-client): 4 connections with 32 streams each. Each server is a process, which reads its own CPU time
// before and after each round; the servers take turns. The method says back the text of the request.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'

import { EchoRequestSchema, EchoResponseSchema, EchoService } from '../build/packages/rpc/test/proto/echo_pb.js'
import { describeMachine } from './machine.mjs'
import { median, uncertainty } from './statistics.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    calls: { type: 'string', default: '8000' },
    bytes: { type: 'string', default: '35' },
    serve: { type: 'string' },
  },
})
const PATH = `/${EchoService.typeName}/Say`

const SERVERS = {
  async weir() {
    const { HttpServer } = await import('../packages/weirjs/dist/index.js')
    const { mapService } = await import('../packages/rpc/dist/index.js')
    const server = new HttpServer({ address: '127.0.0.1', port: 0, http2: 'cleartext', limits: { maxRequestsPerConnection: null } })
    mapService(server, EchoService, { say: ({ text }) => ({ text }) })
    await server.start()
    return server.port
  },
  /** The same bytes and trailer, without the package: what weir's engine and routes cost. */
  async 'weir, bytes alone'() {
    const { HttpServer } = await import('../packages/weirjs/dist/index.js')
    const server = new HttpServer({ address: '127.0.0.1', port: 0, http2: 'cleartext', limits: { maxRequestsPerConnection: null } })
    server.map('POST', PATH, { body: 'buffer' }, (_, { request, response }) =>
      response.body(request.bodyBytes, 'application/grpc').trailer('grpc-status', '0'),
    )
    await server.start()
    return server.port
  },
  async 'grpc-js'() {
    const grpc = await import('@grpc/grpc-js')
    const server = new grpc.Server()
    const method = {
      path: PATH,
      requestStream: false,
      responseStream: false,
      requestSerialize: (message) => Buffer.from(toBinary(EchoRequestSchema, message)),
      requestDeserialize: (bytes) => fromBinary(EchoRequestSchema, bytes),
      responseSerialize: (message) => Buffer.from(toBinary(EchoResponseSchema, message)),
      responseDeserialize: (bytes) => fromBinary(EchoResponseSchema, bytes),
    }
    const say = ({ request }, respond) => respond(null, create(EchoResponseSchema, { text: request.text }))
    server.addService({ say: method }, { say })
    return await new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => (error ? reject(error) : resolve(port)))
    })
  },
  async 'connect-node'() {
    const { createServer } = await import('node:http2')
    const { connectNodeAdapter } = await import('@connectrpc/connect-node')
    const server = createServer(connectNodeAdapter({ routes: (router) => router.service(EchoService, { say: ({ text }) => ({ text }) }) }))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return server.address().port
  },
}

if (values.serve !== undefined) {
  process.send(await SERVERS[values.serve]())
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send(user + system)
  })
} else await compare()

async function compare() {
  const { calls, bytes, rounds } = values
  const message = toBinary(EchoRequestSchema, create(EchoRequestSchema, { text: 'x'.repeat(Math.max(1, Number(bytes) - 2)) }))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  const body = join(mkdtempSync(join(tmpdir(), 'rpc-')), 'body')
  writeFileSync(body, Buffer.concat([head, message]))
  const servers = []
  for (const name of Object.keys(SERVERS)) {
    const child = spawn(process.execPath, [import.meta.filename, '--serve', name], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const [port] = await once(child, 'message')
    servers.push({ name, child, port, times: [] })
  }
  const cpuOf = async ({ child }) => {
    child.send('cpu')
    return (await once(child, 'message'))[0]
  }
  const { processor, cores, node, commit } = describeMachine()
  console.log(`${processor}, ${cores} cores, Node ${node}, ${commit}\n${rounds} rounds of ${calls} calls, ${message.length} bytes each`)
  for (let round = -1; round < Number(rounds); round++)
    for (let i = 0; i < servers.length; i++) {
      const server = servers[(i + round + 1) % servers.length]
      const before = await cpuOf(server)
      load(server.port, body, calls)
      if (round >= 0) server.times.push(((await cpuOf(server)) - before) / Number(calls)) // the first warms up
    }
  const base = servers.find(({ name }) => name === 'grpc-js').times
  for (const { name, child, times } of servers) {
    const ratios = times.map((time, i) => time / base[i])
    console.log(
      `${name.padEnd(20)} ${median(times).toFixed(1).padStart(7)} µs   ${median(ratios).toFixed(2)} of grpc-js ± ${Math.round(uncertainty(ratios) * 100)} %`,
    )
    child.kill()
  }
}

function load(port, body, calls) {
  const args = ['-n', calls, '-c', '4', '-m', '32', '-d', body, '-H', 'content-type: application/grpc', '-H', 'te: trailers']
  const { stdout, stderr, error } = spawnSync('h2load', [...args, `http://127.0.0.1:${port}${PATH}`], { encoding: 'utf8' })
  if (error) throw error
  if (!new RegExp(`${calls} succeeded, 0 failed, 0 errored`).test(stdout)) throw new Error(stdout + stderr)
}
