// The two profiles with PostgreSQL: rows as JSON, and rows as a page.
import { fileURLToPath } from 'node:url'

import { Eta } from 'eta'
import pg from 'pg'
import { t } from 'weirjs'

const RANGE = {
  name: 'range',
  text: 'SELECT id, name, category, price, quantity, active, tags, rating_score, rating_count FROM items WHERE price BETWEEN $1 AND $2 LIMIT $3',
}
const FORTUNES = { name: 'fortunes', text: 'SELECT id, message FROM fortune' }
const ADDED = { id: 0, message: 'Additional fortune added at request time.' }

/** @param {import('weirjs').HttpServer} server @param {{ url: string, connections: number }} options @returns the pool */
export function mapDatabase(server, { url, connections }) {
  const pool = new pg.Pool({ connectionString: url, max: Math.max(1, Math.floor(connections)) })
  pool.on('error', () => {}) // an idle connection broke: the pool opens another one
  /** No rows while the database cannot be reached, as the board requires. */
  const rowsOf = async (query, values) => {
    try {
      return (await pool.query({ ...query, values })).rows
    } catch {
      return []
    }
  }

  const range = { min: t.int.default(10), max: t.int.default(50), limit: t.int.default(50) }
  server.mapGet('/async-db', range, async ({ min, max, limit }) => {
    const rows = await rowsOf(RANGE, [min, max, Math.min(50, Math.max(1, limit))])
    const items = rows.map(({ rating_score: score, rating_count: count, ...item }) => ({ ...item, rating: { score, count } }))
    return { items, count: items.length }
  })

  const eta = new Eta({ views: fileURLToPath(new URL('views', import.meta.url)), cache: true })
  server.mapGet('/fortunes', async (_, { response }) => {
    const fortunes = [...(await rowsOf(FORTUNES)), ADDED]
    fortunes.sort((one, other) => (one.message < other.message ? -1 : 1))
    return response.html(eta.render('fortunes', { fortunes }))
  })
  return pool
}
