// HttpArena's profiles on this machine: the entry of this folder beside node:http, Fastify and Bun. Every server is checked first as the board
// checks an entry, and then measured.
//
//   npm run build && npm ci --prefix bench && node bench/arena/run.mjs [--quick] [--check] [--only baseline,json-tls] [--servers weir,node]
//     [--rounds 9] [--seconds 1] [--scale baseline,limited-conn,json-tls] [--node path] [--json file] [--cpu-prof folder]
//
// --quick takes less than twelve minutes. --check measures nothing. --scale names the profiles that are repeated with one process and two;
// `--scale none` leaves that out. --cpu-prof writes CPU profiles of weir.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { parseArgs } from 'node:util'

import { describeMachine, leaveServerCore, watchHost, workedSeconds } from '../machine.mjs'
import { CHECKS } from './checks.mjs'
import { cpuOf, totalOf } from './cpu.mjs'
import { Load, toolVersion } from './load.mjs'
import { missing, prepare, SERVERS, start } from './place.mjs'
import { startPostgres } from './postgres.mjs'
import { PROFILES } from './profiles.mjs'
import { measureScaling, scalingTable } from './scaling.mjs'
import { cpuTable, headOf, pacedTable } from './tables.mjs'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    only: { type: 'string' },
    servers: { type: 'string', default: SERVERS.join(',') },
    rounds: { type: 'string' },
    seconds: { type: 'string', default: '1' },
    scale: { type: 'string', default: 'baseline,limited-conn,json-tls' },
    node: { type: 'string', default: process.execPath },
    json: { type: 'string' },
    'cpu-prof': { type: 'string' },
  },
})
const ROUNDS = Number(values.rounds ?? (values.quick ? 3 : 9))
const SECONDS = Number(values.seconds)
const WARM_UP_SECONDS = 1
const MOST_REPEATED = values.quick ? 1 : ROUNDS
/** At least, so that the compiler is done; more on a machine that gives a server so little time that it has not answered enough. */
const WARM_UPS = 2
const MOST_WARM_UPS = 6
const WARM_REQUESTS = 8_000
const machine = describeMachine()
const { pinning } = machine
const names = values.servers.split(',').filter((name) => {
  const reason = missing(name)
  if (reason !== undefined) console.log(`${name} is left out: ${reason}`)
  return reason === undefined
})
const profiles = PROFILES.filter(({ id }) => values.only === undefined || values.only.split(',').includes(id))

leaveServerCore(pinning)
const folder = prepare()
const postgres = await startPostgres(await freePort())
if (postgres.skipped !== undefined) console.log(`async-db and fortunes are left out: ${postgres.skipped}`)
const place = { folder, database: postgres.url, pinning, node: values.node }
if (values['cpu-prof'] !== undefined) mkdirSync(values['cpu-prof'], { recursive: true })

let wrong = await checkAll()
const results = []
let scaling = []
if (!values.check) {
  const tools = { wrk: toolVersion('wrk'), h2load: toolVersion('h2load') }
  const load = new Load(pinning)
  for (const profile of profiles) {
    if (profile.tool in tools && tools[profile.tool] === null) console.log(`${profile.id} is left out: ${profile.tool} is not installed`)
    else if (profile.needs !== 'database' || postgres.url !== undefined)
      try {
        results.push(await measure(profile, load))
      } catch (error) {
        wrong++
        console.log(`${profile.id} was not measured: ${error.message}`)
      }
  }
  await load.stop()
  if (values.scale !== 'none')
    scaling = await measureScaling({ ...place, seconds: SECONDS, rounds: Math.min(ROUNDS, 5), ids: values.scale.split(',') })
  const run = { machine, tools, names, results, rounds: ROUNDS, seconds: SECONDS, postgres: postgres.version, node: values.node }
  console.log(['', headOf(run), cpuTable(run), pacedTable(run), scalingTable(scaling, names)].join('\n\n'))
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ ...run, scaling }, null, 1))
}
await postgres.stop?.()
process.exitCode = wrong > 0 ? 1 : 0

/** @returns how many checks failed */
async function checkAll() {
  let failures = 0
  for (const name of names) {
    const server = await start({ ...place, name })
    const passed = []
    for (const { id, check, needs, only = name } of CHECKS) {
      if (only !== name || !serves(name, needs)) continue
      try {
        await check({ ...server, folder })
        passed.push(id)
      } catch (error) {
        failures++
        console.log(`${name}, ${id}: ${error.stack}`)
      }
    }
    await server.stop()
    console.log(`${name}: ${passed.length} checks passed (${passed.join(', ')})`)
  }
  return failures
}

/** Bun.serve has no HTTP/2. */
function serves(name, needs) {
  return (needs !== 'database' || postgres.url !== undefined) && (needs !== 'http2' || name !== 'bun')
}

/** All servers run at a time; in each round every one of them gets its turn, in a rotating order. */
async function measure(profile, load) {
  const servers = []
  try {
    for (const name of names)
      if (serves(name, profile.needs)) servers.push(await start({ ...place, name, flags: flagsFor(name, profile.id) }))
    for (const server of servers) await warmUp(profile, load, server)
    return await compare(profile, load, servers)
  } finally {
    for (const server of servers) await server.stop()
  }
}

async function warmUp(profile, load, server) {
  const most = profile.load?.load === 'paced' ? WARM_UPS : MOST_WARM_UPS
  for (let runs = 0, requests = 0; runs < WARM_UPS || (runs < most && requests < WARM_REQUESTS); runs++)
    requests = requests + (await load.run(profile, server, WARM_UP_SECONDS)).requests
}

async function compare(profile, load, servers) {
  const seconds = SECONDS * (profile.longer ?? 1)
  const rounds = []
  let repeated = 0
  const worked = workedSeconds()
  const began = performance.now()
  while (rounds.length < ROUNDS) {
    const hostInterfered = watchHost()
    const round = {}
    for (let i = 0; i < servers.length; i++) {
      const server = servers[(i + rounds.length) % servers.length]
      const before = totalOf(cpuOf(server.pid))
      const result = await load.run(profile, server, seconds)
      const cpuSeconds = totalOf(cpuOf(server.pid)) - before
      round[server.name] = { ...result, cpuMicros: (cpuSeconds / result.requests) * 1e6 }
    }
    if (hostInterfered() && repeated < MOST_REPEATED) repeated++
    else rounds.push(round)
  }
  const busyCores = (workedSeconds() - worked) / ((performance.now() - began) / 1000)
  const line = servers.map(({ name }) => `${name} ${rounds.at(-1)[name].cpuMicros.toFixed(1)} µs`).join(', ')
  console.log(`${profile.id}: ${line}${repeated > 0 ? `; ${repeated} rounds repeated` : ''}`)
  return { profile, rounds, repeated, busyCores }
}

function flagsFor(name, id) {
  const profilesFolder = values['cpu-prof']
  if (profilesFolder === undefined || name !== 'weir') return []
  return ['--cpu-prof', `--cpu-prof-dir=${profilesFolder}`, `--cpu-prof-name=${id}.cpuprofile`, '--cpu-prof-interval=200']
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })
}
