// Where the servers of a run live: the data, the certificates and the ports that HttpArena gives an entry, in a folder of their own.
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import * as bun from '../bun.mjs'
import { onCore, SERVER_CORE } from '../machine.mjs'
import { FILES, keepSite } from '../site.mjs'
import { ITEMS } from './items.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PEERS = fileURLToPath(new URL('peers', import.meta.url))
const PATIENCE_MS = 20_000

export const SERVERS = ['node', 'weir', 'fastify', 'bun']
export { FILES, ITEMS }

/** The folder of a run, removed when this process exits. */
export function prepare() {
  const folder = mkdtempSync(join(tmpdir(), 'weir-arena-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['data', 'certs', 'certs-tls', 'entry']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'data/dataset.json'), JSON.stringify(ITEMS))
  cpSync(keepSite(), join(folder, 'data/static'), { recursive: true, preserveTimestamps: true })
  newCertificate(join(folder, 'certs'))
  newCertificate(join(folder, 'certs-tls'))
  stage(join(folder, 'entry'))
  return folder
}

/** RSA with 2,048 bits, as the board's. Each handshake costs a signature with it. */
export function newCertificate(folder) {
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  const files = ['-keyout', join(folder, 'next.key'), '-out', join(folder, 'next.crt')]
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '365', ...files, ...names], { stdio: 'ignore' })
  for (const kind of ['key', 'crt']) execFileSync('mv', ['-f', join(folder, `next.${kind}`), join(folder, `server.${kind}`)])
}

/** The entry with the packages of its package.json, and the build of this tree as weir. */
export function stage(folder) {
  cpSync(fileURLToPath(new URL('entry', import.meta.url)), folder, { recursive: true })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(ROOT, 'packages/weirjs'), join(folder, 'node_modules/weirjs'))
  for (const name of ['pg', 'eta']) symlinkSync(join(ROOT, 'bench/node_modules', name), join(folder, 'node_modules', name))
}

/** Why a server does not run here; undefined if it does. */
export const missing = (name) => (name === 'bun' ? bun.missing : undefined)

const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

/**
 * Starts a server, pinned to the core of servers unless `pinning` is false.
 * @param {{ name: string, folder: string, database?: string, workers?: number, pinning: boolean, node?: string, flags?: string[], env?: object }} how
 */
export async function start({ name, folder, database, workers = 1, pinning, node = process.execPath, flags = [], env = {} }) {
  const ports = { plain: await freePort(), tls: await freePort(), h2c: await freePort(), h2: await freePort(), renewed: await freePort() }
  const program = name === 'weir' ? join(folder, 'entry/server.mjs') : join(PEERS, `${name}.mjs`)
  const run = onCore(pinning, SERVER_CORE, name === 'bun' ? bun.runtime : node, [...(name === 'bun' ? [] : flags), program])
  const child = spawn(run.command, run.args, {
    cwd: name === 'weir' ? join(folder, 'entry') : PEERS,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      ...{ NODE_ENV: 'production', ADDRESS: '127.0.0.1', WORKERS: String(workers) },
      ...{ PORT: ports.plain, TLS_PORT: ports.tls, H2C_PORT: ports.h2c, H2_PORT: ports.h2, RENEWED_PORT: ports.renewed },
      ...{ DATA_DIR: join(folder, 'data'), CERTS_DIR: join(folder, 'certs'), RENEWED_CERTS_DIR: join(folder, 'certs-tls') },
      ...(database !== undefined && { DATABASE_URL: database, DATABASE_MAX_CONN: '256' }),
      ...env,
    },
  })
  running.add(child)
  child.on('exit', () => running.delete(child))
  const needed = name === 'bun' ? [ports.plain, ports.tls] : [ports.plain, ports.tls, ports.h2c, ports.h2]
  const until = performance.now() + PATIENCE_MS
  for (const port of needed)
    while (!(await accepts(port))) {
      if (child.exitCode !== null || performance.now() > until) throw new Error(`${name} does not listen`)
      await pause(20)
    }
  return {
    name,
    ports,
    pid: child.pid,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      const impatient = setTimeout(() => child.kill('SIGKILL'), 3000)
      await gone
      clearTimeout(impatient)
    },
  }
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
