// w10: the time from `spawn` to the first response, and the share of importing the server, for weir, bare node:http and bare node:net. Each
// start is a new process, all on one core, in turns. The files are in the page cache, so the time of a disk is not included.
//
//   node bench/cold-start.mjs [--rounds 30]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { describeMachine, leaveServerCore, onCore, SERVER_CORE } from './machine.mjs'
import { median, uncertainty } from './statistics.mjs'

const SERVERS = ['weir', 'node:http', 'node:http, by require', 'node:net']
const PATIENCE_MS = 20_000
const REQUEST = 'GET / HTTP/1.1\r\nHost: bench.localhost\r\n\r\n'
const file = fileURLToPath(new URL('cold-start-server.mjs', import.meta.url))

const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** @returns {Promise<string>} a table in Markdown */
export async function coldStart({ rounds, pinning, say = () => {} }) {
  const found = new Map(SERVERS.map((name) => [name, []]))
  for (let round = -1; round < rounds; round++) {
    say(`w10: round ${round + 1} of ${rounds}`)
    for (let i = 0; i < SERVERS.length; i++) {
      const name = SERVERS[(i + round + 1) % SERVERS.length]
      const values = await startOnce(name, pinning)
      if (round >= 0) found.get(name).push(values) // the first round fills the page cache
    }
  }
  const lines = [
    '| server | spawn to first response ms | CPU until then ms | import ms |',
    '| --- | --- | --- | --- |',
    ...[...found].map(([name, all]) => `| ${name} | ${['answerMs', 'cpuMs', 'importMs'].map((key) => cell(all, key)).join(' | ')} |`),
  ]
  return lines.join('\n')
}

function cell(all, key) {
  const numbers = all.map((values) => values[key])
  return `${median(numbers).toFixed(1)} ± ${(uncertainty(numbers) * 100).toFixed(0)} %`
}

async function startOnce(name, pinning) {
  const { command, args } = onCore(pinning, SERVER_CORE, process.execPath, [file, name])
  const began = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  running.add(child)
  const gone = once(child, 'exit').then(([code, signal]) => {
    running.delete(child)
    throw new Error(`${name} ended with ${signal ?? code}`)
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  try {
    const [line] = await Promise.race([once(child.stdout, 'data'), gone])
    const { port, importMs } = JSON.parse(line)
    const { user, system } = await Promise.race([firstAnswer(port), gone])
    return { answerMs: performance.now() - began, cpuMs: (user + system) / 1000, importMs }
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
    await gone.catch(() => {})
  }
}

function firstAnswer(port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(REQUEST))
    let text = ''
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      text += chunk
      const whole = /^HTTP\/1\.1 200 .*\r\n\r\n(\{.*\})$/s.exec(text)
      if (whole === null) return
      socket.destroy()
      resolve(JSON.parse(whole[1]))
    })
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '30' } } })
  const { pinning } = describeMachine()
  leaveServerCore(pinning)
  console.log(await coldStart({ rounds: Number(values.rounds), pinning }))
}
