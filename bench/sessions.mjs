// What a session costs for each request: sealed, and in a store in memory.
//
//   npm run build && node bench/sessions.mjs [--rounds 15]
//
// One process, no sockets: a client of weirjs/testing with one connection sends requests with the fields of a browser to one server for each
// row. Times are the CPU time of the process. Rounds alternate; a number is the median of all rounds, less that of a twin: a server without
// sessions that gets the same requests and responds with the same bytes.

import { randomBytes } from 'node:crypto'
import os from 'node:os'

import { HttpServer, t } from '../packages/weirjs/dist/index.js'
import { memorySessions, sealed, sessions } from '../packages/weirjs/dist/modules/sessions/index.js'
import { connect } from '../packages/weirjs/dist/testing/index.js'

import { median } from './statistics.mjs'

const at = process.argv.indexOf('--rounds')
const ROUNDS = at === -1 ? 15 : Number(process.argv[at + 1])
const REQUESTS = 2_000
const PEER = { address: '203.0.113.7', isSecure: true }
const BROWSER = {
  'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  Accept: 'text/html,application/xhtml+xml',
  'Accept-Language': 'en-GB,en;q=0.9,de;q=0.8',
  Cookie: 'theme=dark; consent=2026-01-01',
}
const DATA = t.object({ count: t.int.default(0), cart: t.array(t.string).default([]), note: t.string.default('') })
const CART = ['7f3b8a62-58a3-4f0c-b7a4-3f5f2b1c9d10', '0d9f5f0e-6b39-4a3e-9a0e-1f6c2f0d7b11']

/** A client that has signed in, and what it asks for. */
async function subject(storeOf, path, { isKnown = true, fill = '' } = {}) {
  const server = new HttpServer({ logger: null, timeouts: { keepAliveTimeout: null } })
  const users = sessions({ store: storeOf(), data: DATA })
  server.use(users)
  server.mapPost('/login', (_, session) => {
    users.signIn(session, { id: '4711', name: 'Ann Example', roles: ['admin', 'editor'] })
    users.of(session).update({ cart: CART, note: fill })
  })
  server.mapGet('/read', (_, session) => users.of(session).principal?.id ?? 'nobody')
  server.mapGet('/write', (_, session) => {
    users.of(session).update({ count: users.of(session).data.count + 1 })
    return session.response.noContent()
  })
  const client = connect(server, { peer: PEER })
  let headers = BROWSER
  if (isKnown) {
    const response = await client.post('/login')
    const [cookie] = response.headers.getSetCookie()
    headers = { ...BROWSER, Cookie: `${BROWSER.Cookie}; ${cookie.slice(0, cookie.indexOf(';'))}` }
  }
  const sample = await client.get(path, { headers })
  const twin = new HttpServer({ logger: null, timeouts: { keepAliveTimeout: null } })
  const fields = [...sample.headers].filter(([name]) => /^(?:set-cookie|vary|cache-control)$/.test(name))
  twin.mapGet(path, (_, { response }) => {
    for (const [name, value] of fields) response.header(name, value)
    return sample.status === 204 ? response.noContent() : sample.text()
  })
  const twinClient = connect(twin, { peer: PEER })
  return [
    { run: () => client.get(path, { headers }), times: [] },
    { run: () => twinClient.get(path, { headers }), times: [] },
  ]
}

const seal = () => sealed({ keys: [randomBytes(32)] })
const subjects = {
  'no session': await subject(seal, '/read', { isKnown: false }),
  'sealed, read': await subject(seal, '/read'),
  'sealed, written': await subject(seal, '/write'),
  'sealed, 2.5 KB, read': await subject(seal, '/read', { fill: 'x'.repeat(2_500) }),
  'sealed, 2.5 KB, written': await subject(seal, '/write', { fill: 'x'.repeat(2_500) }),
  'in memory, read': await subject(memorySessions, '/read'),
  'in memory, written': await subject(memorySessions, '/write'),
}

for (let round = -2; round < ROUNDS; round++) {
  for (const { run, times } of Object.values(subjects).flat()) {
    const before = process.cpuUsage()
    for (let i = 0; i < REQUESTS; i++) if ((await run()).status >= 300) throw new Error('a request failed')
    const { user, system } = process.cpuUsage(before)
    if (round >= 0) times.push((user + system) / REQUESTS)
  }
}

console.log(`${os.cpus()[0]?.model}, Node ${process.version}, ${ROUNDS} rounds of ${REQUESTS} requests`)
for (const [name, [own, twin]] of Object.entries(subjects)) {
  const [us, without] = [median(own.times), median(twin.times)]
  console.log(`${name}: ${(us - without).toFixed(1)} us more than ${without.toFixed(1)} us`)
}
