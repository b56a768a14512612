// `weirjs/local`: a server that only the programs and pages of its user may use.

import { count, flag, forTests, oneOf, readBy } from '../../base/option-kinds.ts'
import { type HttpServer, WeirError } from '../../index.ts'
import { accessOf } from '../auth/plan.ts'
import { invalid, rules } from '../kit/index.ts'
import { guard, isLoopback, moveServer } from '../kit/launch.ts'
import { findRecord } from './find-local.ts'
import { alone, fileIn, type LocalRecord, removeRecord, writeRecord } from './local-file.ts'
import { LocalGate, launchUrl } from './local-gate.ts'
import { checkName } from './local-name.ts'
import { closedFolder, type LocalEnvironment, thisEnvironment } from './local-place.ts'

export interface LocalOptions {
  /** Of the program: up to 40 lower-case letters, digits and `-`. Other programs of the user find it by this name. */
  readonly name: string
  /** The port to listen on if it is free. Default: that of the server if it has set one, otherwise any free one. */
  readonly port?: number
  /**
   * What becomes of a second start while the program runs: `reuse` returns the running one, `error` throws, `many` starts another one. Default
   * `reuse`.
   */
  readonly single?: 'reuse' | 'error' | 'many'
  /** Whether an address that other machines reach is meant. `auth` must then close every route, in addition. Default false. */
  readonly exposed?: boolean
  /** For tests. */
  readonly environment?: LocalEnvironment
}

/** A server that runs: this one or, with `single: 'reuse'`, that of another process. */
export interface LocalServer {
  /** Such as `http://127.0.0.1:4000`. */
  readonly url: string
  readonly port: number
  /** Whether it is that of another process, so that the given server was not started. */
  readonly isReused: boolean
  /**
   * A link that signs a browser in, once and within 15 minutes. Open it, or print it.
   * @param path of the page to open, with its query. Default `/`
   */
  newLaunchUrl(path?: string): string
  /** Stops the server gracefully. Does nothing for that of another process. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const OWNER = 'local()'
/** @internal */
export const LOCAL_RULES = rules<LocalOptions>(OWNER)({
  name: readBy((name: string, owner: string) => checkName(owner, name)),
  port: count({ most: 65_535 }).optional('any'),
  single: oneOf('reuse', 'error', 'many').or('reuse'),
  exposed: flag(false),
  environment: forTests(),
})

/**
 * Starts a server for its user alone. A browser gets in with a link of `newLaunchUrl`, other programs of the same user with the token that
 * `findLocal` returns. Everything else is 401, before any route, file, WebSocket or mounted application. Call it in place of `start`.
 *
 * @throws (rejects) WEIR_OPTION_INVALID, also for an address that other machines reach, unless `exposed` is set and `auth` closes all routes;
 * WEIR_LOCAL_RUNNING with `single: 'error'`; WEIR_LOCAL_FOLDER; what `start` throws
 */
export async function local(server: HttpServer, options: LocalOptions): Promise<LocalServer> {
  const { name, port, single, exposed, environment: given } = LOCAL_RULES.read(options)
  if (server.isListening) throw new WeirError('WEIR_SERVER_STATE', `${OWNER} starts the server itself: do not call start`)
  const environment = (given as LocalEnvironment | undefined) ?? thisEnvironment()
  checkReach(server, server.address === '' ? [] : [server.address], exposed)
  const path = fileIn(closedFolder(environment), name)
  return alone(path, async () => {
    const running = single === 'many' ? null : await findRecord(path, environment)
    if (running !== null && single === 'error')
      throw new WeirError('WEIR_LOCAL_RUNNING', `${name} runs at ${running.url}, as process ${running.pid}`)
    if (running !== null) return handleOf(running, true, async () => {})
    const gate = new LocalGate(name, exposed)
    guard(server, 'local', gate.check)
    await startAt(server, port)
    server.observe({ end() {}, stopped: () => removeRecord(path, gate.instance, environment) })
    try {
      checkReach(
        server,
        server.endpoints.map(({ address }) => address),
        exposed,
      )
      const record = { url: urlOf(server), token: gate.token, pid: process.pid, instance: gate.instance }
      writeRecord(path, record)
      return handleOf(record, false, async () => void (await server.stop()))
    } catch (error) {
      await server.stop({ grace: 0 })
      throw error
    }
  })
}

function handleOf(record: LocalRecord, isReused: boolean, stop: () => Promise<void>): LocalServer {
  const { url } = record
  return {
    url,
    port: Number(new URL(url).port),
    isReused,
    newLaunchUrl: (path = '/') => launchUrl(record, path),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** @throws WEIR_OPTION_INVALID */
function checkReach(server: HttpServer, addresses: readonly string[], isExposed: boolean): void {
  const open = addresses.find((address) => !isLoopback(address) && address !== 'localhost' && !address.includes('/'))
  if (open === undefined) return
  const how = 'use 127.0.0.1, or set { exposed: true } and close all routes with auth'
  if (!isExposed) throw invalid(OWNER, `the server is at ${open}, which other machines reach: ${how}`)
  const route = server.routes.find(({ policies }) => accessOf(policies.map(({ description }) => description)) === null)
  if (route !== undefined || server.routes.length === 0)
    throw invalid(OWNER, `the server is at ${open}, which other machines reach, and no auth closes ${route?.path ?? 'it'}: ${how}`)
}

const UNAVAILABLE: ReadonlySet<unknown> = new Set(['EADDRINUSE', 'EACCES'])

async function startAt(server: HttpServer, port: number | undefined): Promise<void> {
  if (port !== undefined) moveServer(server, { port })
  try {
    await server.start()
  } catch (error) {
    if (!UNAVAILABLE.has((error as NodeJS.ErrnoException).code)) throw error
    moveServer(server, { port: 0 })
    await server.start()
  }
}

/** @throws WEIR_OPTION_INVALID for a server without a port */
function urlOf({ endpoints }: HttpServer): string {
  const endpoint = endpoints.find(({ port }) => port > 0)
  if (endpoint === undefined) throw invalid(OWNER, 'the server listens at a Unix socket alone, which browsers cannot open')
  const { address, port, isSecure } = endpoint
  return `${isSecure ? 'https' : 'http'}://${address.includes(':') && address !== '::' ? '[::1]' : '127.0.0.1'}:${port}`
}
