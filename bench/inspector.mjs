// The cost of the inspector: CPU time per exchange with and without it, in turns, over one connection in one process. The difference is the
// inspector's. Off, there is nothing to measure: nothing of it is loaded.
//
//   node bench/inspector.mjs [--rounds 15] [--requests 5000]       needs npm run build
import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { inspector } from '../packages/dev/dist/index.js'
import { HttpServer } from '../packages/weirjs/dist/index.js'
import { describeMachine } from './machine.mjs'
import { median } from './statistics.mjs'

const BROWSER = [
  'Host: 127.0.0.1',
  'Connection: keep-alive',
  'sec-ch-ua: "Chromium";v="130", "Not?A_Brand";v="99"',
  'sec-ch-ua-mobile: ?0',
  'User-Agent: Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36',
  'Accept: application/json, text/plain, */*',
  'Sec-Fetch-Site: same-origin',
  'Sec-Fetch-Mode: cors',
  'Referer: http://127.0.0.1/users?page=2',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Accept-Language: en-GB,en;q=0.9,de;q=0.8',
  'Cookie: theme=dark; sid=0123456789abcdef0123456789abcdef',
].join('\r\n')
const USER = JSON.stringify({
  name: 'Ada Lovelace',
  email: 'ada@example.org',
  password: 'correct horse',
  roles: ['admin', 'user'],
  age: 36,
})

const WORKLOADS = {
  'GET with the headers of a browser': `GET /users/42?active=true HTTP/1.1\r\n${BROWSER}\r\n\r\n`,
  'POST of 130 B of JSON, echoed': `POST /users HTTP/1.1\r\n${BROWSER}\r\nContent-Type: application/json\r\nContent-Length: ${USER.length}\r\n\r\n${USER}`,
}

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '15' }, requests: { type: 'string', default: '5000' } } })
const rounds = Number(values.rounds)
const requests = Number(values.requests)

async function serve(withInspector) {
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  if (withInspector) server.use(inspector())
  server.mapGet('/users/:id', ({ id }) => ({ id, name: 'Ada Lovelace', token: '0123456789abcdef' }))
  server.mapPost('/users', (_, { request }) => request.bodyJson())
  await server.start()
  return server
}

/** @returns microseconds of CPU time per exchange, those of the client included */
async function measure(server, bytes) {
  const socket = connect(server.port, '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  const before = process.cpuUsage()
  for (let i = 0; i < requests; i++) {
    const answered = new Promise((resolve) => socket.once('data', resolve))
    socket.write(bytes, 'latin1')
    await answered
  }
  const { user, system } = process.cpuUsage(before)
  socket.destroy()
  return (user + system) / requests
}

const off = await serve(false)
const on = await serve(true)
const { processor, cores, node, commit } = describeMachine()
console.log(
  `${processor}, ${cores} cores, Node ${node}, commit ${commit}\n\n| exchange | off µs | on µs | difference µs |\n| --- | --- | --- | --- |`,
)
for (const [name, bytes] of Object.entries(WORKLOADS)) {
  const differences = []
  const all = { off: [], on: [] }
  for (let round = -2; round < rounds; round++) {
    const offUs = await measure(off, bytes)
    const onUs = await measure(on, bytes)
    if (round < 0) continue // warms up
    all.off.push(offUs)
    all.on.push(onUs)
    differences.push(onUs - offUs)
  }
  console.log(`| ${name} | ${median(all.off).toFixed(1)} | ${median(all.on).toFixed(1)} | ${median(differences).toFixed(1)} |`)
}
await Promise.all([off.stop(), on.stop()])
