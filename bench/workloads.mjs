// The available workloads and servers. To add one, add a file to its folder; nothing else has to know about it.
//
// A workload: { id, name, title, app, exchanges, depth = 1, connections = 64, requestsPerConnection = Infinity, coding, needs, isQuick = true }.
//   `name` is what the documents call it, `app` names the set of routes that a server must have, `exchanges` are the requests with their one right response (message.mjs),
//   `coding` is how the responses are compressed, `needs` is a member that weir may not have yet, and `isQuick` is whether --quick
//   includes it.
// A server: { label, version(), start(workload) → { port } or { skipped: reason }, runtime, missing, answersOneBody, isExtra }.
//   `runtime` is the executable if it is not this one, `missing` is why the server cannot be measured here at all, and `isExtra` is
//   whether it is only measured when `--servers` names it.
//   This process imports it too, for its label, so `start` must import what it measures.
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

/** By name: the name of the file, which `--servers` accepts. */
export async function loadServers() {
  const servers = new Map()
  for (const file of modulesIn('servers')) servers.set(file.slice(0, -4), await import(`./servers/${file}`))
  return servers
}
