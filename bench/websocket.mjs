// WebSockets: weir's module beside `ws` on node:http, Bun, and a floor of node:net that reads no frame.
//
//   npm run build && npm ci --prefix bench && node bench/websocket.mjs [--only echo,room-500] [--servers weir,ws] [--rounds 15] [--memory 10000]
//
// Each server is a process on one core, and the clients are another process. In each round every server gets `--ms`, in a rotating order. With
// --memory, this many connections are opened to a new process. Each gets one message sent back, and is silent from then on. `ws` uses the native
// code of `bufferutil` where that is installed. The build of weir in the folder WEIR_DIST, if it is set, is `weir-before`.
import { parseArgs } from 'node:util'

import { runtime as bun, missing as noBun } from './bun.mjs'
import { Child } from './child.mjs'
import { describeMachine, LOAD_CORE, leaveServerCore, SERVER_CORE, versionOf } from './machine.mjs'
import { median, uncertainty } from './statistics.mjs'

const WORKLOADS = {
  echo: { what: 'text of 64 bytes', isText: true },
  'echo-16': { what: 'text of 64 bytes, 16 in flight', isText: true, flight: 16 },
  'text-1k': { what: 'text of 1 KiB', isText: true, bytes: 1024 },
  'binary-4k': { what: 'binary of 4 KiB', bytes: 4096 },
  'binary-64k': { what: 'binary of 64 KiB', bytes: 65_536 },
  'binary-1m': { what: 'binary of 1 MiB', bytes: 2 ** 20, connections: 8 },
  deflate: { what: 'JSON of 1 KiB, compressed both ways', isText: true, bytes: 1024, isDeflated: true },
  'room-500': { what: 'a room of 500, text of 64 bytes', isText: true, isRoom: true, connections: 500 },
  'room-5000': { what: 'a room of 5,000, text of 64 bytes', isText: true, isRoom: true, connections: 5000 },
}
const KIND = { bytes: 64, flight: 1, isText: false, isRoom: false, isDeflated: false, connections: 64 }

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(WORKLOADS).join() },
    servers: { type: 'string', default: 'weir,ws,bun,node:net floor' },
    rounds: { type: 'string', default: '15' },
    ms: { type: 'string', default: '1000' },
    memory: { type: 'string', default: '10000' },
  },
})
const rounds = Number(values.rounds)
const ms = Number(values.ms)
const machine = describeMachine()
const { pinning } = machine
leaveServerCore(pinning)

const names = values.servers.split(',').filter((name) => name !== 'bun' || noBun === undefined)
if (process.env.WEIR_DIST !== undefined) names.splice(1, 0, 'weir-before')

async function start(name, kind) {
  const isBefore = name === 'weir-before'
  const dist = process.env.WEIR_DIST
  if (!isBefore) delete process.env.WEIR_DIST
  const options = { pinning, core: SERVER_CORE, ...(name === 'bun' ? { runtime: bun } : { flags: ['--expose-gc'] }) }
  const child = new Child('websocket/servers.mjs', [isBefore ? 'weir' : name, JSON.stringify(kind)], options)
  if (dist !== undefined) process.env.WEIR_DIST = dist
  return { child, port: (await child.heard()).port }
}

console.log(`- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; ${pinning ? 'a core each' : 'not pinned'}`)
console.log(
  `- Node ${machine.node}; ws ${versionOf('ws')}, ${await nativeMasking()}; Bun ${noBun ?? versionOf('bun')}; commit ${machine.commit}`,
)
console.log(
  `- \`node bench/websocket.mjs ${process.argv.slice(2).join(' ')}\`: CPU time of the server for each message; in bold that of ws to it\n`,
)
console.log(`| workload | ${names.join(' | ')} |\n|${' --- |'.repeat(names.length + 1)}`)

const client = new Child('websocket/client.mjs', [], { pinning, core: LOAD_CORE })
for (const workload of rounds === 0 ? [] : values.only.split(',')) await measure(workload)
if (Number(values.memory) > 0) await measureIdle(Number(values.memory))
await client.stop()

async function nativeMasking() {
  return import('bufferutil').then(
    () => `with bufferutil ${versionOf('bufferutil')}`,
    () => 'without bufferutil',
  )
}

async function measure(workload) {
  const { what, connections, ...kind } = { ...KIND, ...WORKLOADS[workload] }
  const running = new Map()
  for (const name of names) if (!(kind.isDeflated && name === 'node:net floor')) running.set(name, await start(name, kind))
  for (const { port } of running.values()) await client.ask({ port, connections, ms: 1500, kind }) // warms up
  const results = []
  for (let round = 0; round < rounds; round++) {
    const result = {}
    for (let i = 0; i < running.size; i++) {
      const [name, { child, port }] = [...running][(i + round) % running.size]
      await client.ask({ port, connections, ms: 100, kind }) // connects
      const before = await child.ask('cpu')
      const { messages } = await client.ask({ port, connections, ms, kind })
      const after = await child.ask('cpu')
      result[name] = (after.user - before.user + after.system - before.system) / messages
    }
    results.push(result)
  }
  for (const { child } of running.values()) await child.stop()
  const cells = names.map((name) => {
    if (!running.has(name)) return ''
    const cpu = `${Number(median(results.map((result) => result[name])).toPrecision(3))} µs`
    if (name === 'ws') return cpu
    const ratios = results.map((result) => result.ws / result[name])
    return `**${median(ratios).toFixed(2)}** ± ${(uncertainty(ratios) * 100).toFixed(0)} %, ${cpu}`
  })
  console.log(`| ${what} | ${cells.join(' | ')} |`)
}

async function measureIdle(count) {
  console.log(`\nKiB a connection, ${count} of them, each after one message of 64 bytes\n`)
  console.log(`| server | RSS | heap | outside |\n|${' --- |'.repeat(4)}`)
  for (const name of names) {
    const kind = { ...KIND, isText: true }
    const { child, port } = await start(name, kind)
    await client.ask({ port, connections: 100, ms: 0, kind }) // loads and compiles
    await client.ask({ port, connections: 0, ms: 0, kind })
    const before = await child.ask('memory')
    await client.ask({ port, connections: count, ms: 0, kind })
    const after = await child.ask('memory')
    const each = (what) => ((after[what] - before[what]) / count / 1024).toFixed(2)
    console.log(`| ${name} | ${each('rss')} | ${each('heapUsed')} | ${each('external')} |`)
    await client.ask({ port, connections: 0, ms: 0, kind })
    await child.stop()
  }
}
