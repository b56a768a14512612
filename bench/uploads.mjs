// Uploads to disk: weir's bodyMultipartStream and saveTo, node:http with busboy, and node:http that does not parse.
//
//   npm run build && node bench/uploads.mjs [--mib 1024] [--rounds 7] [--memory 100,1024,4096] [--folder path] [--free] [--cpu-prof folder]
//
// The server and the client, which generates the bytes, are separate processes, each on one core unless --free is set. First, every server
// has to save a file that is right byte for byte. Then, in each round, every server gets one upload, in a rotating order. With --memory, a
// new process of weir and of busboy for each size reports its peak memory; --rounds 0 measures only that.
import { createHash } from 'node:crypto'
import { createReadStream, mkdirSync, mkdtempSync, rmSync, statSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'

import { Child } from './child.mjs'
import { describeMachine, LOAD_CORE, leaveServerCore, SERVER_CORE, watchHost, workedSeconds } from './machine.mjs'
import { median, uncertainty } from './statistics.mjs'

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '1024' },
    rounds: { type: 'string', default: '7' },
    memory: { type: 'string', default: '' },
    folder: { type: 'string', default: tmpdir() },
    servers: { type: 'string', default: 'weir,busboy,raw' },
    free: { type: 'boolean', default: false },
    'cpu-prof': { type: 'string' },
  },
})
const MiB = 2 ** 20
const GiB = 2 ** 30
/** Not a round number, so that the last chunk is incomplete. */
const CHECKED_BYTES = 9 * MiB + 4711

const machine = describeMachine()
const pinning = machine.pinning && !values.free
leaveServerCore(machine.pinning)
const folder = mkdtempSync(join(values.folder, 'weir-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const profiles = values['cpu-prof']
if (profiles !== undefined) mkdirSync(profiles, { recursive: true })
const client = new Child('upload-client.mjs', [], { pinning, core: LOAD_CORE })
const names = values.servers.split(',')

console.log(`- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; ${pinning ? 'a core each' : 'not pinned'}`)
console.log(`- Node ${machine.node}; commit ${machine.commit}; \`node bench/uploads.mjs ${process.argv.slice(2).join(' ')}\`\n`)
await compareSpeed(Number(values.mib) * MiB, Number(values.rounds))
await compareMemory(values.memory === '' ? [] : values.memory.split(',').map(Number))
await client.stop()

async function start(name) {
  const flags = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-name=${name}.cpuprofile`]
  const child = new Child('upload-serve.mjs', [name, folder], { pinning, core: SERVER_CORE, flags })
  const { port } = await child.heard()
  return { child, port }
}

/** One upload: bytes per second, and CPU seconds of the server for each GiB. The file is removed after the clocks have stopped. */
async function upload({ child, port }, name, bytes, inspect = removeWhole) {
  const before = await child.ask({ ask: 'cpu' })
  const { failed, seconds, busySeconds, body } = await client.ask({ port, bytes, multipart: name !== 'raw' })
  const after = await child.ask({ ask: 'cpu' })
  if (failed !== undefined) throw new Error(`${name}: ${failed}`)
  const { path } = JSON.parse(body)
  await inspect(path, bytes)
  const cpu = (after.user - before.user + after.system - before.system) / 1e6
  return { speed: bytes / seconds, cpu: cpu / (bytes / GiB), serverBusy: cpu / seconds, clientBusy: busySeconds / seconds, seconds }
}

function removeWhole(path, bytes) {
  if (statSync(path).size !== bytes) throw new Error(`${path} has ${statSync(path).size} bytes, not ${bytes}`)
  unlinkSync(path)
}

/** The first upload to a server. Its digest must be the client's. */
async function checkBytes(path, bytes) {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  const { digest } = await client.ask({ digest: bytes })
  if (hash.digest('hex') !== digest) throw new Error(`${path} is not what was sent`)
  removeWhole(path, bytes)
}

async function compareSpeed(bytes, rounds) {
  if (rounds === 0) return
  const running = new Map()
  for (const name of names) {
    const server = await start(name)
    running.set(name, server)
    await upload(server, name, CHECKED_BYTES, checkBytes)
    await upload(server, name, Math.min(bytes, 256 * MiB)) // warms up
  }
  const results = []
  const workedBefore = workedSeconds()
  const began = performance.now()
  let ourSeconds = 0
  let repeated = 0
  while (results.length < rounds) {
    const wasDisturbed = watchHost()
    const result = {}
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + results.length) % names.length]
      const one = await upload(running.get(name), name, bytes)
      result[name] = one
      ourSeconds += (one.serverBusy + one.clientBusy) * one.seconds
    }
    if (wasDisturbed() && repeated < rounds) repeated++
    else results.push(result)
  }
  const others = (workedSeconds() - workedBefore - ourSeconds) / ((performance.now() - began) / 1000)
  await Promise.all([...running.values()].map(({ child }) => child.stop()))

  console.log(
    `### ${bytes / MiB} MiB, ${rounds} rounds, ${repeated} measured again; other processes kept ${Math.max(0, others).toFixed(2)} cores busy\n`,
  )
  console.log('| server | MiB/s | CPU s/GiB | server, client busy | weir: throughput | weir: CPU |')
  console.log(`|${' --- |'.repeat(6)}`)
  for (const name of names) {
    const all = (key) => results.map((result) => result[name][key])
    const ratio = (of) => {
      if (name === 'weir' || !names.includes('weir')) return ''
      const ratios = results.map((result) => of(result.weir, result[name]))
      return `**${median(ratios).toFixed(2)}** ± ${(uncertainty(ratios) * 100).toFixed(0)} %`
    }
    const speed = (median(all('speed')) / MiB).toFixed(0)
    const busy = `${percent(median(all('serverBusy')))}, ${percent(median(all('clientBusy')))}`
    const cells = [name, speed, median(all('cpu')).toFixed(3), busy]
    cells.push(
      ratio((own, other) => own.speed / other.speed),
      ratio((own, other) => other.cpu / own.cpu),
    )
    console.log(`| ${cells.join(' | ')} |`)
  }
  console.log()
}

async function compareMemory(sizes) {
  if (sizes.length === 0) return
  console.log('### Peak memory of a fresh process, MiB\n')
  console.log(`| server | at the start | ${sizes.map((mib) => `${mib} MiB`).join(' | ')} |`)
  console.log(`|${' --- |'.repeat(sizes.length + 2)}`)
  for (const name of names.filter((name) => name !== 'raw')) {
    const peaks = []
    let before = 0
    for (const mib of sizes) {
      const server = await start(name)
      before = await peak(server)
      await upload(server, name, mib * MiB)
      peaks.push(await peak(server))
      await server.child.stop()
    }
    console.log(`| ${[name, before, ...peaks].map((cell) => (typeof cell === 'number' ? cell.toFixed(1) : cell)).join(' | ')} |`)
  }
}

async function peak({ child }) {
  return (await child.ask({ ask: 'memory' })).peakBytes / MiB
}

function percent(share) {
  return `${Math.round(share * 100)} %`
}
