// A PostgreSQL cluster on loopback for one run, with the tables of HttpArena's profiles: 100,000 items without an index on the price, and 200
// fortunes. The rows are our own; their number, types and ranges are the board's.
import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { seededNumbers } from '../message.mjs'
import { ITEMS } from './items.mjs'

const ROWS = 100_000
const FORTUNES = 200
const PATIENCE_MS = 20_000
const MAX_CONNECTIONS = 256
const INSTALLED = '/usr/lib/postgresql'

/** The folder with initdb, postgres and psql; undefined if there is none. */
function programs() {
  const folders = (process.env.PATH ?? '').split(delimiter)
  if (existsSync(INSTALLED)) folders.push(...readdirSync(INSTALLED).map((version) => join(INSTALLED, version, 'bin')))
  return folders.find((folder) => ['initdb', 'postgres', 'psql'].every((name) => existsSync(join(folder, name))))
}

/** PostgreSQL refuses to run as root. */
function otherUser() {
  if (process.getuid?.() !== 0) return null
  for (const name of ['postgres', 'nobody'])
    try {
      const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' })))
      return { uid, gid }
    } catch {}
  throw new Error('no user other than root to run PostgreSQL')
}

/** @param {number} port @returns {Promise<{ url: string, version: string, stop(): Promise<void> } | { skipped: string }>} */
export async function startPostgres(port) {
  const bin = programs()
  if (bin === undefined) return { skipped: 'PostgreSQL (initdb, postgres, psql) is not installed' }
  const user = otherUser()
  const folder = mkdtempSync(join(tmpdir(), 'weir-arena-pg-'))
  if (user !== null) chownSync(folder, user.uid, user.gid)
  const how = { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } }
  const data = join(folder, 'data')
  mkdirSync(join(folder, 'socket'))
  if (user !== null) chownSync(join(folder, 'socket'), user.uid, user.gid)
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'bench', '--auth=trust', '--no-sync', '-E', 'UTF8'], how)
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: join(folder, 'socket'),
    max_connections: MAX_CONNECTIONS,
  }
  const options = Object.entries({ ...settings, fsync: 'off' }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...options], { ...how, stdio: 'ignore' })
  const kill = () => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.on('exit', kill)
  const psql = (database, input) =>
    execFileSync(
      join(bin, 'psql'),
      ['-h', '127.0.0.1', '-p', String(port), '-U', 'bench', '-d', database, '-v', 'ON_ERROR_STOP=1', '-qAt', '-f', '-'],
      { ...how, stdio: ['pipe', 'pipe', 'pipe'], input, encoding: 'utf8' },
    )
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      psql('postgres', 'CREATE DATABASE benchmark;')
      break
    } catch (error) {
      if (server.exitCode !== null || performance.now() > until) throw error
      await pause(100)
    }
  }
  psql('benchmark', seed())
  return {
    url: `postgres://bench:bench@127.0.0.1:${port}/benchmark`,
    version: psql('benchmark', 'SHOW server_version;').trim(),
    async stop() {
      const gone = new Promise((resolve) => server.once('exit', resolve))
      server.kill('SIGINT')
      await gone
      process.off('exit', kill)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function seed() {
  const below = seededNumbers(0x9d)
  const tags = [...new Set(ITEMS.flatMap((item) => item.tags))]
  const tagsOf = () => JSON.stringify(Array.from({ length: 1 + below(4) }, () => tags[below(tags.length)]))
  const row = (_, i) => {
    const { name, category } = ITEMS[i % ITEMS.length]
    const numbers = [1 + below(500), 1 + below(1000), below(2) === 0 ? 't' : 'f']
    return [i + 1, `${name} ${i + 1}`, category, ...numbers, tagsOf(), 1 + below(50), 1 + below(500)].join('\t')
  }
  return `CREATE TABLE items (id integer PRIMARY KEY, name text NOT NULL, category text NOT NULL, price integer NOT NULL, quantity integer NOT NULL,
    active boolean NOT NULL, tags jsonb NOT NULL, rating_score integer NOT NULL, rating_count integer NOT NULL);
COPY items FROM STDIN;
${Array.from({ length: ROWS }, row).join('\n')}
\\.
CREATE TABLE fortune (id integer PRIMARY KEY, message text NOT NULL);
COPY fortune FROM STDIN;
${fortunes()
  .map(({ id, message }) => `${id}\t${message}`)
  .join('\n')}
\\.
ANALYZE;
`
}

/** Row 11 is a script, row 12 has other letters, and every one has characters that HTML must escape. */
export function fortunes() {
  const below = seededNumbers(0xf0)
  const subjects = ['A patch', 'The cache', 'Every timeout', 'The last release', 'A second index', 'The load balancer', 'Nobody']
  const verbs = ['forgets', 'remembers', 'outlives', 'explains', 'retries', 'forgives']
  const objects = ["the user's patience", 'yesterday & tomorrow', 'a "temporary" fix', "the team's plan", 'what was measured']
  const pick = (list) => list[below(list.length)]
  return Array.from({ length: FORTUNES }, (_, i) => {
    const id = i + 1
    if (id === 11) return { id, message: '<script>alert("a fortune that runs is a bug");</script>' }
    if (id === 12) return { id, message: 'フレームワークの測定' }
    return { id, message: `${pick(subjects)} ${pick(verbs)} ${pick(objects)} — "it's" no. ${id} & counting` }
  })
}
