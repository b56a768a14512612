// The listening sockets of `weir dev`: the command binds and keeps them, and accepts nothing. Connections wait in the system's queue while no
// program takes them.
//
// Node documents no way to bind a socket without accepting its connections. `node:cluster` does it with the function used here, which is
// undocumented but has been there since Node 0.x. Without it, programs open their sockets themselves.

import { lookup } from 'node:dns/promises'
import { chmodSync } from 'node:fs'
import * as net from 'node:net'
import { constants } from 'node:os'
import { getSystemErrorMap } from 'node:util'

import { dev } from 'weirjs/kit'

import type { PassedSocket, Place } from './messages.ts'
import { placeKey } from './place-key.ts'

interface Handle {
  /** -1 where the system has no descriptors. */
  readonly fd: number
  getsockname?(into: { port?: number }): number
  close(): void
}

/** @returns the handle, or a negative error number */
type CreateHandle = (address: string, port: number, family: 4 | 6 | -1, fd: undefined, flags: number) => Handle | number

interface Held {
  readonly key: string
  readonly handle: Handle
  /** Whether a program has been started with it: then it listens. */
  listens: boolean
}

const createHandle = (net as unknown as { readonly _createServerHandle?: CreateHandle })._createServerHandle

/** The number of a program's first descriptor after stdin, stdout and stderr. */
const FIRST = 3

export class HeldSockets {
  readonly #held: Held[] = []
  #inherited = 0

  /** Whether sockets can be passed to programs here. */
  static readonly isPossible = process.platform !== 'win32' && typeof createHandle === 'function'

  /** How many of them, the first ones, are for `listen: 'inherited'`. */
  get inherited(): number {
    return this.#inherited
  }

  /** Opens sockets for a program with `listen: 'inherited'`. Call it first. @throws the system's error */
  async openInherited(places: readonly Place[]): Promise<void> {
    const seen = new Map<string, number>()
    for (const place of places) await this.open(`inherited ${placeKey(place, seen)}`, place)
    this.#inherited = places.length
  }

  /** @throws the system's error */
  async open(key: string, place: Place): Promise<void> {
    this.#held.push({ key, handle: 'unixSocket' in place ? await bindPath(place) : await bindPort(place), listens: false })
  }

  /** The descriptors of a program's `stdio`, from the fourth on, and what the program is told about them. */
  passed(): { readonly sockets: readonly PassedSocket[]; readonly descriptors: readonly number[] } {
    const descriptors = this.#held.map(({ handle }) => handle.fd)
    const sockets = this.#held.map(({ key, handle, listens }, i): PassedSocket => {
      if (!listens) descriptors.push(handle.fd)
      return { key, fd: FIRST + i, listenBy: listens ? null : FIRST + descriptors.length - 1 }
    })
    return { sockets, descriptors }
  }

  /** A program has been started with what `passed` returned. */
  markListening(): void {
    for (const held of this.#held) held.listens = true
  }

  close(): void {
    for (const { handle } of this.#held.splice(0)) handle.close()
  }
}

async function bindPort({ address, port }: Extract<Place, { readonly port: number }>): Promise<Handle> {
  const isLiteral = net.isIP(address) !== 0
  const found = isLiteral ? { address, family: net.isIP(address) } : await lookup(address)
  const handle = createHandle!(found.address, port, found.family === 6 ? 6 : 4, undefined, 0)
  if (typeof handle === 'number') throw systemError(handle, `${address}:${port}`)
  // A bind to a port in use is not reported until the socket listens, and it would then listen on another port.
  const bound: { port?: number } = {}
  const failure = handle.getsockname?.(bound) ?? 0
  if (failure === 0 && (port === 0 || bound.port === port)) return handle
  handle.close()
  throw systemError(failure === 0 ? -constants.errno.EADDRINUSE : failure, `${address}:${port}`)
}

async function bindPath({ unixSocket, mode }: Extract<Place, { readonly unixSocket: string }>): Promise<Handle> {
  let handle = createHandle!(unixSocket, -1, -1, undefined, 0)
  if (typeof handle === 'number' && (await dev.removeStale(unixSocket))) handle = createHandle!(unixSocket, -1, -1, undefined, 0)
  if (typeof handle === 'number') throw systemError(handle, unixSocket)
  if (mode !== null) chmodSync(unixSocket, mode) // before the program's event loop accepts a connection
  return handle
}

function systemError(number: number, where: string): Error {
  const [name = String(number), text = 'unknown error'] = getSystemErrorMap().get(number) ?? []
  return Object.assign(new Error(`cannot listen on ${where}: ${name}, ${text}`), { code: name })
}
