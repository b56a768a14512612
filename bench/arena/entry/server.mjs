// weir's entry for HttpArena: one process per core, as in the guide to deploying. The primary starts the workers and replaces one that
// dies; the system distributes the connections among them (`reusePort`), so that they do not pass through the primary.
import cluster from 'node:cluster'
import { availableParallelism } from 'node:os'

const WORKERS = Number(process.env.WORKERS ?? availableParallelism())
const signals = ['SIGTERM', 'SIGINT']

if (WORKERS === 1) await serve({ signals })
else if (cluster.isPrimary) {
  for (let i = 0; i < WORKERS; i++) cluster.fork()
  let isStopping = false
  for (const signal of signals)
    process.once(signal, () => {
      isStopping = true
      cluster.disconnect()
    })
  cluster.on('exit', (worker) => {
    if (!isStopping && !worker.exitedAfterDisconnect) setTimeout(() => cluster.fork(), 1000)
  })
} else {
  for (const signal of signals) process.on(signal, () => {}) // Ctrl+C reaches every process, but only the primary acts on it
  await serve({ reusePort: hasReusePort() }, (stop) => process.once('disconnect', stop))
}

/** @param {{ signals?: string[], reusePort?: boolean }} how @param {(stop: () => void) => void} onReady */
async function serve({ signals, reusePort = false }, onReady = () => {}) {
  const { createApp } = await import('./app.mjs')
  const { server, close } = await createApp({ workers: WORKERS, reusePort })
  onReady(() => void server.stop())
  await server.run({ signals })
  await close()
}

/** Node 22.12 and newer, on Linux. Without it, the primary accepts the connections. */
function hasReusePort() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return process.platform === 'linux' && (major > 22 || (major === 22 && minor >= 12))
}
