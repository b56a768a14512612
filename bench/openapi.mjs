// What CPU time it takes to make an OpenAPI document, first in a process and again, and to declare it with `weir types`:
// node bench/openapi.mjs (after npm run build and npm run compile).
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { declarationsOf } from '../build/packages/dev/src/cli/types/declarations.js'
import { openapi } from '../packages/openapi/dist/index.js'
import { HttpServer, Problem, t } from '../packages/weirjs/dist/index.js'
import { rateLimit } from '../packages/weirjs/dist/modules/limits/index.js'

const RUNS = 11

/** Half of the routes have a body of their own, all of them parameters, two answers and a limit. */
function serverWith(routes) {
  const server = new HttpServer({ logger: null }).use(openapi({ info: { title: 'x', version: '1' } }))
  const use = [rateLimit({ quota: 10, window: '1m' })]
  const User = t.named('User', t.object({ id: t.int, name: t.string.max(50), mail: t.string.optional(), tags: t.array(t.string) }))
  for (let i = 0; i < routes; i++) {
    const declared = { id: t.int, page: t.int.default(1), use, answers: { 200: t.array(User), 404: Problem }, summary: 'x', tags: ['a'] }
    const body = t.named(`New${i}`, t.object({ a: t.string.min(1), b: t.int, c: t.enum('x', 'y').optional(), user: User }))
    if (i % 2 === 0) server.mapGet(`/r${i}/:id`, declared, () => [])
    else server.mapPost(`/r${i}/:id`, { ...declared, body }, () => [])
  }
  return server
}

/** Milliseconds of CPU time, of all threads: other programs on the machine do not count. */
async function cpuOf(work) {
  const begin = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(begin)
  return (user + system) / 1_000
}

/** Until the first response with the document. */
function timeOf(server) {
  return cpuOf(async () => {
    const { status } = await server.inject('/openapi.json')
    if (status !== 200) throw new Error(String(status))
  })
}

const medianOf = (times) => times.sort((a, b) => a - b)[times.length >> 1]

async function compare(routes) {
  const self = fileURLToPath(import.meta.url)
  const first = Array.from({ length: RUNS }, () => Number(spawnSync(process.execPath, [self, String(routes)], { encoding: 'utf8' }).stdout))
  const again = []
  for (let i = 0; i < RUNS; i++) again.push(await timeOf(serverWith(routes)))
  const text = (await serverWith(routes).inject('/openapi.json')).text()
  const types = []
  for (let i = 0; i < RUNS; i++) types.push(await cpuOf(() => declarationsOf(text)))
  const figures = { first: medianOf(first), longest: Math.max(...first), again: medianOf(again), types: medianOf(types) }
  const shown = Object.entries(figures).map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`)
  console.log(`${routes} routes, ${(text.length / 1024).toFixed(0)} KiB: ${shown.join(', ')}`)
}

const [routes] = process.argv.slice(2)
if (routes !== undefined) console.log(await timeOf(serverWith(Number(routes))))
else for (const count of [200, 1_000]) await compare(count)
