// Puts the load of a profile on a server. Resolves with `{ requests, seconds }`, and what else the tool says.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { Child } from '../child.mjs'
import { LOAD_CORE, onCore } from '../machine.mjs'

const SCRIPT = fileURLToPath(new URL('../wrk.lua', import.meta.url))
const LEAST_REQUESTS = 2000

/** The version of a tool; null if it is not installed. */
export function toolVersion(name) {
  try {
    return /\d+(\.\d+)+/.exec(execFileSync(name, [name === 'wrk' ? '-v' : '--version'], { encoding: 'utf8', stdio: 'pipe' }))?.[0] ?? null
  } catch (error) {
    return /\d+(\.\d+)+/.exec(String(error.stdout ?? ''))?.[0] ?? null // wrk prints its version and exits with 1
  }
}

export class Load {
  #pinning
  #generator
  #folder = mkdtempSync(join(tmpdir(), 'weir-arena-load-'))
  /** Requests per second of the last run, by server and profile: h2load is told a number of requests, and not a time. */
  #rates = new Map()

  constructor(pinning) {
    this.#pinning = pinning
    this.#generator = new Child('arena/generator.mjs', [], { pinning, core: LOAD_CORE })
    process.on('exit', () => rmSync(this.#folder, { recursive: true, force: true }))
  }

  /** @param {object} profile @param {{ name: string, ports: object }} server @param {number} seconds */
  async run(profile, server, seconds) {
    const result = await this[profile.tool](profile, server, seconds)
    if (result.failed !== undefined) throw new Error(`${server.name}, ${profile.id}: ${result.failed}`)
    this.#rates.set(`${server.name} ${profile.id}`, result.requests / result.seconds)
    return result
  }

  stop() {
    return this.#generator.stop()
  }

  generator({ load }, { ports }, seconds) {
    return this.#generator.ask({ ...load, port: load.isSecure ? ports.tls : ports.plain, ms: seconds * 1000 })
  }

  async wrk({ id, connections, requests, isSecure = false }, { ports }, seconds) {
    const file = join(this.#folder, id)
    writeFileSync(file, requests.map((text) => `${Buffer.byteLength(text)}\n${text}`).join(''))
    const url = isSecure ? `https://127.0.0.1:${ports.tls}` : `http://127.0.0.1:${ports.plain}`
    const rounded = Math.max(1, Math.round(seconds))
    const options = ['-t', '1', '-c', String(connections), '-d', `${rounded}s`, '-s', SCRIPT, url, '--', file]
    const text = await output(onCore(this.#pinning, LOAD_CORE, 'wrk', options))
    const { requests: done, microseconds, errors } = JSON.parse(/^BENCH (.*)$/m.exec(text)[1])
    if (errors > 0) return { failed: `wrk counted ${errors} errors` }
    const bytes = Number(/^\s*\d+ requests in \S+, ([\d.]+)(\w+) read/m.exec(text)?.[1]) * UNITS[/, [\d.]+(\w+) read/.exec(text)?.[1]]
    return { requests: done, seconds: microseconds / 1e6, bytesPerResponse: bytes / done }
  }

  async h2load({ id, connections, streams, paths, accepted, isSecure = false }, { name, ports }, seconds) {
    const file = join(this.#folder, id)
    const origin = isSecure ? `https://127.0.0.1:${ports.h2}` : `http://127.0.0.1:${ports.h2c}`
    writeFileSync(file, paths.map((path) => `${origin}${path}\n`).join(''))
    const rate = this.#rates.get(`${name} ${id}`)
    const count = Math.max(LEAST_REQUESTS, connections * streams, Math.round((rate ?? 0) * seconds))
    const options = ['-n', String(count), '-c', String(connections), '-m', String(streams), '-t', '1', '-i', file]
    if (accepted !== undefined) options.push('-H', `Accept-Encoding: ${accepted}`)
    if (!isSecure) options.push('-p', 'h2c')
    const text = await output(onCore(this.#pinning, LOAD_CORE, 'h2load', options))
    const [, number, unit] = /finished in ([\d.]+)(ms|s|us)/.exec(text)
    const good = Number(/status codes: (\d+) 2xx/.exec(text)[1])
    if (good !== count) return { failed: `${count - good} of ${count} requests without a 2xx` }
    return { requests: good, seconds: Number(number) / { s: 1, ms: 1e3, us: 1e6 }[unit] }
  }
}

const UNITS = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 }

function output({ command, args }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.on('data', (chunk) => (text += chunk))
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(text) : reject(new Error(`${command} ended with ${code}: ${text}`))))
  })
}
