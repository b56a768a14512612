// One process and two on the cores that are here, and what the 64 hardware threads of the board would do, which is computed.
//
// The load generator shares the cores with the servers, so the rate says little. What carries over is the CPU time that the server spends per
// request, in all its processes. The model: n threads answer n / cost requests a second. It assumes that
//
// - a thread of the board is as fast as a core here while its sibling works too, which is optimistic: two threads of one core are not twice as
//   fast as one. `SIBLINGS` is what 32 cores with 64 threads are worth in cores, for the second figure;
// - connections are spread evenly, memory and the loopback device do not saturate, and the generator has cores of its own;
// - what the primary does stays on one core. It accepts the connections where `reusePort` is not there (Node before 22.12, and node:http, which does
//   not ask for it). In a profile that opens connections all the time, no more than one core's worth of that is possible.

import { median } from '../statistics.mjs'
import { cpuOf, totalOf } from './cpu.mjs'
import { Load } from './load.mjs'
import { start } from './place.mjs'
import { PROFILES } from './profiles.mjs'
import { LABELS, table } from './tables.mjs'

const BOARD_THREADS = 64
const BOARD_CORES = 32
/** What the second thread of a core adds. */
const SIBLINGS = 1.3
const WORKERS = [1, 2]
const WARM_UPS = 3
const COMPARED = ['weir', 'node']

export async function measureScaling({ ids, rounds, seconds, ...place }) {
  const load = new Load(false)
  const rows = []
  for (const profile of PROFILES.filter(({ id }) => ids.includes(id)))
    for (const name of COMPARED) {
      const measured = { profile: profile.id, name }
      for (const workers of WORKERS) {
        const server = await start({ ...place, name, workers, pinning: false })
        for (let i = 0; i < WARM_UPS; i++) await load.run(profile, server, seconds)
        const runs = []
        for (let i = 0; i < rounds; i++) {
          const before = cpuOf(server.pid)
          const { requests, seconds: elapsed } = await load.run(profile, server, seconds * (profile.longer ?? 1))
          const after = cpuOf(server.pid)
          const micros = (used) => (used / requests) * 1e6
          const primary = workers === 1 ? 0 : after.get(server.pid) - before.get(server.pid)
          runs.push({ rate: requests / elapsed, cost: micros(totalOf(after) - totalOf(before)), primaryCost: micros(primary) })
        }
        await server.stop()
        measured[workers] = Object.fromEntries(['rate', 'cost', 'primaryCost'].map((key) => [key, median(runs.map((run) => run[key]))]))
      }
      rows.push({ ...measured, ...computed(measured[2], profile.load?.perConnection > 0) })
      console.log(`${profile.id}, ${name}: ${WORKERS.map((workers) => `${workers}: ${Math.round(measured[workers].rate)}/s`).join(', ')}`)
    }
  await load.stop()
  return rows
}

function computed({ cost, primaryCost }, opensConnections) {
  const bound = opensConnections && primaryCost > 0 ? 1e6 / primaryCost : Number.POSITIVE_INFINITY
  const rate = (cores) => Math.min(bound, (cores * 1e6) / cost)
  return { threads: rate(BOARD_THREADS), cores: rate(BOARD_CORES * SIBLINGS), isBound: rate(BOARD_THREADS) === bound }
}

export function scalingTable(rows) {
  if (rows.length === 0) return ''
  const count = (value) => Math.round(value).toLocaleString('en')
  const rounded = (value) => Number(value.toPrecision(2)).toLocaleString('en')
  const lines = rows.map(({ profile, name, threads, cores, isBound, ...measured }) => {
    const here = WORKERS.map((workers) => `${count(measured[workers].rate)}/s, ${measured[workers].cost.toFixed(1)} µs`)
    const primary = `${measured[2].primaryCost.toFixed(2)} µs`
    return `| ${[profile, LABELS[name], ...here, primary, isBound ? `at most ${rounded(threads)}/s, bound by the primary` : `${rounded(cores)} to ${rounded(threads)}/s`].join(' | ')} |`
  })
  return table(['', '', '1 process', '2 processes', 'of that in the primary', 'computed for 64 threads'], lines)
}
