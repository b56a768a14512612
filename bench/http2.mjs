// HTTP/2: weir compared with node:http2's stream API, and with what else is installed: nghttpd, nginx, Bun, and another build of weir.
//
//   npm run build && node bench/http2.mjs [--only hello,json] [--servers weir,nginx] [--rounds 8] [--ms 500] [--transport tls,cleartext]
//     [--large 3] [--mib 1024] [--idle 2000] [--slow 1000] [--window 16] [--json file] [--cpu-prof folder] [--node path]
//
// WEIR_DIST adds `weir-before`, the build in that folder. Each server is a process on one core, and the load generator (http2-load.mjs) another. Every
// response is checked before the clock starts, by Node's client. In each round, every server gets `--ms`, in a rotating order; a ratio is that of
// one round. `--large` compares so many transfers of `--mib` in each direction with HTTP/1.1 over TLS, `--idle` the memory of idle connections,
// and `--slow` what slow readers of a file of 64 MiB cost, whose windows are `--window` MiB; 0 leaves it out.
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { parseArgs } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import * as bun from './bun.mjs'
import { Child } from './child.mjs'
import { LARGE_PATH, UPLOAD_PATH, WORKLOADS } from './http2-workloads.mjs'
import { describeMachine, LOAD_CORE, leaveServerCore, SERVER_CORE, workedSeconds } from './machine.mjs'
import { median, uncertainty } from './statistics.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: WORKLOADS.map(({ id }) => id).join(',') },
    servers: { type: 'string', default: 'node,weir,weir-before,nghttpd,nginx,bun' },
    transport: { type: 'string', default: 'tls,cleartext' },
    rounds: { type: 'string', default: '8' },
    ms: { type: 'string', default: '500' },
    large: { type: 'string', default: '3' },
    mib: { type: 'string', default: '1024' },
    idle: { type: 'string', default: '2000' },
    slow: { type: 'string', default: '1000' },
    window: { type: 'string', default: '16' },
    json: { type: 'string' },
    'cpu-prof': { type: 'string' },
    node: { type: 'string' },
  },
})
const BASE = 'node'
const LARGE_BYTES = Number(values.mib) * 2 ** 20
const MIB = 2 ** 20
/** What a server cannot do, or does otherwise: nghttpd sends nothing precompressed, and nginx no body made from the request. */
const LEFT_OUT = { nghttpd: ['page'], nginx: ['json', 'echo-1k', 'echo-64k'] }

const machine = describeMachine()
const { pinning } = machine
leaveServerCore(pinning)
const profiles = values['cpu-prof']
if (profiles !== undefined) mkdirSync(profiles, { recursive: true })
const client = new Child('http2-load.mjs', [], { pinning, core: LOAD_CORE })
const results = {}

console.log(`- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; ${pinning ? 'a core each' : 'not pinned'}`)
console.log(`- commit ${machine.commit}; \`node bench/http2.mjs ${process.argv.slice(2).join(' ')}\``)
console.log(`- Node ${values.node ?? machine.node}; ${values.rounds} rounds of ${values.ms} ms\n`)
for (const transport of values.transport.split(',')) if (Number(values.rounds) > 0) await compareAll(transport)
if (Number(values.large) > 0) await compareTransfers(Number(values.large))
if (Number(values.idle) > 0) await compareIdle(Number(values.idle))
if (Number(values.slow) > 0) await measureSlow(Number(values.slow))
await client.stop()
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ machine, results }, null, 2))

/** @returns {Promise<{ child: Child, port: number } | { skipped: string }>} */
async function start(name, transport, app = 'fixed') {
  if (name === 'weir-before' && process.env.WEIR_DIST === undefined) return { skipped: 'WEIR_DIST is not set' }
  if (name === 'bun' && bun.missing !== undefined) return { skipped: bun.missing }
  const isProfiled = profiles !== undefined && name.startsWith('weir')
  const flags = isProfiled ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=200'] : []
  const runtime = name === 'bun' ? bun.runtime : values.node
  const child = new Child('http2-servers.mjs', [name, transport, app], { pinning, core: SERVER_CORE, flags, runtime })
  const { port, skipped } = await child.heard()
  if (skipped === undefined) return { child, port }
  await child.stop()
  return { skipped }
}

async function ask(question) {
  const answer = await client.ask(question)
  if (answer.failed !== undefined) throw new Error(answer.failed)
  return answer
}

