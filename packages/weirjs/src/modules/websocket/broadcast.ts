// Sends one message to several connections of a route, and over its relay.

import { workTurns } from '../../http/work-turns.ts'

import type { ConnectionHost, WebSocketConnection } from './connection.ts'
import { messageOf, type WebSocketData } from './data.ts'
import { SharedMessage } from './shared-message.ts'

/** The cost of sending to one connection, in KiB of decompressed data. A message of one byte may go to thousands of connections, with a write for each. */
const WORK_OF_ONE = 1 / 3

/** Encodes the message once, sends it to each connection and passes it to the relay. @internal */
export function broadcast<Args>(
  host: ConnectionHost<Args>,
  room: string | null,
  value: WebSocketData,
  except: WebSocketConnection<Args> | null,
): number {
  const data = host.encode?.(value) ?? value
  const bytes = messageOf(data, host.maxQueuedSize)
  const queued = deliver(host, room, bytes, typeof data !== 'string', except)
  host.relayed?.publish(room, data)
  return queued
}

/** Sends to connections of this process. @internal */
export function deliver<Args>(
  host: ConnectionHost<Args>,
  room: string | null,
  bytes: Uint8Array,
  isBinary: boolean,
  except: WebSocketConnection<Args> | null,
): number {
  const message = new SharedMessage(bytes, isBinary)
  let queued = 0
  for (const connection of room === null ? host.connections : host.rooms.membersOf(room))
    if (connection !== except && connection.sendShared(message)) queued++
  workTurns.spend(queued * WORK_OF_ONE)
  return queued
}
