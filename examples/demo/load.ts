// The same load on three servers, each in a process of its own, in turns.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Module } from 'weirjs'

import type { Result, Send, Usage } from './load-worker.ts'
import { show } from './show.ts'

const WORKER = fileURLToPath(new URL('./load-worker.js', import.meta.url))
const SERVERS = ['weir', 'node:http', 'Express'] as const
const TURN_MS = 250
/** Before it is measured, each server answers so many requests for each round, so that its code is compiled. */
const WARM_UP_REQUESTS = 1_500

interface Turn {
  readonly requestsPerSecond: number
  readonly cpuMicros: number
  readonly memoryBytes: number
}

/** @param rounds how many turns each server gets */
export function load(rounds: number): Module {
  return show('/load', 'Measures three servers under the same load', async (tell, stopping) => {
    const ending = new AbortController()
    try {
      await measure(rounds, tell, AbortSignal.any([stopping, ending.signal]))
    } finally {
      ending.abort()
    }
  })
}

/** @param signal ends all processes */
async function measure(rounds: number, tell: (state: object) => void, signal: AbortSignal): Promise<void> {
  const client = new Worker('client', signal)
  const starting = SERVERS.map(async (name) => {
    const server = new Worker(name, signal)
    const { port } = await server.ask<Usage>({})
    return { name, server, port, turns: [] as Turn[] }
  })
  const servers = await Promise.all(starting)
  const present = servers.filter(({ port }) => port !== null)
  const warmUp = { ms: 0, requests: rounds * WARM_UP_REQUESTS }
  const steps = [warmUp, ...Array.from({ length: rounds }, () => ({ ms: TURN_MS, requests: 0 }))].flatMap((send) =>
    present.map((server) => ({ ...server, send })),
  )
  for (const [i, { server, port, turns, send }] of steps.entries()) {
    const turn = await measuredTurn(client, server, port!, send)
    if (send !== warmUp) turns.push(turn)
    const shown = servers.map(({ name, port, turns }) => ({ name, isMissing: port === null, ...medianOf(turns) }))
    tell({ done: (i + 1) / steps.length, servers: shown })
  }
}

async function measuredTurn(client: Worker, server: Worker, port: number, send: Send): Promise<Turn> {
  await client.ask({ connect: port })
  const before = await server.ask<Usage>({})
  const { requests, ms } = await client.ask<Result>({ send })
  const { cpuMicros, memoryBytes } = await server.ask<Usage>({})
  return { requestsPerSecond: (requests * 1000) / ms, cpuMicros: (cpuMicros - before.cpuMicros) / requests, memoryBytes }
}

function medianOf(turns: readonly Turn[]): Partial<Turn> {
  if (turns.length === 0) return {}
  const median = (name: keyof Turn): number => turns.map((turn) => turn[name]).sort((a, b) => a - b)[turns.length >> 1]!
  return { requestsPerSecond: median('requestsPerSecond'), cpuMicros: median('cpuMicros'), memoryBytes: median('memoryBytes') }
}

/** A process that answers one question after the other. It ends with the signal, and with the process of the demo. */
class Worker {
  readonly #process: ChildProcess
  readonly #failed: Promise<never>

  constructor(role: string, signal: AbortSignal) {
    // Servers are measured as they are used: Express is faster in production.
    const env = { ...process.env, NODE_ENV: 'production' }
    this.#process = fork(WORKER, [role], { env, execArgv: [], signal, killSignal: 'SIGKILL' })
    this.#failed = once(this.#process, 'exit').then(() => {
      throw new Error(`the process of ${role} has ended`)
    })
    this.#failed.catch(() => {}) // once it has ended, nobody asks it any more
  }

  async ask<T>(question: object): Promise<T> {
    const answer = once(this.#process, 'message')
    this.#process.send(question, () => {}) // an error is followed by its end
    const [value] = await Promise.race([answer, this.#failed])
    return value as T
  }
}
