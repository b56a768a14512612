// The process that w10 starts: `cold-start-server.mjs <name>`. It imports one server, listens, reports that in one line on stdout, and
// responds to everything with the CPU time that it has used so far. It uses neither IPC nor a stream for stdout, because both would load
// node:net early.
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const SERVERS = {
  weir: {
    load: () => import(process.env.WEIR_DIST ? pathToFileURL(`${process.env.WEIR_DIST}/index.js`) : '../packages/weirjs/dist/index.js'),
    async start({ HttpServer }) {
      const server = new HttpServer('127.0.0.1', 0)
      server.mapGet('/', () => process.cpuUsage())
      await server.start()
      return server.port
    },
  },
  'node:http': { load: () => import('node:http'), start: startNodeHttp },
  // Since Node 22, importing it also loads fetch and WebSocket, because it exports their classes. Requiring it does not.
  'node:http, by require': {
    load: () => process.getBuiltinModule('node:module').createRequire(import.meta.url)('node:http'),
    start: startNodeHttp,
  },
  'node:net': {
    load: () => import('node:net'),
    async start({ createServer }) {
      const server = createServer((socket) => {
        socket.once('data', () => {
          const body = JSON.stringify(process.cpuUsage())
          socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
        })
      })
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server.address().port
    },
  },
}

async function startNodeHttp({ createServer }) {
  const server = createServer((_request, response) => {
    const body = JSON.stringify(process.cpuUsage())
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
    response.end(body)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address().port
}

const { load, start } = SERVERS[process.argv[2]]
const before = performance.now()
const loaded = await load()
const importMs = performance.now() - before
writeSync(1, `${JSON.stringify({ port: await start(loaded), importMs })}\n`)
