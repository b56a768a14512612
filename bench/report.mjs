// Writes the figures as Markdown.
import { MOST_STOLEN } from './machine.mjs'
import { median, spread, uncertainty } from './statistics.mjs'

/** A server that used less than this share of its core was not at its limit. */
const SATURATED = 0.9
/** A load generator that used more than this share of its core may have been the bottleneck. */
const EXHAUSTED = 0.85
/** If other processes used more than this share of a core, the report warns. */
export const DISTURBED = 0.1

/** All ratios have the same direction: above 1 is better than node:http. */
const RATIOS = {
  cpu: (own, base) => base.cpuMicroseconds / own.cpuMicroseconds,
  rps: (own, base) => own.requestsPerSecond / base.requestsPerSecond,
  p50: (own, base) => base.p50 / own.p50,
  p99: (own, base) => base.p99 / own.p99,
  rss: (own, base) => base.rssBytes / own.rssBytes,
}

export const BASE = 'node'

/** The figures of one workload by server name: medians of the absolute values, and median and spread of each ratio within a round. */
export function summarize(rounds) {
  const summary = new Map()
  for (const name of rounds[0].keys()) {
    const own = rounds.map((round) => round.get(name))
    const base = rounds.map((round) => round.get(BASE))
    const ratios = {}
    for (const [key, ratio] of Object.entries(RATIOS)) {
      const all = own.map((values, i) => ratio(values, base[i]))
      ratios[key] = { median: median(all), uncertainty: uncertainty(all), spread: spread(all), all }
    }
    const medians = Object.fromEntries(Object.keys(own[0]).map((key) => [key, median(own.map((values) => values[key]))]))
    summary.set(name, { ...medians, ratios })
  }
  return summary
}

export function heading(machine, servers, options, command) {
  const versions = [...servers.values()].map((server) => `${server.label} ${server.version()}`)
  const plan = `${options.rounds} rounds of ${options.seconds} s, ${options.processes} processes each`
  const pinned = machine.pinning ? 'server and load generator each pinned to a core' : 'not pinned to cores: expect more noise'
  return [
    `- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.platform}; ${pinned}`,
    `- Node ${machine.node} (V8 ${machine.v8}); ${versions.join(', ')}; ${machine.wrk === null ? 'no wrk' : `wrk ${machine.wrk}`}`,
    `- commit ${machine.commit}; ${plan}; \`${command}\``,
    '- Each ratio is the median of the ratios to node:http in the same round. Above 1 is better than node:http. ± is the 95 % confidence interval of that median.',
  ].join('\n')
}

export function table(workload, servers, { rounds, repeated, othersShare, skipped, failed }, generatorName) {
  const lines = [
    `### ${workload.name}`,
    '',
    `\`${workload.id}\`: ${workload.title}`,
    '',
    `${workload.connections} connections with ${workload.depth === 1 ? '1 request' : `${workload.depth} requests`} in flight on each; load generator: ${generatorName}.`,
    '',
  ]
  const labelOf = (name) => servers.get(name).label
  if (rounds.length > 0 && rounds[0].size > 0) {
    const summary = [...summarize(rounds)]
    lines.push('| server | CPU µs/request | CPU ratio | requests/s | ratio | p50 ms | ratio | p99 ms | ratio | RSS MiB | ratio |')
    lines.push(`|${' --- |'.repeat(11)}`)
    for (const [name, values] of summary) lines.push(row(labelOf(name), values))
    lines.push('')
    for (const [name, values] of summary) if (values.busy < SATURATED) lines.push(`\\* ${labelOf(name)} ${whyNotBusy(values)}`)
    if (repeated > 0)
      lines.push(
        `${repeated === 1 ? '1 round was' : `${repeated} rounds were`} measured again, because the host of this machine took more than ${percent(MOST_STOLEN)} of its time.`,
      )
    if (othersShare > DISTURBED)
      lines.push(`Other processes kept ${othersShare.toFixed(2)} cores of this machine busy during the measurement, so expect noise.`)
  }
  for (const [name, reason] of skipped) lines.push(`${labelOf(name)} was not measured: ${reason}.`)
  for (const [name, reason] of failed) lines.push(`${labelOf(name)} FAILED: ${reason}`)
  return lines.join('\n').trimEnd()
}

function whyNotBusy({ busy, generatorBusy }) {
  const used = `used ${percent(busy)} of its core`
  if (Number.isNaN(generatorBusy)) return `${used}. Look at CPU per request.`
  if (generatorBusy < EXHAUSTED)
    return `${used}, and the generator ${percent(generatorBusy)} of the other: something else ran there. Look at CPU per request.`
  return `${used}, because the generator was the bottleneck: requests/s are a lower bound, and the latencies are the generator's. Look at CPU per request.`
}

const percent = (share) => `${Math.round(share * 100)} %`

function row(label, { cpuMicroseconds, requestsPerSecond, p50, p99, rssBytes, busy, ratios }) {
  const cells = [
    busy < SATURATED ? `${label} \\*` : label,
    cpuMicroseconds.toFixed(2),
    `**${ratios.cpu.median.toFixed(2)}** ± ${(ratios.cpu.uncertainty * 100).toFixed(1)} %`,
    Math.round(requestsPerSecond).toLocaleString('en'),
    `${ratios.rps.median.toFixed(2)} ± ${(ratios.rps.uncertainty * 100).toFixed(1)} %`,
    p50.toFixed(2),
    ratios.p50.median.toFixed(2),
    p99.toFixed(2),
    ratios.p99.median.toFixed(2),
    Math.round(rssBytes / 2 ** 20),
    ratios.rss.median.toFixed(2),
  ]
  return `| ${cells.join(' | ')} |`
}
