// The process that is measured: `serve.mjs <server> <workload>`. It starts one server and answers questions about itself over IPC;
// it leaves when its parent does. A server that is another process says itself what that one uses.
import { workloadCalled } from './workloads.mjs'

const [name, workloadId] = process.argv.slice(2)

const answers = {
  /** Microseconds since the process began, those of all its threads. */
  cpu: () => server.cpuUsage?.() ?? process.cpuUsage(),
  memory: () => ({ rssBytes: server.rssBytes?.() ?? process.memoryUsage.rss() }),
}

process.on('message', ({ ask }) => process.send(answers[ask]()))
process.on('disconnect', () => process.exit())

const server = await import(`./servers/${name}.mjs`)
process.send(await server.start(await workloadCalled(workloadId)))
