// A program with a local server, for tests that start and kill several. It says in one line of JSON what it has, and stops when its input ends.

import { HttpServer } from '../../src/index.ts'
import { local } from '../../src/modules/local/index.ts'

const [name = '', single = 'reuse'] = process.argv.slice(2)
const server = new HttpServer({ logger: null }).mapGet('/pid', () => process.pid)
try {
  const running = await local(server, { name, single: single as 'reuse' | 'error' | 'many' })
  const { url, reused } = running
  console.log(JSON.stringify({ pid: process.pid, url, reused, launchUrl: running.newLaunchUrl() }))
  process.stdin.resume().on('end', () => void running.stop().then(() => process.exit()))
} catch (error) {
  console.log(JSON.stringify({ pid: process.pid, code: (error as { code: string }).code }))
}
