// Measures one workload with all servers, in interleaved rounds. In every round each server is under load for the same time, in short turns
// whose order rotates. So whatever slows the machine down affects all of them, and cancels out in the ratios of that round.
import { mkdirSync } from 'node:fs'

import { checkAnswers } from './check.mjs'
import { Child } from './child.mjs'
import { SERVER_CORE, watchHost, workedSeconds } from './machine.mjs'

/**
 * @returns {Promise<{ rounds: Map<string, object>[], repeated: number, othersShare: number, skipped: Map<string, string>, failed: Map<string, string> }>}
 *   each round by server name: { cpuMicroseconds, systemShare, busy, generatorBusy, requestsPerSecond, p50, p99, rssBytes };
 *   `repeated`: how many rounds were measured again; `othersShare`: how many cores other processes kept busy in the meantime
 */
export async function measure(workload, servers, { options, pinning, generator, say }) {
  const result = { rounds: [], repeated: 0, othersShare: 0, skipped: new Map(), failed: new Map() }
  let othersSeconds = 0
  let roundSeconds = 0
  for (let generation = 0; generation < options.processes; generation++) {
    const running = new Map()
    try {
      await startAll()
      const until = Math.round((options.rounds * (generation + 1)) / options.processes)
      while (result.rounds.length < until) {
        const { figures, isDisturbed } = await round(running, result.rounds.length)
        if (isDisturbed && result.repeated < options.rounds) result.repeated++
        else result.rounds.push(figures)
      }
    } finally {
      await Promise.all([...running.values()].map(({ child }) => child.stop()))
    }

    async function startAll() {
      for (const [name, server] of servers) {
        if (server.missing !== undefined) result.skipped.set(name, server.missing)
        if (result.skipped.has(name) || result.failed.has(name)) continue
        say(`${workload.id}: ${name}, check and warm-up`)
        const flags = options.profiles === null ? [] : profiling(options.profiles)
        const child = new Child('serve.mjs', [name, workload.id], { pinning, core: SERVER_CORE, runtime: server.runtime, flags })
        try {
          const { port, skipped } = await child.heard()
          if (skipped === undefined) {
            await checkAnswers(port, workload, server)
            const target = { port, workload }
            await generator.open(target)
            await generator.run(target, options.warmup)
            await generator.close(target)
            running.set(name, { child, target })
            continue
          }
          result.skipped.set(name, skipped)
        } catch (error) {
          result.failed.set(name, error.message)
        }
        await child.stop()
      }
    }
  }
  result.othersShare = Math.max(0, othersSeconds / roundSeconds)
  return result

  async function round(running, number) {
    say(`${workload.id}: round ${number + 1} of ${options.rounds}`)
    const sums = new Map()
    for (const [name, { target }] of running) {
      await generator.open(target)
      sums.set(name, { requests: 0, elapsedSeconds: 0, busySeconds: 0, user: 0, system: 0 })
    }
    const names = [...running.keys()]
    const workedBefore = workedSeconds()
    const wasDisturbed = watchHost()
    const began = performance.now()
    const turns = Math.max(1, Math.round(options.seconds / generator.turnSeconds))
    for (let i = 0; i < turns * names.length; i++) {
      const turn = Math.floor(i / names.length)
      const name = names[(i + turn + number) % names.length]
      await takeTurn(running.get(name), options.seconds / turns, sums.get(name))
    }
    for (const { busySeconds, user, system } of sums.values()) othersSeconds -= busySeconds + (user + system) / 1e6
    othersSeconds += workedSeconds() - workedBefore
    const elapsedSeconds = (performance.now() - began) / 1000
    roundSeconds += elapsedSeconds
    const isDisturbed = wasDisturbed()

    const figures = new Map()
    for (const [name, { child, target }] of running) {
      const latencies = await generator.close(target)
      const { rssBytes } = await child.ask({ ask: 'memory' })
      figures.set(name, { ...figuresOf(sums.get(name)), ...latencies, rssBytes })
    }
    return { figures, isDisturbed }
  }

  async function takeTurn({ child, target }, seconds, sum) {
    const before = await child.ask({ ask: 'cpu' })
    const run = await generator.run(target, seconds)
    const after = await child.ask({ ask: 'cpu' })
    for (const key of Object.keys(run)) sum[key] += run[key]
    sum.user += after.user - before.user
    sum.system += after.system - before.system
  }
}

function figuresOf({ requests, elapsedSeconds, busySeconds, user, system }) {
  return {
    cpuMicroseconds: (user + system) / requests,
    systemShare: system / (user + system),
    busy: (user + system) / 1e6 / elapsedSeconds,
    generatorBusy: busySeconds / elapsedSeconds,
    requestsPerSecond: requests / elapsedSeconds,
  }
}

function profiling(folder) {
  mkdirSync(folder, { recursive: true })
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`]
}
