// What the peers have in common: where they listen, what they send, and how they share the cores. None of it is about HTTP.
import cluster from 'node:cluster'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const { env } = process
const DATA = env.DATA_DIR

export const ADDRESS = env.ADDRESS
export const PORTS = { plain: Number(env.PORT), tls: Number(env.TLS_PORT), h2: Number(env.H2_PORT), h2c: Number(env.H2C_PORT) }
export const TLS = { key: readFileSync(`${env.CERTS_DIR}/server.key`), cert: readFileSync(`${env.CERTS_DIR}/server.crt`) }
export const STATIC = `${DATA}/static`
export const MAX_BODY = 1024 * 1024
export const MAX_DELAY_MS = 60_000

const dataset = JSON.parse(readFileSync(`${DATA}/dataset.json`, 'utf8'))

/** What `/json/:count?m=` responds with, made anew each time. */
export function firstItems(count, m) {
  const items = dataset.slice(0, count).map(({ id, name, category, price, quantity, active, tags, rating }) => {
    return { id, name, category, price, quantity, active, tags, rating, total: price * quantity * m }
  })
  return { items, count: items.length }
}

const INTEGER = /^-?\d{1,15}$/
/** The number, or null. @param {string | null | undefined} text @param {number | null} fallback for no text */
export function integerOf(text, fallback = null) {
  if (text === undefined || text === null) return fallback
  return INTEGER.test(text) ? Number(text) : null
}

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  html: 'text/html; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
  webp: 'image/webp',
  woff2: 'font/woff2',
}

/** The names below /static/ with their types, and the codings in which each is there. The content is read for every response. */
export function staticNames() {
  const all = readdirSync(STATIC)
  const names = all.filter((name) => !/\.(br|gz)$/.test(name))
  return new Map(
    names.map((name) => [
      name,
      { type: TYPES[name.split('.').pop()], hasBrotli: all.includes(`${name}.br`), hasGzip: all.includes(`${name}.gz`) },
    ]),
  )
}

/** Which version of a file to send. @param {string | null | undefined} accepted */
export function versionOf({ hasBrotli, hasGzip }, accepted) {
  if (hasBrotli && accepted?.includes('br')) return { suffix: '.br', coding: 'br' }
  if (hasGzip && accepted?.includes('gzip')) return { suffix: '.gz', coding: 'gzip' }
  return { suffix: '', coding: null }
}

const ADDED = { id: 0, message: 'Additional fortune added at request time.' }
const RANGE =
  'SELECT id, name, category, price, quantity, active, tags, rating_score, rating_count FROM items WHERE price BETWEEN $1 AND $2 LIMIT $3'

/** The functions with which the endpoints of the database respond; null if there is none. */
export async function openDatabase() {
  if (env.DATABASE_URL === undefined) return null
  const { default: pg } = await import('pg')
  const { Eta } = await import('eta')
  const max = Math.max(1, Math.floor(Number(env.DATABASE_MAX_CONN ?? 256) / Number(env.WORKERS ?? 1)))
  const pool = new pg.Pool({ connectionString: env.DATABASE_URL, max })
  pool.on('error', () => {})
  const eta = new Eta({ views: fileURLToPath(new URL('../entry/views', import.meta.url)), cache: true })
  const rowsOf = async (query) => {
    try {
      return (await pool.query(query)).rows
    } catch {
      return []
    }
  }
  return {
    async range(min, max, limit) {
      const rows = await rowsOf({ name: 'range', text: RANGE, values: [min, max, Math.min(50, Math.max(1, limit))] })
      const items = rows.map(({ rating_score: score, rating_count: count, ...item }) => ({ ...item, rating: { score, count } }))
      return { items, count: items.length }
    },
    async fortunes() {
      const fortunes = [...(await rowsOf({ name: 'fortunes', text: 'SELECT id, message FROM fortune' })), ADDED]
      fortunes.sort((one, other) => (one.message < other.message ? -1 : 1))
      return eta.render('fortunes', { fortunes })
    },
  }
}

/** Calls `serve` in so many processes as `WORKERS` says. */
export async function inWorkers(serve) {
  const workers = Number(env.WORKERS ?? 1)
  if (workers === 1 || !cluster.isPrimary) {
    await serve()
    if (workers === 1) process.on('SIGTERM', () => process.exit())
    return
  }
  for (let i = 0; i < workers; i++) cluster.fork()
  process.on('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGKILL')
    process.exit()
  })
}