/** Every response of the workload, as Node's client reads it. @returns how many bytes of a body each sends */
async function check({ port }, transport, exchanges) {
  const session = connect(`${transport === 'tls' ? 'https' : 'http'}://localhost:${port}`, { rejectUnauthorized: false })
  const sizes = []
  const impatient = setTimeout(() => session.destroy(new Error('no response for 10 s')), 10_000)
  for (const { method, path, sends, fields, body } of exchanges) {
    const stream = session.request({ ':method': method, ':path': path, ...fields }, { endStream: sends === undefined })
    if (sends !== undefined) stream.end(sends)
    let head
    stream.on('response', (received) => (head = received))
    const chunks = []
    for await (const chunk of stream) chunks.push(chunk)
    const bytes = Buffer.concat(chunks)
    const decode = { br: brotliDecompressSync, gzip: gunzipSync }[head['content-encoding']]
    const isRight = head[':status'] === 200 && head.date !== undefined && (decode?.(bytes) ?? bytes).equals(body)
    const length = head['content-length']
    if (!isRight || (length !== undefined && Number(length) !== bytes.length))
      throw new Error(`a wrong response to ${path}: ${JSON.stringify(head)}`)
    sizes.push(bytes.length)
  }
  clearTimeout(impatient)
  session.close()
  return sizes
}

async function cpuSeconds(child) {
  const { user, system } = await child.ask('cpu')
  return (user + system) / 1e6
}

async function compareAll(transport) {
  const table = []
  for (const workload of WORKLOADS.filter(({ id }) => values.only.split(',').includes(id))) {
    const summary = await compare(workload, transport)
    results[`${transport} ${workload.id}`] = summary
    table.push(summary)
  }
  const names = values.servers.split(',')
  console.log(`\n### CPU per request relative to node:http2, ${transport}\n`)
  console.log(`| | ${names.join(' | ')} |`)
  console.log(`|${' --- |'.repeat(names.length + 1)}`)
  for (const { workload, ratios } of table) {
    const cells = names.map((name) =>
      ratios[name] === undefined ? '' : `${median(ratios[name]).toFixed(2)} ± ${percent(uncertainty(ratios[name]))}`,
    )
    console.log(`| ${[`${workload.title}, ${workload.connections} × ${workload.streams}`, ...cells].join(' | ')} |`)
  }
  console.log()
}

async function compare(workload, transport) {
  const running = new Map()
  const skipped = {}
  const ms = Number(values.ms)
  for (const name of values.servers.split(',')) {
    if (LEFT_OUT[name]?.includes(workload.id)) continue
    const server = await start(name, transport, workload.app)
    try {
      if (server.skipped !== undefined) throw new Error(server.skipped)
      const sizes = await check(server, transport, workload.exchanges)
      const exchanges = workload.exchanges.map(({ method, path, fields, sends }, i) => {
        return { method, path, fields, sendsBytes: sends?.length ?? 0, wireBytes: sizes[i] }
      })
      const { connections, streams } = workload
      const id = `${name} ${workload.id} ${transport}`
      const target = { id, port: server.port, isSecure: transport === 'tls', exchanges, connections, streams }
      await ask({ ask: 'load', target, ms: Math.max(1000, 2 * ms) }) // connects, and warms up
      running.set(name, { child: server.child, target })
    } catch (error) {
      skipped[name] = error.message
      await server.child?.stop()
    }
  }
  const rounds = []
  const workedBefore = workedSeconds()
  const began = performance.now()
  for (let round = 0; round < Number(values.rounds); round++) {
    const figures = {}
    for (let i = 0; i < running.size; i++) {
      const [name, { child, target }] = [...running][(i + round) % running.size]
      const before = await cpuSeconds(child)
      const { requests, seconds } = await ask({ ask: 'load', target, ms })
      const cpu = (await cpuSeconds(child)) - before
      figures[name] = { microseconds: (cpu / requests) * 1e6, rate: requests / seconds, busy: cpu / seconds }
    }
    rounds.push(figures)
  }
  const worked = (workedSeconds() - workedBefore) / ((performance.now() - began) / 1000)
  for (const { child, target } of running.values()) {
    await ask({ ask: 'close', target })
    await child.stop()
  }
  const ratios = {}
  console.log(`${workload.id}, ${transport}: ${worked.toFixed(2)} cores busy in all`)
  for (const name of running.keys()) {
    const all = (key) => rounds.map((figures) => figures[name][key])
    ratios[name] = rounds.map((figures) => figures[BASE].microseconds / figures[name].microseconds)
    const ratio = `${median(ratios[name]).toFixed(2)} ± ${percent(uncertainty(ratios[name]))}`
    console.log(
      `  ${name.padEnd(12)} ${median(all('microseconds')).toFixed(2).padStart(9)} µs  ${Math.round(median(all('rate')))
        .toString()
        .padStart(7)}/s  busy ${percent(median(all('busy')))}  ratio ${ratio}`,
    )
  }
  for (const [name, reason] of Object.entries(skipped)) console.log(`  ${name} was not measured: ${reason}`)
  return {
    workload: { id: workload.id, title: workload.title, connections: workload.connections, streams: workload.streams },
    rounds,
    ratios,
    skipped,
  }
}

