// The tables for docs/performance.md.
import { loadavg } from 'node:os'

import { median, uncertainty } from '../statistics.mjs'

export const LABELS = { node: 'node:http', weir: 'weir', fastify: 'Fastify', bun: 'Bun.serve' }
const BASE = 'node'

export function headOf({ machine, tools, rounds, seconds, results, postgres, node }) {
  const shares = results.map(({ busyCores }) => busyCores)
  const busy =
    shares.length === 0
      ? ''
      : ` ${Math.min(...shares).toFixed(1)} to ${Math.max(...shares).toFixed(1)} cores were busy, the bench's included, and the load average was ${loadavg()[2].toFixed(1)}.`
  return `${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; Node ${node === process.execPath ? machine.node : node}, wrk ${tools.wrk}, h2load ${
    tools.h2load
  }${postgres === undefined ? '' : `, PostgreSQL ${postgres}`}; commit ${machine.commit}. Medians of ${rounds} rounds of ${seconds} s.${busy}`
}

const across = (rounds, name, key) => rounds.filter((round) => name in round).map((round) => round[name][key])
const ratiosOf = (rounds, name) => rounds.filter((round) => name in round).map((round) => round[BASE].cpuMicros / round[name].cpuMicros)

function cellOf(rounds, name) {
  const micros = across(rounds, name, 'cpuMicros')
  if (micros.length === 0) return ''
  const cost = `${median(micros).toFixed(1)} µs`
  if (name === BASE || !(BASE in rounds[0])) return cost
  const ratios = ratiosOf(rounds, name)
  return `**${median(ratios).toFixed(2)}** ± ${(uncertainty(ratios) * 100).toFixed(0)} %, ${cost}`
}

/** CPU per request, and how much better than node:http that is. */
export function cpuTable({ names, results }) {
  const rows = results.map(
    ({ profile, rounds }) =>
      `| ${profile.id}${profile.isReference ? ' \\*' : ''} | ${names.map((name) => cellOf(rounds, name)).join(' | ')} |`,
  )
  return table(['CPU per request', ...names.map((name) => LABELS[name])], rows)
}

/** What the fixed rates and the compressed responses are scored by, beside CPU. */
export function pacedTable({ names, results }) {
  const rows = []
  for (const { profile, rounds } of results) {
    const row = (what, key, show) =>
      `| ${profile.id}, ${what} | ${names.map((name) => (across(rounds, name, key).length === 0 ? '' : show(median(across(rounds, name, key))))).join(' | ')} |`
    const ms = (value) => `${value.toFixed(2)} ms`
    if (profile.load?.load === 'paced') {
      const rate = `${Math.round(profile.load.rate).toLocaleString('en')}/s`
      rows.push(
        row(`share of ${rate} held`, 'ratio', (value) => value.toFixed(3)),
        row('p99', 'p99', ms),
        row('p99.9', 'p999', ms),
      )
    }
    if (profile.id === 'json-comp') rows.push(row('bytes per response', 'bytesPerResponse', (value) => value.toFixed(0)))
  }
  return rows.length === 0 ? '' : table(['', ...names.map((name) => LABELS[name])], rows)
}

export function table(heads, rows) {
  return [`| ${heads.join(' | ')} |`, `|${' --- |'.repeat(heads.length)}`, ...rows].join('\n')
}
