// What memory costs: collections by kind, peak RSS and CPU time for a fixed number of requests, POST /uploads of w5 (a form with 3 fields and a
// file of 64 KiB, in memory, 16 connections). Mark-compacts in place of scavenges show that buffers live until the old generation is collected.
// V8 changes between both modes within one process, on a busy machine more often. So the builds take turns, and each count is shown from the
// least to the most of all rounds: a difference is one where these do not overlap.
//
//   npm run build && node bench/collections.mjs [--requests 40000] [--rounds 3] [another dist ...]
//
// Each build has a process of its own, in turns. Run it with each version of Node that matters: they differ in how they count buffers.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { AnswerCounter } from './answer-counter.mjs'
import { describeMachine } from './machine.mjs'
import { median } from './statistics.mjs'
import { workloadCalled } from './workloads.mjs'

const WARMUP = 3_000
const KINDS = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
}

if (process.send === undefined) await main()
else await serve()

/** The server's process: answers `begin` and `end` over IPC. */
async function serve() {
  const { start } = await import('./servers/weir.mjs')
  const counts = { minor: 0, major: 0, incremental: 0 }
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) if (KINDS[detail.kind] !== undefined) counts[KINDS[detail.kind]]++
  }).observe({ entryTypes: ['gc'] })
  const { port } = await start(await workloadCalled('w5'))
  let before = process.cpuUsage()
  process.on('message', async (message) => {
    const { user, system } = process.cpuUsage(before)
    await sleep(100) // entries of the observer arrive later
    const figures = { ...counts, cpuMicroseconds: user + system, peakMiB: process.resourceUsage().maxRSS / 1024 }
    if (message === 'begin') for (const kind in counts) counts[kind] = 0
    before = process.cpuUsage()
    process.send(figures)
  })
  process.on('disconnect', () => process.exit())
  process.send({ port })
}

async function main() {
  const options = { requests: { type: 'string', default: '40000' }, rounds: { type: 'string', default: '3' } }
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const requests = Number(values.requests)
  const workload = await workloadCalled('w5')
  const servers = []
  for (const dist of [undefined, ...positionals]) {
    const env = { ...process.env, NODE_ENV: 'production', ...(dist === undefined ? {} : { WEIR_DIST: dist }) }
    const child = fork(fileURLToPath(import.meta.url), { env })
    const [{ port }] = await once(child, 'message')
    await send(port, workload, WARMUP)
    servers.push({ name: dist ?? 'this commit', child, port, rounds: [] })
  }
  for (let round = 0; round < Number(values.rounds); round++)
    for (const { child, port, rounds } of servers) {
      await ask(child, 'begin')
      await send(port, workload, requests)
      rounds.push(await ask(child, 'end'))
    }
  const { processor, cores, node } = describeMachine()
  console.log(`${processor}, ${cores} cores, Node ${node}. ${requests} requests, medians of ${values.rounds} rounds\n`)
  console.log(
    '| build | scavenges | mark-compacts | incremental | peak RSS MiB | CPU µs a request |\n| --- | --- | --- | --- | --- | --- |',
  )
  for (const { name, child, rounds } of servers) {
    const of = (key) => median(rounds.map((round) => round[key]))
    const range = (key) => [Math.min, Math.max].map((end) => end(...rounds.map((round) => round[key]))).join(' to ')
    const cpu = (of('cpuMicroseconds') / requests).toFixed(1)
    console.log(`| ${name} | ${range('minor')} | ${range('major')} | ${range('incremental')} | ${of('peakMiB').toFixed(0)} | ${cpu} |`)
    child.disconnect()
  }
}

async function ask(child, question) {
  const answered = once(child, 'message')
  child.send(question)
  return (await answered)[0]
}

async function send(port, { exchanges, connections }, requests) {
  let left = requests
  const run = (first) =>
    new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      const counter = new AnswerCounter()
      let number = first
      const next = () => {
        if (left-- > 0) return socket.write(exchanges[number++ % exchanges.length].request)
        socket.destroy()
        resolve()
      }
      socket.on('connect', next)
      socket.on('error', reject)
      socket.on('data', (bytes) => {
        const answered = counter.count(bytes, bytes.length)
        if (answered < 0) reject(new Error(counter.complaint))
        else if (answered > 0) next()
      })
    })
  await Promise.all(Array.from({ length: connections }, (_, i) => run(i)))
}
