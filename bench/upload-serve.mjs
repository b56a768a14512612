// The servers of uploads.mjs: `upload-serve.mjs weir|busboy|raw <folder>`. Each saves the file of a form in the folder (raw saves the body
// itself) and responds with its path. WEIR_DIST selects another build than ../packages/weirjs/dist.
import { randomUUID } from 'node:crypto'
import { createWriteStream, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'

const [name, folder] = process.argv.slice(2)

const servers = {
  async weir() {
    const { HttpServer, saveTo } = await import(
      process.env.WEIR_DIST ? pathToFileURL(`${process.env.WEIR_DIST}/index.js`) : '../packages/weirjs/dist/index.js'
    )
    const server = new HttpServer('127.0.0.1', 0)
    server.mapPost('/upload', { maxRequestBodySize: null }, async (_, { request, response }) => {
      let saved = null
      const isValid = await request.bodyMultipartStream({
        maxFileSize: Number.POSITIVE_INFINITY,
        async onFile(info, content) {
          saved = await saveTo(folder, info, content)
        },
      })
      if (!isValid) return response.status(400).json({ error: 'no form' })
      return { path: saved.path }
    })
    await server.start()
    return server.port
  },

  async busboy() {
    const { default: busboy } = await import('busboy')
    return listen((request, response) => {
      const form = busboy({ headers: request.headers })
      let saving = null
      form.on('file', (_, file) => {
        const path = pathOfFile()
        saving = pipeline(file, createWriteStream(path)).then(() => path)
        saving.catch(() => {})
      })
      form.on('error', (error) => fail(response, error))
      form.on('close', () => saving.then((path) => send(response, { path })).catch((error) => fail(response, error)))
      request.pipe(form)
    })
  },

  async raw() {
    return listen((request, response) => {
      const path = pathOfFile()
      pipeline(request, createWriteStream(path)).then(
        () => send(response, { path }),
        (error) => fail(response, error),
      )
    })
  },
}

async function listen(handle) {
  const server = createServer(handle)
  server.requestTimeout = 0
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address().port
}

const pathOfFile = () => join(folder, randomUUID())

function send(response, value) {
  const body = JSON.stringify(value)
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

function fail(response, error) {
  console.error(error)
  response.writeHead(500).end()
}

/** The kernel's own high-water mark, if it reports one. That of `resourceUsage` may be the parent's. */
function peakBytes() {
  try {
    return 1024 * Number(/^VmHWM:\s*(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))[1])
  } catch {
    return 1024 * process.resourceUsage().maxRSS
  }
}

const answers = { cpu: () => process.cpuUsage(), memory: () => ({ peakBytes: peakBytes() }) }
process.on('message', ({ ask }) => process.send(answers[ask]()))
process.on('disconnect', () => process.exit())
process.send({ port: await servers[name]() })
