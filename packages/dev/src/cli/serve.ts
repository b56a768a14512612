// Runs in the process of a program that `weir dev` has started: gives its servers the sockets that the command holds, and stops them when the
// command says so.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

import type { Endpoint, HttpServer, ListenOptions } from 'weirjs'
import { dev, launch } from 'weirjs/kit'

import { exportedServer } from './exported-server.ts'
import type { Command, Link, News, Order, Place } from './messages.ts'
import { PageReload } from './page-reload.ts'
import { placeKey } from './place-key.ts'
import { routeLabel } from './route-facts.ts'

type ServeOrder = Extract<Order, { readonly task: 'serve' }>

/** How many connections the system keeps waiting while the program restarts. Systems have a limit of their own. */
const BACKLOG = 4096
/** How long a program may clean up when its servers have stopped. */
const CLEAN_UP_MS = 100

/** Prepares the process. Resolves when the command lets the program begin: the process of the next run is started in advance. */
export async function serveProgram(order: ServeOrder): Promise<void> {
  const { file, exportName, inherited, holdsSockets } = order
  const passed = new Map(order.sockets.map((socket) => [socket.key, socket.fd]))
  for (const { listenBy } of order.sockets) if (listenBy !== null) listenOnce(listenBy)
  if (inherited > 0) Object.assign(process.env, { LISTEN_FDS: String(inherited), LISTEN_PID: String(process.pid) })
  const certificate = order.tls === null ? null : { key: readFileSync(order.tls.key), cert: readFileSync(order.tls.cert) }
  /** The servers with their routes, as far as these are shown. */
  const servers = new Map<HttpServer, readonly string[]>()
  const links: Link[] = []
  const pages = new PageReload()
  const seen = new Map<string, number>()
  let hasStarted = false
  let lacksSockets = false
  let takesInherited = false

  dev.replaceStart(async (server, places, listen) => {
    hasStarted = true
    const wanted = places().map((options) => ({ options, place: placeOf(options) }))
    const named = wanted.map((one) => ({ ...one, key: one.place === null ? null : placeKey(one.place, seen) }))
    const missing = holdsSockets ? named.flatMap(({ key, place }) => (key === null || passed.has(key) ? [] : [{ key, place: place! }])) : []
    if (missing.length > 0) {
      lacksSockets = true
      process.channel?.ref() // `stop` ends it: newer Nodes print a warning when a process ends while its program awaits something
      say({ weir: 'places', places: missing })
      return new Promise(() => {}) // the command starts this program again, with these sockets
    }
    const routes = servers.get(server) ?? server.routes.map(routeLabel)
    if (!servers.has(server)) pages.install(server)
    await listen(
      named.map(({ options, key }) => withTls(withSocket(options, key === null ? undefined : passed.get(key)), options, certificate)),
    )
    servers.set(server, routes)
    if (named.some(({ key }) => key === null)) takesInherited = true
    say({
      weir: 'listening',
      urls: [...servers.keys()].flatMap(({ endpoints, basePath }) => endpoints.map((one) => urlOf(one, basePath))),
      routes: [...servers.values()].flat(),
      links,
      takesInherited,
    })
  }, true)

  // Ctrl+C reaches the whole process group. The command decides what it means.
  process.on('SIGINT', () => {})
  process.on('disconnect', () => process.exit(1))
  const begun = new Promise<void>((begin) => {
    process.on('message', (message: Command | null) => {
      if (message?.weir === 'begin') {
        launch.setLaunchHost({ token: message.token, tell: (name, url) => void links.push({ name, url }) })
        begin()
      } else if (message?.weir === 'reload') pages.reload()
      else if (message?.weir === 'stop') {
        if (lacksSockets) process.exit(0)
        void stopAll(servers.keys(), message.graceMs)
      }
    })
  })
  await begun
  process.channel?.unref()
  void startExported(file, exportName, () => hasStarted)
}

/** Starts the server that the file exports, unless the program starts one itself. */
async function startExported(file: string, exportName: string | null, hasStarted: () => boolean): Promise<void> {
  await setImmediate()
  try {
    await import(pathToFileURL(file).href)
  } catch {
    return // Node reports it
  }
  if (hasStarted()) return
  try {
    const server = await exportedServer(file, exportName)
    if (server !== null && !hasStarted()) await server.start()
  } catch (error) {
    console.error(`weir: ${file}:`, error)
    process.exit(1)
  }
}

async function stopAll(servers: Iterable<HttpServer>, graceMs: number): Promise<void> {
  await Promise.allSettled([...servers].map((server) => server.stop({ graceMs })))
  setTimeout(() => process.exit(0), CLEAN_UP_MS).unref()
}

function say(news: News): void {
  if (process.connected) process.send!(news)
}

/** Makes a bound socket listen. The server that does so is closed before the event loop could accept a connection. */
function listenOnce(fd: number): void {
  const server = createServer().on('error', (error) => console.error('weir:', error.message))
  server.listen({ fd, backlog: BACKLOG })
  server.close()
}

/** Null for a socket that the program has inherited. */
function placeOf(options: ListenOptions): Place | null {
  if (options.fd !== undefined) return null
  if (options.unixSocket !== undefined) return { unixSocket: options.unixSocket, mode: options.mode ?? null }
  return { address: options.address ?? '127.0.0.1', port: options.port ?? 0 }
}

function withSocket(options: ListenOptions, fd: number | undefined): ListenOptions {
  if (fd === undefined) return options
  const { name, tls, http2, proxyProtocol, hosts } = options
  const common = {
    ...(name === undefined ? {} : { name }),
    ...(tls === undefined ? {} : { tls }),
    ...(hosts === undefined ? {} : { hosts }),
  }
  return { fd, ...common, ...(http2 === undefined ? {} : { http2 }), ...(proxyProtocol === undefined ? {} : { proxyProtocol }) }
}

/** An endpoint on a port without a certificate gets the certificate of `--tls`. @param given what the program has stated for it */
function withTls(
  options: ListenOptions,
  given: ListenOptions,
  certificate: { readonly key: Buffer; readonly cert: Buffer } | null,
): ListenOptions {
  if (certificate === null || given.tls !== undefined || given.unixSocket !== undefined || given.http2 === 'cleartext') return options
  return { ...options, tls: certificate }
}

function urlOf({ address, port, isSecure, isUnixSocket }: Endpoint, basePath: string): string {
  if (isUnixSocket) return address
  return `${isSecure ? 'https' : 'http'}://${address.includes(':') ? `[${address}]` : address}:${port}${basePath}`
}
