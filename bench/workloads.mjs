// The workloads and servers that there are. One more is one more file in its folder; nothing else has to know of it.
//
// A workload: { id, title, app, exchanges, depth = 1, connections = 64, requestsPerConnection = Infinity, coding, needs, isQuick = true }.
//   `app` names the set of routes that a server must have, `exchanges` are the requests with their one right answer (message.mjs),
//   `coding` what its answers are compressed with, `needs` a member that weir may not have yet, `isQuick` whether --quick has it.
// A server: { label, version(), start(workload) → { port } or { skipped: reason }, runtime, missing, answersOneBody }.
//   `runtime` is another executable than this one, `missing` why it cannot be measured here at all.
//   It is imported by this process too, for its label: what it measures must be imported inside `start`.
import { readdirSync } from 'node:fs'

const DEFAULTS = { depth: 1, connections: 64, requestsPerConnection: Number.POSITIVE_INFINITY, isQuick: true }

const modulesIn = (folder) =>
  readdirSync(new URL(`${folder}/`, import.meta.url))
    .filter((file) => file.endsWith('.mjs'))
    .sort(new Intl.Collator('en', { numeric: true }).compare)

export async function loadWorkloads() {
  const modules = await Promise.all(modulesIn('workloads').map((file) => import(`./workloads/${file}`)))
  return modules.map((module) => ({ ...DEFAULTS, ...module.default }))
}

export async function workloadCalled(id) {
  const found = (await loadWorkloads()).find((workload) => workload.id === id)
  if (found === undefined) throw new Error(`there is no workload ${id}`)
  return found
}

/** By name: the file's, which is also what `--servers` takes. */
export async function loadServers() {
  const servers = new Map()
  for (const file of modulesIn('servers')) servers.set(file.slice(0, -4), await import(`./servers/${file}`))
  return servers
}
