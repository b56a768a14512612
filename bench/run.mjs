// `npm run bench`: the workloads against the servers, as ratios to node:http. What each figure means: bench/README.md.
import { readFileSync, writeFileSync } from 'node:fs'

import { APART } from './apart.mjs'
import { document } from './document.mjs'
import { OwnGenerator, WrkGenerator } from './generators.mjs'
import { describeMachine, leaveServerCore } from './machine.mjs'
import { measure } from './measure.mjs'
import { readOptions, USAGE } from './options.mjs'
import { BASE, heading, summarize, table } from './report.mjs'
import { loadServers, loadWorkloads } from './workloads.mjs'

const options = readOrExplain()
const parts = chosen('workload', [...(await loadWorkloads()), ...APART], (part) => part.id, options.only).filter(
  (part) => !options.quick || options.only !== null || part.isQuick !== false,
)
const workloads = parts.filter((part) => !APART.includes(part))
const servers = chosenServers(await loadServers())
const machine = describeMachine()
leaveServerCore(machine.pinning)

if (options.generator === 'wrk' && machine.wrk === null) {
  console.error('wrk is not installed; without --generator wrk the bench does not need it.')
  process.exit(2)
}
// Read before anything is measured: a name that is misspelt should not cost an hour.
const beside = options.beside.map((file) => JSON.parse(readFileSync(file, 'utf8')))
const own = new OwnGenerator(machine.pinning)
const wrk = options.generator === 'wrk' ? new WrkGenerator(machine.pinning) : null
const say = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`)
const command = `npm run bench -- ${process.argv.slice(2).join(' ')}`
  .replace(/ --(?:json|beside)[ =]\S+/g, '')
  .trim()
  .replace(/ --$/, '')
const head = heading(machine, servers, options, command)
console.log(`${head}\n`)
const sections = []
const tell = (section) => {
  say('')
  console.log(`${section}\n`)
  sections.push(section)
}

const record = { machine, options, command, workloads: {}, apart: {} }
const results = new Map()
for (const workload of workloads) {
  const generator = wrk === null || workload.depth > 1 || Number.isFinite(workload.requestsPerConnection) ? own : wrk
  const result = await measure(workload, servers, { options, pinning: machine.pinning, generator, say })
  tell(table(workload, servers, result, generator.name))
  results.set(workload, result)
  if (result.failed.size > 0) process.exitCode = 1
  record.workloads[workload.id] = {
    rounds: result.rounds.map((round) => Object.fromEntries(round)),
    summary: result.rounds.length === 0 ? {} : Object.fromEntries(summarize(result.rounds)),
    skipped: Object.fromEntries(result.skipped),
    failed: Object.fromEntries(result.failed),
  }
}
await own.stop()
for (const part of parts.filter((one) => APART.includes(one))) {
  const text = await part.measure({ pinning: machine.pinning, quick: options.quick, say }).catch(failed)
  record.apart[part.id] = text
  tell(`### ${part.name}\n\n\`${part.id}\`: ${part.title}\n\n${text}`)
}
if (options.markdown !== null) writeFileSync(options.markdown, document({ head, sections, results, servers, machine, beside }))
if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(record, null, 2)}\n`)

function failed(error) {
  process.exitCode = 1
  return `FAILED: ${error.message}`
}

function readOrExplain() {
  try {
    const read = readOptions(process.argv.slice(2))
    if (!read.help) return read
    console.log(USAGE)
    process.exit(0)
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`)
    process.exit(2)
  }
}

function chosen(kind, all, nameOf, wanted) {
  const unknown = (wanted ?? []).filter((name) => !all.some((one) => nameOf(one) === name))
  if (unknown.length > 0) {
    console.error(`There is no ${kind} ${unknown.join(', ')}. There are: ${all.map(nameOf).join(', ')}`)
    process.exit(2)
  }
  return wanted === null ? all : all.filter((one) => wanted.includes(nameOf(one)))
}

/** The base comes first, because the others are compared with it, and then weir. */
function chosenServers(all) {
  const wanted = options.servers === null || options.servers.includes('all') ? null : [BASE, ...options.servers]
  const entries = chosen('server', [...all], ([name]) => name, wanted).filter(([name, { isExtra }]) => !isExtra || wanted?.includes(name))
  const place = ([name]) => ['weir', BASE].indexOf(name)
  return new Map(entries.sort((a, b) => place(b) - place(a)))
}
