// A program that serves its user: node local-program.js <name> <single> [port]. It prints one line of JSON when it runs. Its folder depends on
// XDG_RUNTIME_DIR.

import { HttpServer } from '../../src/index.ts'
import { local } from '../../src/modules/local/index.ts'

const [name, single, port] = process.argv.slice(2)
const server = new HttpServer({ logger: null })
server.mapGet('/', (_, { response }) => response.html(`<title>${name} ${process.pid}</title>`))
try {
  const running = await local(server, {
    name: name!,
    single: single as 'reuse',
    ...(port === undefined ? {} : { port: Number(port) }),
  })
  console.log(JSON.stringify({ pid: process.pid, url: running.url, isReused: running.isReused, link: running.newLaunchUrl() }))
} catch (error) {
  console.log(JSON.stringify({ code: (error as { code?: string }).code, message: (error as Error).message }))
}
