// The process that is measured: `serve.mjs <server> <workload>`. It starts one server and answers questions about itself over IPC. It exits
// with its parent. A server that is another process reports the usage of that process itself.
import { workloadCalled } from './workloads.mjs'

const [name, workloadId] = process.argv.slice(2)

const answers = {
  /** Microseconds of CPU time since the process began, for all its threads. */
  cpu: () => server.cpuUsage?.() ?? process.cpuUsage(),
  memory: () => ({ rssBytes: server.rssBytes?.() ?? process.memoryUsage.rss() }),
}

process.on('message', ({ ask }) => process.send(answers[ask]()))
process.on('disconnect', () => process.exit())

const server = await import(`./servers/${name}.mjs`)
process.send(await server.start(await workloadCalled(workloadId)))
