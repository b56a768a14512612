// Runs wrk with wrk.lua. Unlike the bench's own generator, it cannot pipeline a workload, or wait for what is in flight at the end.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { LOAD_CORE, onCore } from './machine.mjs'

const script = fileURLToPath(new URL('wrk.lua', import.meta.url))

export class Wrk {
  #pinning
  #folder = mkdtempSync(join(tmpdir(), 'weir-bench-'))

  constructor(pinning) {
    this.#pinning = pinning
    process.on('exit', () => rmSync(this.#folder, { recursive: true, force: true }))
  }

  async run({ port, workload }, seconds) {
    const file = join(this.#folder, workload.id)
    writeFileSync(file, Buffer.concat(workload.exchanges.flatMap(({ request }) => [Buffer.from(`${request.length}\n`), request])))
    const options = ['-t', '1', '-c', String(workload.connections), '-d', `${Math.max(1, Math.round(seconds))}s`, '-s', script]
    const run = onCore(this.#pinning, LOAD_CORE, 'wrk', [...options, `http://127.0.0.1:${port}`, '--', file])
    const { requests, microseconds, p50, p99, errors } = await output(run)
    if (errors > 0) throw new Error(`wrk counted ${errors} errors`)
    return { requests, elapsedSeconds: microseconds / 1e6, busySeconds: Number.NaN, p50: p50 / 1000, p99: p99 / 1000 }
  }
}

function output({ command, args }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.on('data', (chunk) => (text += chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      const line = /^BENCH (.*)$/m.exec(text)
      if (code === 0 && line !== null) resolve(JSON.parse(line[1]))
      else reject(new Error(`wrk ended with ${code}: ${text}`))
    })
  })
}