/** A large body in each direction, on one connection. */
async function compareTransfers(rounds) {
  const directions = {
    down: { method: 'GET', path: `${LARGE_PATH}/${values.mib}`, sendsBytes: 0, wireBytes: LARGE_BYTES },
    up: { method: 'POST', path: UPLOAD_PATH, sendsBytes: LARGE_BYTES, wireBytes: String(LARGE_BYTES).length },
  }
  const servers = { 'HTTP/2': await start('weir', 'tls'), 'HTTP/1.1': await start('weir-http1', 'tls') }
  console.log(
    `### ${values.mib} MiB over TLS: HTTP/2 relative to HTTP/1.1\n\n| | HTTP/2 MiB/s | HTTP/1.1 MiB/s | throughput | CPU |\n| --- | --- | --- | --- | --- |`,
  )
  for (const [direction, exchange] of Object.entries(directions)) {
    const figures = { 'HTTP/2': [], 'HTTP/1.1': [] }
    for (let round = 0; round < rounds + 1; round++) {
      for (const [name, { child, port }] of Object.entries(servers)) {
        const before = await cpuSeconds(child)
        const target = { id: name, port, isSecure: true, isHttp1: name === 'HTTP/1.1', exchanges: [exchange] }
        const { seconds } = await ask({ ask: 'transfer', target })
        if (round > 0) figures[name].push({ seconds, cpu: (await cpuSeconds(child)) - before }) // the first one warms up
      }
    }
    const ratio = (key) => figures['HTTP/2'].map((own, i) => figures['HTTP/1.1'][i][key] / own[key])
    const speed = (name) => (LARGE_BYTES / MIB / median(figures[name].map(({ seconds }) => seconds))).toFixed(0)
    const shown = (all) => `${median(all).toFixed(2)} ± ${percent(uncertainty(all))}`
    console.log(`| ${direction} | ${speed('HTTP/2')} | ${speed('HTTP/1.1')} | ${shown(ratio('seconds'))} | ${shown(ratio('cpu'))} |`)
    results[`transfer ${direction}`] = figures
  }
  for (const { child } of Object.values(servers)) await child.stop()
  console.log()
}

/** Waits until the server has had nothing to do for three seconds. */
async function quiet(child) {
  for (let before = await cpuSeconds(child), seconds = 0; seconds < 3; seconds++) {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const now = await cpuSeconds(child)
    if (now - before > 0.02) seconds = -1
    before = now
  }
}

async function compareIdle(count) {
  console.log(
    `### KiB of an idle connection over TLS, ${count} of them, after one request each\n\n| | RSS | heap | outside |\n| --- | --- | --- | --- |`,
  )
  const exchanges = [{ method: 'GET', path: '/hello', sendsBytes: 0, wireBytes: 2 }]
  for (const name of ['weir-http1', ...values.servers.split(',')].filter((name) => name.startsWith('weir') || name === BASE)) {
    const { child, port, skipped } = await start(name, 'tls')
    if (skipped !== undefined) continue
    const target = { id: name, port, isSecure: true, isHttp1: name === 'weir-http1', exchanges }
    await ask({ ask: 'stand', target, count: 200 }) // loads and compiles
    await ask({ ask: 'stand', target, count: 0 })
    const before = await child.ask('memory')
    await ask({ ask: 'stand', target, count })
    const after = await child.ask('memory')
    const each = Object.fromEntries(['rss', 'heapUsed', 'external'].map((kind) => [kind, (after[kind] - before[kind]) / count / 1024]))
    console.log(`| ${[name, ...Object.values(each).map((kib) => kib.toFixed(2))].join(' | ')} |`)
    results[`idle ${name}`] = each
    await ask({ ask: 'stand', target, count: 0 })
    await child.stop()
  }
  console.log()
}

/** Clients that have asked for a file of 64 MiB, and do not read on. The system takes some MiB for each of them. */
async function measureSlow(count) {
  console.log(
    `### MiB for ${count} connections that have asked for a file of 64 MiB and do not read it, with windows of ${values.window} MiB, above the same connections idle\n`,
  )
  console.log('| | RSS | heap | outside |\n| --- | --- | --- | --- |')
  for (const name of ['weir', 'weir-before']) {
    const { child, port, skipped } = await start(name, 'tls', 'files')
    if (skipped !== undefined) continue
    const target = (path, wireBytes) => ({ id: name, port, isSecure: true, exchanges: [{ method: 'GET', path, sendsBytes: 0, wireBytes }] })
    await ask({ ask: 'stand', target: target('/hello', 2), count })
    const before = await child.ask('memory')
    await ask({ ask: 'stand', target: target('/large.bin', 64 * MIB), count, slow: Number(values.window) * MIB })
    await quiet(child)
    const after = await child.ask('memory')
    const all = ['rss', 'heapUsed', 'external'].map((kind) => ((after[kind] - before[kind]) / MIB).toFixed(1))
    console.log(`| ${[name, ...all].join(' | ')} |`)
    results[`slow ${name}`] = { before, after }
    await ask({ ask: 'stand', target: target('/hello', 2), count: 0 })
    await child.stop()
  }
  console.log()
}

function percent(share) {
  return `${(share * 100).toFixed(0)} %`
}
