// What a hit of weirjs/cache costs, compared with the handler itself: node bench/cache.mjs (after npm run build). One process, no sockets:
// requests run through the parser and the whole pipeline with server.fetch in turns, so that other work of the machine affects all alike.

import { performance } from 'node:perf_hooks'

import { HttpServer } from '../packages/weirjs/dist/index.js'
import { cache } from '../packages/weirjs/dist/modules/cache/index.js'
import { compression } from '../packages/weirjs/dist/modules/compression/index.js'

const ROUNDS = Number(process.argv[2] ?? 41)
const PER_TURN = 500
const BODY = JSON.stringify(
  Array.from({ length: 60 }, (_, id) => ({ id, name: `name ${id}`, mail: `user${id}@example.org`, active: id % 2 === 0 })),
)
const items = JSON.parse(BODY)

function serverWith(use, options = {}) {
  const server = new HttpServer({ logger: null })
  if (options.compressed) server.use(compression())
  server.mapGet('/hello', { use }, () => ({ hello: 'world' }))
  server.mapGet('/items', { use }, () => items)
  return server
}

const GET = {
  method: 'GET',
  headers: [
    ['host', 'localhost'],
    ['user-agent', 'bench'],
    ['accept', '*/*'],
  ],
  body: null,
  bodyUsed: false,
  signal: undefined,
}
const cases = [
  ['{"hello":"world"} by the handler', serverWith([]), { ...GET, url: 'http://localhost/hello' }],
  ['the same, a hit', serverWith([cache({ maxAge: '1h' })]), { ...GET, url: 'http://localhost/hello' }],
  [
    'the same, a hit without Cache-Status',
    serverWith([cache({ maxAge: '1h', cacheStatus: false })]),
    { ...GET, url: 'http://localhost/hello' },
  ],
  [`${BODY.length} bytes of JSON by the handler`, serverWith([]), { ...GET, url: 'http://localhost/items' }],
  ['the same, a hit', serverWith([cache({ maxAge: '1h' })]), { ...GET, url: 'http://localhost/items' }],
  [
    'the same by the handler, with br',
    serverWith([], { compressed: true }),
    { ...GET, url: 'http://localhost/items', headers: [...GET.headers, ['accept-encoding', 'br']] },
  ],
  [
    'a hit, with br',
    serverWith([cache({ maxAge: '1h' })], { compressed: true }),
    { ...GET, url: 'http://localhost/items', headers: [...GET.headers, ['accept-encoding', 'br']] },
  ],
].map(([name, server, request]) => ({ name, server, request, times: [] }))

async function turn({ server, request }, count) {
  const begin = performance.now()
  for (let i = 0; i < count; i++) {
    const response = await server.fetch(request)
    if (response.status !== 200) throw new Error(`${response.status}`)
  }
  return ((performance.now() - begin) * 1_000) / count
}

for (const one of cases) await turn(one, 2_000)
for (let round = 0; round < ROUNDS; round++) for (const one of cases) one.times.push(await turn(one, PER_TURN))
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]
const bare = median(cases[0].times)
for (const { name, times } of cases)
  console.log(
    `${name.padEnd(45)} ${median(times).toFixed(1).padStart(7)} us  ${(median(times) - bare >= 0 ? '+' : '') + (median(times) - bare).toFixed(1)}`,
  )
