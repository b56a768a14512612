// The endpoints of HttpArena's profiles. Paths and ports are the board's; the variables that move them are for tests.
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

import { HttpServer, t } from 'weirjs'
import { compression } from 'weirjs/compression'
import { staticFiles } from 'weirjs/static'
import { websocket } from 'weirjs/websocket'

const { env } = process
const DATA = env.DATA_DIR ?? '/data'
const CERTIFICATES = env.CERTS_DIR ?? '/certs'
/** Replaced while the server runs, for the checks of `tls_check`. */
const RENEWED_CERTIFICATES = env.RENEWED_CERTS_DIR ?? '/certs-tls'
const RENEWAL_CHECK_MS = 5000

/** @param {{ workers: number, reusePort: boolean }} place */
export async function createApp({ workers, reusePort }) {
  const at = (variable, port) => ({ address: env.ADDRESS ?? '0.0.0.0', port: Number(env[variable] ?? port), reusePort })
  const listen = [at('PORT', 8080), { ...at('H2C_PORT', 8082), http2: 'cleartext' }]
  if (existsSync(CERTIFICATES)) {
    const tls = certificateIn(CERTIFICATES)
    listen.push({ ...at('TLS_PORT', 8081), tls }, { ...at('H2_PORT', 8443), tls, http2: true })
  }
  const renewed = existsSync(RENEWED_CERTIFICATES) ? renewedCertificate() : null
  if (renewed !== null) listen.push({ ...at('RENEWED_PORT', 9000), tls: renewed.tls })

  const server = new HttpServer({ listen })
  server.use(compression())
  if (existsSync(`${DATA}/static`)) server.use(staticFiles({ root: `${DATA}/static`, prefix: '/static', precompressed: true }))
  server.use(websocket('/ws', { message: (socket, data) => void socket.send(data) }))

  const sum = { a: t.int, b: t.int }
  server.mapGet('/baseline11', sum, ({ a, b }) => String(a + b))
  server.mapPost('/baseline11', { ...sum, body: 'buffer' }, ({ a, b }, { request, response }) => {
    const c = request.body.trim()
    return /^-?\d{1,15}$/.test(c) ? String(a + b + Number(c)) : response.status(400).text('the body is not a whole number')
  })
  server.mapGet('/baseline2', sum, ({ a, b }) => String(a + b))
  server.mapGet('/pipeline', () => 'ok')
  server.mapGet('/delay/:ms', { ms: t.int.min(0).max(60_000) }, async ({ ms }) => {
    await pause(ms)
    return String(ms)
  })
  server.mapPost('/echo', { body: 'buffer' }, (_, { request, response }) => response.body(request.bodyBytes, 'application/octet-stream'))
  if (existsSync(`${DATA}/dataset.json`)) mapItems(server, JSON.parse(readFileSync(`${DATA}/dataset.json`, 'utf8')))
  let database = null
  if (env.DATABASE_URL !== undefined) {
    const { mapDatabase } = await import('./database.mjs')
    database = await mapDatabase(server, { url: env.DATABASE_URL, connections: Number(env.DATABASE_MAX_CONN ?? 256) / workers })
  }
  renewed?.watch(server, listen.length - 1)
  return { server, close: async () => void (await database?.end()) }
}

function mapItems(server, dataset) {
  server.mapGet('/json/:count', { count: t.int.min(0), m: t.int.default(1) }, ({ count, m }) => {
    const items = dataset.slice(0, count).map(({ id, name, category, price, quantity, active, tags, rating }) => {
      return { id, name, category, price, quantity, active, tags, rating, total: price * quantity * m }
    })
    return { items, count: items.length }
  })
}

function certificateIn(folder) {
  return { key: readFileSync(`${folder}/server.key`), cert: readFileSync(`${folder}/server.crt`) }
}

/** A certificate that is read again when its file has changed. */
function renewedCertificate() {
  const tls = certificateIn(RENEWED_CERTIFICATES)
  let { cert } = tls
  return {
    tls,
    watch(server, endpoint) {
      const check = () => {
        try {
          const next = certificateIn(RENEWED_CERTIFICATES)
          if (next.cert.equals(cert)) return
          server.reloadTls(next, endpoint)
          cert = next.cert
        } catch {} // one of the two files is not replaced yet: the next check has both
      }
      setInterval(check, RENEWAL_CHECK_MS).unref()
    },
  }
}
