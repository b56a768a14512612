// The start of the inbox as one executable, beside a server of node:http as one, in turns: from `spawn` to the line that says where it listens, in
// an empty folder. With Node 26, on Linux:
//
//   node bench/executable.mjs [--rounds 30]
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { median, uncertainty } from './statistics.mjs'

const BARE = `const server = require('node:http').createServer((_, response) => response.end('hello'))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))`

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '30' } } })
const folder = mkdtempSync(join(tmpdir(), 'weir-executable-'))
process.on('exit', () => rmSync(folder, { recursive: true }))

function node(...args) {
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${args[0]} failed`)
}

const bare = join(folder, 'bare')
writeFileSync(`${bare}.cjs`, BARE)
writeFileSync(
  `${bare}.json`,
  JSON.stringify({ main: `${bare}.cjs`, output: bare, useCodeCache: true, disableExperimentalSEAWarning: true }),
)
node('--build-sea', `${bare}.json`)
const inbox = join(folder, 'inbox')
node(join(import.meta.dirname, '../examples/inbox/executable/build.js'), inbox)

const found = new Map([
  ['node:http', { program: bare, wall: [], cpu: [] }],
  ['the inbox', { program: inbox, wall: [], cpu: [] }],
])
for (let round = -1; round < Number(values.rounds); round++)
  for (const { program, wall, cpu } of found.values()) {
    const cwd = join(folder, 'run')
    mkdirSync(cwd)
    const began = performance.now()
    const child = spawn(program, [], { cwd, env: { PORT: '0', INTERNAL_PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    const took = performance.now() - began
    // The first round fills the page cache.
    if (round >= 0) wall.push(took) && cpu.push(cpuOf(child.pid))
    child.kill('SIGKILL')
    await once(child, 'exit')
    rmSync(cwd, { recursive: true })
  }

/** In milliseconds, of all threads. */
function cpuOf(pid) {
  const tasks = `/proc/${pid}/task`
  return readdirSync(tasks).reduce((sum, task) => sum + Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6, 0)
}

const cell = (all) => `${median(all).toFixed(0)} ± ${(uncertainty(all) * 100).toFixed(0)} % | ${Math.min(...all).toFixed(0)}`
console.log('| executable | spawn to listening ms | least | CPU until then ms | least |')
console.log('| --- | --- | --- | --- | --- |')
for (const [name, { wall, cpu }] of found) console.log(`| ${name} | ${cell(wall)} | ${cell(cpu)} |`)
