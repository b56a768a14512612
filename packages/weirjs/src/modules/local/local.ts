// `local`: starts a server inside a desktop program or tool that only this user's programs and pages may use.

import { systemClock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'
import { count, flag, oneOf, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { isLoopback } from '../../base/this-machine.ts'
import type { HttpServer } from '../../server.ts'
import { guard, listeningPlaces, moveServer } from '../kit/launch.ts'
import { endpointOrigin } from '../launch/endpoint-origin.ts'
import { LaunchTickets } from '../launch/launch-tickets.ts'
import { Door, type DoorSettings, launchUrl } from './door.ts'
import { stateOf } from './handshake.ts'
import { type FoundLocal, isInstanceName, NAME_FORM, readInstance, removeInstance, writeInstance } from './instance-file.ts'
import { instanceFolder, openFolder, thisMachine } from './instance-folder.ts'
import { lockStart } from './start-lock.ts'

export interface LocalOptions {
  /** The name by which other programs find it: at most 64 lower-case letters, digits, `.`, `_` and `-`. */
  readonly name: string
  /** What the page for browsers without the cookie calls it: at most 100 characters without `<`, `>`, `&` and `"`. Default: the name. */
  readonly title?: string
  /** The port to listen on if it is free; otherwise any other. Default: the port of the server's own options. */
  readonly port?: number
  /**
   * What happens if an instance with the name runs. `reuse`: this server does not start, and what `local` returns belongs to the other one.
   * `error`: WEIR_LOCAL_RUNNING. `many`: both run, and `findLocal` finds the newest. Default `reuse`.
   */
  readonly single?: 'reuse' | 'error' | 'many'
  /**
   * True: it may listen on addresses that other machines reach, and a policy of `weirjs/auth` must close it in addition, because the token and the
   * cookie can be read on the way there. Default false.
   */
  readonly exposed?: boolean
}

/** A server that runs: it was started now, or was running already. */
export interface LocalServer {
  /** Scheme, address and port, such as `http://127.0.0.1:4321`. */
  readonly url: string
  readonly port: number
  /** True: another start has this name, `server` was not started, and `stop` does nothing. */
  readonly reused: boolean
  /** A URL that opens the program in one browser: it works once, within ten minutes. */
  newLaunchUrl(): string
  /** Stops the server gracefully, and removes the file. */
  stop(): Promise<void>
}

/** @internal */
export const LOCAL_RULES = rules<LocalOptions>('local')({
  name: text(NAME_FORM, isInstanceName),
  title: text('a text of at most 100 characters without <, >, & and "', (title) => /^[^<>&"]{1,100}$/.test(title)).optional('the name'),
  port: count({ most: 65_535 }).optional("the server's own"),
  single: oneOf('reuse', 'error', 'many').or('reuse'),
  exposed: flag(false),
})

/** The doors of servers: one that is started again keeps its own, with another token. */
const doors = new WeakMap<HttpServer, Door>()

/**
 * Starts the server, closed to everyone but pages that were opened by a launch URL and programs that send the token.
 * @throws (rejects) WEIR_OPTION_INVALID for a wrong option, for a server with `basePath`, for an address that others reach without `exposed`, and for `exposed` without auth;
 * WEIR_LOCAL_RUNNING; WEIR_LOCAL_FILE; what `start` throws
 */
export async function local(server: HttpServer, options: LocalOptions): Promise<LocalServer> {
  const { name, title = name, port, single, exposed } = LOCAL_RULES.read(options)
  if (server.isListening) throw new WeirError('WEIR_SERVER_STATE', 'the server has already been started: leave that to local()')
  checkPlaces(server, exposed)
  const folder = instanceFolder(thisMachine())
  openFolder(folder)
  const unlock = await lockStart(folder, name)
  try {
    const found = single === 'many' ? null : readInstance(folder, name)
    const state = found === null ? 'gone' : await stateOf(found)
    if (found === null || state === 'gone') return await start(server, folder, { name, title, isExposed: exposed }, port)
    // A second instance would replace its file, and perhaps its data.
    if (state === 'silent')
      throw new WeirError(
        'WEIR_LOCAL_RUNNING',
        `${name} runs as process ${found.pid} at ${found.url}, and does not answer: end it, or wait`,
      )
    if (single === 'error') throw new WeirError('WEIR_LOCAL_RUNNING', `${name} runs as process ${found.pid} at ${found.url}`)
    return reusedOf(found)
  } finally {
    unlock()
  }
}

/**
 * Finds the running server of this user with a name. It has proved that it knows the token, so the token may be sent to it.
 * @throws (rejects) WEIR_OPTION_INVALID for what is no name; WEIR_LOCAL_FILE
 */
export async function findLocal(name: string): Promise<FoundLocal | null> {
  if (!isInstanceName(name)) throw invalid('findLocal', `${JSON.stringify(name)} is not ${NAME_FORM}`)
  const found = readInstance(instanceFolder(thisMachine()), name)
  return found !== null && (await stateOf(found)) === 'runs' ? found : null
}

async function start(server: HttpServer, folder: string, settings: DoorSettings, port: number | undefined): Promise<LocalServer> {
  const { name } = settings
  const door = doorOf(server, settings)
  await listen(server, port)
  const { token } = door
  const url = endpointOrigin(server.endpoints.find(({ isUnixSocket }) => !isUnixSocket)!)
  door.url = url
  try {
    writeInstance(folder, name, { url, token, pid: process.pid })
  } catch (error) {
    await server.stop({ grace: 0 })
    throw error
  }
  // Removes the file however the server is stopped. After a crash, the next start replaces it.
  server.stopping.addEventListener('abort', () => removeInstance(folder, name, token), { once: true })
  return {
    url,
    port: portOf(url),
    reused: false,
    newLaunchUrl: () => door.newLaunchUrl(),
    stop: async () => void (await server.stop()),
  }
}

function doorOf(server: HttpServer, settings: DoorSettings): Door {
  let door = doors.get(server)
  if (door === undefined) {
    door = new Door(settings)
    guard(server, door.policy)
    doors.set(server, door)
  } else door.renew(settings)
  return door
}

async function listen(server: HttpServer, port: number | undefined): Promise<void> {
  if (port !== undefined) moveServer(server, { port })
  try {
    await server.start()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (port === undefined || port === 0 || (code !== 'EADDRINUSE' && code !== 'EACCES')) throw error
    moveServer(server, { port: 0 })
    await server.start()
  }
}

/** @throws WEIR_OPTION_INVALID */
function checkPlaces(server: HttpServer, isExposed: boolean): void {
  const { places, isBelowPath } = listeningPlaces(server)
  if (isBelowPath)
    throw invalid('local', 'the server has a basePath, and launch URLs and programs find a local server at the root: leave it out')
  if (places.every(({ unixSocket }) => unixSocket !== undefined))
    throw invalid('local', 'the server listens on a Unix socket, which no browser can open: give it a port')
  if (places.some(({ http2 }) => http2 === 'cleartext'))
    throw invalid('local', "http2 is 'cleartext', which no browser speaks: leave it out")
  if (isExposed) return
  for (const { unixSocket, address = '127.0.0.1', fd } of places)
    if (unixSocket === undefined && (fd !== undefined || !(isLoopback(address) || address.toLowerCase() === 'localhost')))
      throw invalid(
        'local',
        `${fd === undefined ? address : 'an inherited socket'} can be reached by others: listen on 127.0.0.1, or set exposed: true and use auth`,
      )
}

function reusedOf(found: FoundLocal): LocalServer {
  const { url, token } = found
  return {
    url,
    port: portOf(url),
    reused: true,
    newLaunchUrl: () => launchUrl(url, LaunchTickets.sign(token, systemClock.wallTime())),
    async stop() {},
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port || (url.startsWith('https:') ? 443 : 80))
}
