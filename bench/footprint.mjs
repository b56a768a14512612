// What a server costs before its first request: CPU time of importing it and of listening, and memory then and a second later, for weir, bare
// node:http, Fastify, Hono and Express. Each start is a new process, in turns. CPU time hardly depends on what else the machine does.
//
//   node bench/footprint.mjs [--rounds 21]
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { describeMachine } from './machine.mjs'
import { median, uncertainty } from './statistics.mjs'

const NAMES = ['nothing', 'node:http', 'weir', 'fastify', 'hono', 'express']
const COLUMNS = {
  importMs: 'import, CPU ms',
  listenMs: 'until it listens, CPU ms',
  startMiB: 'resident MiB then',
  idleMiB: 'after 1 s and a collection',
}
const file = fileURLToPath(new URL('footprint-server.mjs', import.meta.url))

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '21' } } })
const rounds = Number(values.rounds)
const found = new Map(NAMES.map((name) => [name, []]))
for (let round = -1; round < rounds; round++)
  for (let i = 0; i < NAMES.length; i++) {
    const name = NAMES[(i + round + 1) % NAMES.length]
    const one = await startOnce(name)
    if (round >= 0) found.get(name).push(one) // the first round fills the page cache
  }
const { processor, cores, node } = describeMachine()
console.log(`${processor}, ${cores} cores, Node ${node}, ${rounds} starts of each\n`)
console.log(`| server | ${Object.values(COLUMNS).join(' | ')} |`)
console.log(`| --- |${' --- |'.repeat(Object.keys(COLUMNS).length)}`)
for (const [name, all] of found)
  console.log(
    `| ${name} | ${Object.keys(COLUMNS)
      .map((key) => cell(all.map((one) => one[key])))
      .join(' | ')} |`,
  )

function cell(numbers) {
  return `${median(numbers).toFixed(1)} ± ${(uncertainty(numbers) * 100).toFixed(0)} %`
}

async function startOnce(name) {
  const child = spawn(process.execPath, ['--expose-gc', file, name], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const piece of child.stdout) text += piece
  return JSON.parse(text)
}
