// Hours in minutes: mixed traffic to one server, and what it costs over time.
//
//   node bench/soak.mjs [--minutes 20] [--every 10]
//
// The server runs in this process, the clients in another. Every few seconds it prints a line: requests so far, resident memory, heap after
// a collection, memory outside the heap, and open descriptors. Whatever grows without end is a leak.

import { fork } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { parseArgs, promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '20' }, every: { type: 'string', default: '10' }, port: { type: 'string' } },
})
const wait = promisify(setTimeout)
const MIB = 1024 * 1024

if (values.port === undefined) await serve()
else await load(Number(values.port), Number(values.minutes) * 60_000)

async function serve() {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const { HttpServer } = await import('../packages/weirjs/dist/index.js')
  let requests = 0
  let errors = 0
  const server = new HttpServer({ logger: { error: () => errors++ } })
  server
    .use((_, next) => {
      requests++
      next()
    })
    .mapGet('/hello', () => 'hello')
    .mapGet('/later', async () => {
      await wait(5)
      return { later: true }
    })
    .mapGet('/stream', async function* () {
      for (let i = 0; i < 10; i++) {
        yield 'x'.repeat(10_000)
        await wait(1)
      }
    })
    .mapPost('/echo', (_, { request }) => request.body)
    .mapPost('/form', async (_, { request }) => {
      const form = await request.bodyFile()
      return form.files.length
    })
    .mapPost('/count', { body: 'stream' }, async (_, { request }) => {
      let bytes = 0
      for await (const piece of request.bodyStream()) bytes += piece.length
      return bytes
    })
  await server.start()
  const child = fork(new URL(import.meta.url), ['--port', String(server.port), '--minutes', values.minutes])
  const over = new Promise((resolve) => child.on('exit', resolve))
  console.log('seconds   requests    errors   RSS MiB   heap MiB   outside MiB   descriptors')
  const start = performance.now()
  const line = () => {
    collect()
    const { rss, heapUsed, external } = process.memoryUsage()
    const descriptors = process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0
    const columns = [
      Math.round((performance.now() - start) / 1000),
      requests,
      errors,
      rss / MIB,
      heapUsed / MIB,
      external / MIB,
      descriptors,
    ]
    const widths = [7, 10, 9, 9, 10, 13, 13]
    console.log(columns.map((value, i) => (i > 2 && i < 6 ? value.toFixed(1) : String(value)).padStart(widths[i])).join(' '))
  }
  line()
  const timer = setInterval(line, Number(values.every) * 1000)
  await over
  clearInterval(timer)
  const { aborted } = await server.stop()
  await wait(100)
  line()
  console.log(`stopped; ${aborted} requests were aborted`)
}

/** Many clients, each of one kind. A client that is done starts again. */
async function load(port, ms) {
  const end = performance.now() + ms
  const host = 'Host: localhost\r\n'
  const get = (path, fields = '') => `GET ${path} HTTP/1.1\r\n${host}${fields}\r\n`
  const post = (path, body, type = 'text/plain') =>
    Buffer.concat([
      Buffer.from(`POST ${path} HTTP/1.1\r\n${host}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`),
      Buffer.from(body),
    ])
  const form = Buffer.concat([
    Buffer.from('--b\r\nContent-Disposition: form-data; name="f"; filename="f.bin"\r\n\r\n'),
    Buffer.alloc(200_000, 'f'),
    Buffer.from('\r\n--b--\r\n'),
  ])
  const chunked = `POST /count HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${`3e8\r\n${'c'.repeat(1000)}\r\n`.repeat(50)}0\r\n\r\n`

  /** Sends `bytes` `times` times, each after the previous response, and leaves. */
  const talk = (bytes, answers, times, leave) =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      let seen = 0
      let left = times
      socket.on('connect', () => socket.write(bytes))
      socket.on('data', (data) => {
        // Every response has one status line, and none of the bodies contains that text.
        for (let at = data.indexOf('HTTP/1.1 '); at !== -1; at = data.indexOf('HTTP/1.1 ', at + 9)) seen++
        if (seen < answers) return
        seen = 0
        if (--left > 0 && performance.now() < end) socket.write(bytes)
        else setTimeout(() => leave(socket), 20)
      })
      socket.on('error', () => {})
      socket.on('close', resolve)
    })
  const ending = (socket) => socket.end()
  const breaking = (delayMs) => (bytes) =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(bytes)
        setTimeout(() => (Math.random() < 0.5 ? socket.resetAndDestroy() : socket.destroy()), delayMs * Math.random())
      })
      socket.on('data', () => {})
      socket.on('error', () => {})
      socket.on('close', resolve)
    })
  const kinds = [
    [30, () => talk(get('/hello'), 1, 200, ending)],
    [10, () => talk(get('/later'), 1, 50, ending)],
    [10, () => talk(get('/hello', 'Connection: close\r\n'), 1, 1, ending)],
    [10, () => talk(get('/hello').repeat(16), 16, 50, ending)],
    [6, () => talk(get('/stream'), 1, 1, ending)],
    [8, () => talk(post('/echo', 'e'.repeat(20_000)), 1, 20, ending)],
    [4, () => talk(post('/form', form, 'multipart/form-data; boundary=b'), 1, 5, ending)],
    [4, () => talk(chunked, 1, 10, ending)],
    [4, () => breaking(20)(get('/stream'))],
    [4, () => breaking(20)(post('/form', form, 'multipart/form-data; boundary=b').subarray(0, 100_000))],
    [4, () => breaking(10)(get('/later').repeat(5))],
    [2, () => breaking(10)('GET /hel')],
    [2, () => talk('NO SUCH THING\r\n\r\n', 1, 1, ending)],
  ]
  const loop = async (work) => {
    while (performance.now() < end) await work()
  }
  await Promise.all(kinds.flatMap(([clients, work]) => Array.from({ length: clients }, () => loop(work))))
  process.exit(0)
}
