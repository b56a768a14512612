// What authentication costs for each request: the gate of `auth`, with each scheme.
//
//   npm run build && node bench/auth.mjs [--rounds 15]
//
// One process, no sockets: sessions of real requests with the fields of a browser, taken from a server, are given to the gate again and again,
// 32 in each turn of the event loop, as on a busy server. 64 users take turns. Times are the CPU time of the process, all threads included.
// Rounds alternate; a number is the median of all rounds, less that of a gate that does nothing.

import { Buffer } from 'node:buffer'
import os from 'node:os'
import * as jose from 'jose'
import { jwt } from '../packages/jwt/dist/index.js'
import { HttpServer } from '../packages/weirjs/dist/index.js'
import { apiKey, apiKeyDigest, auth, basic, PasswordHasher } from '../packages/weirjs/dist/modules/auth/index.js'

import { median } from './statistics.mjs'

const at = process.argv.indexOf('--rounds')
const ROUNDS = at === -1 ? 15 : Number(process.argv[at + 1])
const PER_TURN = 32
const TURNS = 100
const USERS = 64
const ISSUER = 'https://issuer.example.org/'
const AUDIENCE = 'https://api.example.org/'
const BROWSER = {
  Host: 'www.example.org',
  'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  Accept: 'application/json',
  'Accept-Encoding': 'gzip, deflate, br, zstd',
  'Accept-Language': 'en-GB,en;q=0.9,de;q=0.8',
  Referer: 'https://www.example.org/users?page=3',
}

async function issuerOf(alg) {
  const { publicKey, privateKey } = await jose.generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await jose.exportJWK(publicKey)), kid: 'a', alg, use: 'sig' }
  const tokenFor = (sub) =>
    new jose.SignJWT({ name: `User ${sub}`, roles: ['admin', 'editor'], scope: 'orders:read orders:write profile', sid: 'x'.repeat(36) })
      .setProtectedHeader({ alg, kid: 'a', typ: 'at+jwt' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(sub)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey)
  const options = { issuer: ISSUER, audience: AUDIENCE, algorithms: [alg], jwks: { keys: [jwk] } }
  return { publicKey, tokenFor, options }
}

/** The gate, and sessions of requests that it lets pass. */
async function subject(scheme, fieldsOf, { use = [], gate } = {}) {
  const sessions = []
  const server = new HttpServer({ logger: null })
  const users = scheme === null ? null : auth({ schemes: [scheme], roles: ['admin'] })
  if (users !== null) server.use(users)
  server.mapGet('/users/:id', { use }, (_, session) => {
    sessions.push(session)
    return 'ok'
  })
  for (let i = 0; i < USERS; i++) {
    const fields = await fieldsOf(`user-${i}`)
    const { status } = await server.inject({ url: `/users/${i}`, headers: { ...BROWSER, ...fields }, peer: { isSecure: true } })
    if (status !== 200) throw new Error(`${status} for user ${i}`)
  }
  return { gate: gate ?? users?.gate ?? (() => undefined), sessions, times: [] }
}

const rs256 = await issuerOf('RS256')
const es256 = await issuerOf('ES256')
const eddsa = await issuerOf('EdDSA')
const bearer =
  ({ tokenFor }) =>
  async (user) => ({ Authorization: `Bearer ${await tokenFor(user)}` })
const keyOf = (user) => `key_${user}_0123456789abcdef0123456789abcdef`
const names = Array.from({ length: USERS }, (_, i) => `user-${i}`)
const hash = await new PasswordHasher({ ln: 4, r: 1, p: 1 }).hash('secret')
const byHand = async (session) => {
  const token = session.request.header('authorization').slice(7)
  const { payload } = await jose.jwtVerify(token, rs256.publicKey, { issuer: ISSUER, audience: AUDIENCE, algorithms: ['RS256'] })
  session.principal = payload
}

const subjects = {
  'a gate that does nothing': await subject(null, () => ({})),
  'jwt, cached': await subject(jwt(rs256.options), bearer(rs256)),
  'jwt, cached, with a role, two scopes and a policy': await subject(jwt(rs256.options), bearer(rs256), {
    use: [auth.roles('admin'), auth.scopes('orders:read', 'orders:write'), auth.policy(({ id }) => id !== '')],
  }),
  'apiKey, a table': await subject(apiKey({ keys: Object.fromEntries(names.map((id) => [apiKeyDigest(keyOf(id)), { id }])) }), (user) => ({
    'X-API-Key': keyOf(user),
  })),
  'basic, a table, verified before': await subject(basic({ users: Object.fromEntries(names.map((name) => [name, hash])) }), (user) => ({
    Authorization: `Basic ${Buffer.from(`${user}:secret`).toString('base64')}`,
  })),
  'jwt, RS256, not cached': await subject(jwt({ ...rs256.options, maxCachedTokens: 0 }), bearer(rs256)),
  'jwt, ES256, not cached': await subject(jwt({ ...es256.options, maxCachedTokens: 0 }), bearer(es256)),
  'jwt, EdDSA, not cached': await subject(jwt({ ...eddsa.options, maxCachedTokens: 0 }), bearer(eddsa)),
  'by hand: jose.jwtVerify, RS256': await subject(null, bearer(rs256), { gate: byHand }),
}

async function round({ gate, sessions }) {
  const before = process.cpuUsage()
  for (let turn = 0; turn < TURNS; turn++) {
    const running = []
    for (let i = 0; i < PER_TURN; i++) {
      const result = gate(sessions[(turn * PER_TURN + i) % sessions.length])
      if (result !== undefined) running.push(result)
    }
    if (running.length > 0) await Promise.all(running)
    else await new Promise(setImmediate)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (TURNS * PER_TURN)
}

const all = Object.entries(subjects)
for (let i = -3; i < ROUNDS; i++)
  for (const [, one] of all) {
    const time = await round(one)
    if (i >= 0) one.times.push(time)
  }
const floor = all[0][1].times
console.log(`${os.cpus()[0].model}, Node ${process.version}, ${ROUNDS} rounds of ${TURNS * PER_TURN} requests\n`)
console.log('| what | µs for each request |\n| --- | --- |')
for (const [name, { times }] of all.slice(1)) console.log(`| ${name} | ${median(times.map((time, i) => time - floor[i])).toFixed(2)} |`)
