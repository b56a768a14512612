// How a broadcast travels over a relay: as JSON, because a relay carries text.

import { Buffer } from 'node:buffer'

import { kindOf } from '../../base/kind-of.ts'
import type { Position } from './broadcast-numbers.ts'
import type { WebSocketData } from './data.ts'

/** A broadcast of another process. */
export interface Broadcast {
  /** Null: to all on the route. */
  readonly room: string | null
  readonly bytes: Uint8Array
  readonly isBinary: boolean
}

const VERSION = 1

/** What the relay carries. */
interface Envelope extends Position {
  /** Null for a beacon, and for a broadcast of this process itself. */
  readonly broadcast: Broadcast | null
}

/** @param position of the broadcast. Its origin identifies the route of this process, which ignores its own broadcasts */
export function encodeBroadcast(position: Position, room: string | null, data: WebSocketData): string {
  const content =
    typeof data === 'string' ? { text: data } : { binary: Buffer.from(data.buffer, data.byteOffset, data.length).toString('base64') }
  return JSON.stringify({ ...head(position), room, ...content })
}

export function encodeBeacon(position: Position): string {
  return JSON.stringify({ ...head(position), beacon: true })
}

function head({ origin, number, isAfterLoss }: Position): object {
  return { v: VERSION, origin, n: number, ...(isAfterLoss && { lost: true }) }
}

/**
 * The message may come from any program that reaches the relay.
 *
 * @throws Error that states what is wrong
 */
export function decodeEnvelope(message: string, ownOrigin: string): Envelope {
  const { v, origin, n, lost, beacon, room, text, binary } = parse(message)
  if (v !== VERSION) throw new Error(`"v" is ${typeof v === 'number' ? v : kindOf(v)}, not ${VERSION}`)
  if (typeof origin !== 'string') throw new Error(`"origin" is ${kindOf(origin)}`)
  if (n !== undefined && !(Number.isSafeInteger(n) && (n as number) >= 0)) throw new Error('"n" is not a whole number')
  const isBeacon = beacon === true
  const broadcast = isBeacon || origin === ownOrigin ? null : decodeContent(room, text, binary)
  return { origin, number: (n as number | undefined) ?? null, isBeacon, isAfterLoss: lost === true, broadcast }
}

function decodeContent(room: unknown, text: unknown, binary: unknown): Broadcast {
  if (room !== null && typeof room !== 'string') throw new Error(`"room" is ${kindOf(room)}`)
  if (typeof text === 'string' && binary === undefined) return { room, bytes: Buffer.from(text), isBinary: false }
  if (typeof binary !== 'string' || text !== undefined) throw new Error('there is not one of "text" and "binary"')
  const bytes = Buffer.from(binary, 'base64')
  if (bytes.length !== Buffer.byteLength(binary, 'base64')) throw new Error('"binary" is not base64')
  return { room, bytes, isBinary: true }
}

function parse(message: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(message)) as Record<string, unknown>
  } catch {
    throw new Error('it is not JSON') // the original error quotes the message, which may be secret
  }
}
