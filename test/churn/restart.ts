// `node build/test/churn/restart.js [inherited|handover|reuse-port] [requests] [restarts]`: restarts a server under load, and counts what
// its clients lose. By default 20,000 requests and 12 restarts: with one connection per request, with connections that are kept, and with
// clients that pause in between.
//
//   inherited    the sockets are the parent's: the old process stops, then the next one starts
//   handover     the same, but the next one starts first
//   reuse-port   each process opens the port for itself, the next one first (Node 22.12 and newer)
//
// Not part of `npm test`: it takes minutes, and what is lost with reuse-port depends on chance. packages/weirjs/test/server/restart.test.ts is the short
// version.

import type { ServerOptions } from '../../packages/weirjs/src/index.ts'
import { type LoadOptions, load } from '../../packages/weirjs/test/support/restart-load.ts'
import { SocketParent } from '../../packages/weirjs/test/support/socket-parent.ts'

type Way = 'inherited' | 'handover' | 'reuse-port'

const way = (process.argv[2] ?? 'inherited') as Way
const requests = Number(process.argv[3] ?? 20_000)
const restarts = Number(process.argv[4] ?? 12)
const ends: (() => unknown)[] = []

for (const [name, clients] of [
  ['one connection per request', { keepsAlive: false, clients: 16 }],
  ['kept connections', { keepsAlive: true, clients: 16 }],
  ['kept connections, with pauses', { keepsAlive: true, clients: 64, pauseMs: 40 }],
] as const) {
  const { answered, lost, retried, servers } = await churn(way, clients)
  const reasons = new Map<string, number>()
  for (const reason of lost) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  const summary = [...reasons].map(([reason, count]) => `${count} ${reason}`).join(', ')
  console.log(
    `${way}, ${name}: ${lost.length} of ${answered + lost.length} lost over ${servers - 1} restarts, ${retried} retried${summary === '' ? '' : ` (${summary})`}`,
  )
  if (lost.length > 0 && way !== 'reuse-port') process.exitCode = 1
}
for (const end of ends) await end()
process.exit()

async function churn(way: Way, clients: Omit<LoadOptions, 'port'>) {
  const places = way === 'reuse-port' ? [] : [{ host: '127.0.0.1', port: 0 }]
  const { parent, ports } = await SocketParent.open({ after: (end) => ends.push(end) }, places)
  const optionsFor = (port: number): ServerOptions =>
    way === 'reuse-port' ? { listen: [{ port, reusePort: true }] } : { listen: 'inherited' }
  let current = await parent.start({ options: optionsFor(0) })
  const port = ports[0] ?? current.endpoints[0]!.port
  let isDone = false
  let answered = 0
  const loading = load({ ...clients, port }, (count) => {
    answered = count
    return isDone && count >= requests
  })
  for (let i = 1; i <= restarts; i++) {
    // The restarts are spread over the requests.
    while (answered < (requests * i) / (restarts + 1)) await new Promise((resolve) => setTimeout(resolve, 5))
    const old = current.pid
    const isNewFirst = way !== 'inherited'
    if (!isNewFirst) await parent.stop(old)
    current = await parent.start({ options: optionsFor(port) })
    if (isNewFirst) await parent.stop(old)
  }
  isDone = true
  const report = await loading
  await parent.stop(current.pid, { graceMs: 0 })
  return report
}
