// Adds the members of a Node socket that code uses to the socket of another protocol: addresses, counters, timeout and ends.
//
// The socket itself is a Duplex over the connection, or over a stream of HTTP/2, so `data`, `end`, `error` and `close` are its own.

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

import type { UpgradedDuplex } from '../http/response/response-content.ts'
import { IdleTimer, listenForTimeout } from './idle-timer.ts'
import type { NodeSocket } from './node-socket.ts'

/** Members that are the same as on the socket of the request. */
const SAME: readonly (keyof NodeSocket)[] = [
  'remoteAddress',
  'remotePort',
  'remoteFamily',
  'localAddress',
  'localPort',
  'localFamily',
  'address',
  'encrypted',
  'authorized',
  'authorizationError',
  'getPeerCertificate',
  'server',
  'connecting',
  'pending',
]

/** Gives the socket of another protocol the form of a Node socket. @param asked the socket of the request that asked for the protocol */
export function describeSocket(socket: Duplex, asked: NodeSocket): Socket {
  const upgraded = socket as UpgradedDuplex
  const itself = (): Duplex => socket
  const timer = new IdleTimer(asked.clock, () => socket.emit('timeout'))
  const members: PropertyDescriptorMap = {}
  for (const name of SAME) {
    const value: unknown = asked[name]
    members[name] = { value: typeof value === 'function' ? value.bind(asked) : value, writable: true, configurable: true, enumerable: true }
  }
  const calls = {
    setNoDelay: itself,
    setKeepAlive: itself,
    ref: itself,
    unref: itself,
    setTimeout: (msecs: number, callback?: () => void): Duplex => {
      listenForTimeout(socket, msecs, callback)
      if (socket.destroyed) timer.stop()
      else timer.start(msecs)
      return socket
    },
    destroySoon: (): void => {
      if (socket.writable) socket.end()
      if (socket.writableFinished) socket.destroy()
      else socket.once('finish', () => socket.destroy())
    },
    ...('resetAndDestroy' in socket ? {} : { resetAndDestroy: () => socket.destroy() }),
  }
  for (const [name, value] of Object.entries(calls)) members[name] = { value, writable: true, configurable: true }
  const getters = {
    bytesRead: () => upgraded.receivedBytes,
    bytesWritten: () => upgraded.writtenBytes + socket.writableLength,
    bufferSize: () => socket.writableLength,
    timeout: () => timer.timeout,
    readyState: () => (socket.destroyed ? 'closed' : stateOf(socket)),
  }
  for (const [name, get] of Object.entries(getters)) members[name] = { get, configurable: true }
  Object.defineProperties(socket, members)
  upgraded.onActivity = () => timer.touch()
  socket.once('close', () => timer.stop())
  return socket as unknown as Socket
}

function stateOf({ readable, writable }: Duplex): string {
  if (readable) return writable ? 'open' : 'readOnly'
  return writable ? 'writeOnly' : 'closed'
}
