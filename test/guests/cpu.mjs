// Measures the CPU time that a guest needs per request inside weir, as a ratio to the same guest on node:http.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'

import { median, uncertainty } from '../../bench/statistics.mjs'
import { NODE_HTTP, WEIR } from './support/serve-guest.mjs'

const ROUNDS = 15
const TURN_MS = 400
const CONNECTIONS = 16

/** Clients of one server, each of which sends its next request when it has its response. */
class Measured {
  microseconds = []
  #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })

  static async start({ name, file }, host, path) {
    const env = {
      ...process.env,
      NODE_ENV: 'production',
      GUEST_SERVED: name,
      GUEST_HOST: host,
      GUEST_KEEP_BUILDS: '1',
      NODE_TEST_CONTEXT: undefined,
    }
    const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const [{ port }] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error(`${name} ended on ${host}`))),
    ])
    return new Measured(child, port, path)
  }

  constructor(child, port, path) {
    this.child = child
    this.options = {
      host: '127.0.0.1',
      port,
      path,
      agent: this.#agent,
      headers: { 'apollo-require-preflight': 'yes', 'accept-encoding': 'gzip' },
    }
  }

  async #used() {
    this.child.send('used')
    const [{ user, system }] = await once(this.child, 'message')
    return user + system
  }

  /** @param requests how many; with null, as many as end within a turn */
  async turn(requests) {
    const until = performance.now() + TURN_MS
    let sent = 0
    const before = await this.#used()
    const client = async () => {
      while (requests === null ? performance.now() < until : sent < requests) {
        sent++
        const outgoing = request(this.options)
        outgoing.end()
        const [incoming] = await once(outgoing, 'response')
        if (incoming.statusCode !== 200) throw new Error(`${this.options.path}: ${incoming.statusCode}`)
        incoming.resume()
        await once(incoming, 'end')
      }
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, client))
    return { requests: sent, microseconds: ((await this.#used()) - before) / sent }
  }

  stop() {
    this.#agent.destroy()
    this.child.disconnect()
  }
}

/** @returns `{ ratio, uncertainty, microseconds }`, the medians over all rounds, in which both servers answer equally many requests in turn */
export async function measureGuest(row) {
  const servers = []
  try {
    for (const host of [NODE_HTTP, WEIR]) servers.push(await Measured.start(row, host, row.measured))
    let requests = 0
    for (const server of [...servers, ...servers]) ({ requests } = await server.turn(null))
    for (let round = 0; round < ROUNDS; round++) {
      const order = round % 2 === 0 ? servers : servers.toReversed()
      for (const server of order) server.microseconds.push((await server.turn(requests)).microseconds)
    }
    const [base, weir] = servers.map(({ microseconds }) => microseconds)
    const ratios = weir.map((one, i) => one / base[i])
    return { ratio: median(ratios), uncertainty: uncertainty(ratios), microseconds: [median(base), median(weir)] }
  } finally {
    for (const server of servers) server.stop()
  }
}
