// The process that footprint.mjs starts: `footprint-server.mjs <name>`. It imports one server, listens, reports, and ends.
import { writeSync } from 'node:fs'

const SERVERS = {
  nothing: () => () => {},
  async 'node:http'() {
    const { createServer } = await import('node:http')
    return () => listening(createServer((_, response) => response.end('hello')))
  },
  async weir() {
    const { HttpServer } = await import('../packages/weirjs/dist/index.js')
    return async () => {
      const server = new HttpServer('127.0.0.1', 0)
      server.mapGet('/', () => 'hello')
      await server.start()
    }
  },
  async fastify() {
    const { fastify } = await import('fastify')
    return async () => {
      const server = fastify()
      server.get('/', () => 'hello')
      await server.listen({ port: 0, host: '127.0.0.1' })
    }
  },
  async hono() {
    const [{ Hono }, { serve }] = await Promise.all([import('hono'), import('@hono/node-server')])
    return () => {
      const app = new Hono()
      app.get('/', (context) => context.text('hello'))
      return new Promise((resolve) => serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, resolve))
    }
  },
  async express() {
    const { default: express } = await import('express')
    return () => {
      const app = express()
      app.get('/', (_, response) => response.send('hello'))
      return new Promise((resolve) => app.listen(0, '127.0.0.1', resolve))
    }
  },
}

const listening = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const cpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
const mib = () => process.memoryUsage.rss() / 1024 / 1024

const began = cpuMs()
const listen = await SERVERS[process.argv[2]]()
const imported = cpuMs()
await listen()
const started = cpuMs()
const startMiB = mib()
await new Promise((resolve) => setTimeout(resolve, 1000))
globalThis.gc()
writeSync(1, JSON.stringify({ importMs: imported - began, listenMs: started - began, startMiB, idleMiB: mib() }))
process.exit()
