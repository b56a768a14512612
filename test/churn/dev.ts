// `node build/test/churn/dev.js [connections] [restarts]`: `weir dev` restarts a program under load, with one connection per request. Counts
// the connections that are lost, and measures the time from a change on the disk to the first response of the new program. By default 1,000
// connections and 20 restarts.
//
// Not part of `npm test`: times depend on the machine. packages/dev/test/cli/dev.test.ts is the short version.

import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const connections = Number(process.argv[2] ?? 1_000)
const restarts = Number(process.argv[3] ?? 20)
const CLIENTS = 8
/** Between two restarts, so that the next process is waiting. */
const PAUSE_MS = 1_000

const folder = mkdtempSync(join(tmpdir(), 'weir-dev-'))
const setVersion = (version: number): void => writeFileSync(join(folder, 'version.js'), `export const version = '${version}'`)
const library = new URL('../../packages/weirjs/src/index.js', import.meta.url).href
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
mkdirSync(join(folder, 'node_modules')) // for compiled code
writeFileSync(
  join(folder, 'app.js'),
  `import { HttpServer } from '${library}'
  import { version } from './version.js'
  const server = new HttpServer('127.0.0.1', 0)
  server.mapGet('/', () => version)
  await server.run()`,
)
setVersion(0)
const command = fileURLToPath(new URL('../../packages/dev/src/cli/main.js', import.meta.url))
const child = spawn(process.execPath, [command, 'dev', 'app.js'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
let printed = ''
child.stderr!.on('data', (chunk) => (printed += chunk))
while (!printed.includes('ready in')) await pause(10)
const port = Number(/127\.0\.0\.1:(\d+)/.exec(printed)![1])

/** One request on a connection of its own. @returns the body; null if it was lost */
function ask(): Promise<string | null> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'))
    socket.setEncoding('latin1').on('data', (data) => (text += data))
    socket.on('error', () => {}) // `close` follows
    socket.on('close', () => resolve(text.startsWith('HTTP/1.1 200') ? text.split('\r\n\r\n')[1]! : null))
  })
}

let asked = 0
let lost = 0
let newest = 0
let isOver = false
/** Spread over the whole time, so that every restart meets some of them. */
const gapMs = (restarts * PAUSE_MS * CLIENTS) / connections
const client = async (): Promise<void> => {
  while (!isOver || asked < connections) {
    asked++
    const response = await ask()
    if (response === null) lost++
    else newest = Math.max(newest, Number(response))
    await pause(Math.random() * gapMs)
  }
}
const clients = Array.from({ length: CLIENTS }, client)
const times: number[] = []
for (let version = 1; version <= restarts; version++) {
  await pause(PAUSE_MS)
  const changedAt = performance.now()
  setVersion(version)
  while (newest < version) newest = Math.max(newest, Number(await ask()))
  times.push(performance.now() - changedAt)
}
isOver = true
await Promise.all(clients)
child.kill('SIGTERM')
rmSync(folder, { recursive: true })
times.sort((a, b) => a - b)
const [median, longest] = [times[times.length >> 1]!, times.at(-1)!]
console.log(
  `${lost} of ${asked} connections were lost in ${restarts} restarts; ${median.toFixed(0)} ms each, ${longest.toFixed(0)} ms the longest`,
)
process.exit(lost === 0 ? 0 : 1)
