// A child process that answers one question at a time over IPC. Used for servers and for the load generator.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { onCore } from './machine.mjs'

const PATIENCE_MS = 60_000

/** All running children, so that none outlives the bench. */
const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

export class Child {
  #child
  #name
  #waiting = null

  /** @param {{ pinning: boolean, core: number, runtime?: string, flags?: string[] }} place */
  constructor(file, args, { pinning, core, runtime = process.execPath, flags = [] }) {
    this.#name = [file, ...args].join(' ')
    const run = onCore(pinning, core, runtime, [...flags, fileURLToPath(new URL(file, import.meta.url)), ...args])
    const env = { ...process.env, NODE_ENV: 'production' }
    this.#child = spawn(run.command, run.args, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    running.add(this.#child)
    this.#child.on('message', (message) => this.#settle(null, message))
    this.#child.on('error', (error) => this.#settle(error))
    this.#child.on('exit', (code, signal) => {
      running.delete(this.#child)
      this.#settle(new Error(`${this.#name} ended with ${signal ?? code}`))
    })
  }

  /** The next message from the child. */
  heard() {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(new Error(`${this.#name} has not answered for ${PATIENCE_MS} ms`)), PATIENCE_MS)
      this.#waiting = { resolve, reject, timer }
    })
  }

  ask(question) {
    const answer = this.heard()
    this.#child.send(question)
    return answer
  }

  /** Stops it, and resolves when it is gone, because a dying process would still use its core. */
  async stop() {
    if (!running.has(this.#child)) return
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.disconnect()
    const impatient = setTimeout(() => this.#child.kill('SIGKILL'), 3000)
    await gone
    clearTimeout(impatient)
  }

  #settle(error, message) {
    const waiting = this.#waiting
    if (waiting === null) return
    this.#waiting = null
    clearTimeout(waiting.timer)
    if (error === null) waiting.resolve(message)
    else waiting.reject(error)
  }
}
