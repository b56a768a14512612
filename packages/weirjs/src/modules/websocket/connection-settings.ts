// The settings of each connection of a route.

import type { WebSocketData } from './data.ts'

export interface ConnectionSettings<Out> {
  readonly maxMessageSize: number
  readonly maxQueuedSize: number
  /** Null: no pings. */
  readonly pingInterval: number | null
  /** Makes a message from a value of the program. Absent: texts and bytes are sent unchanged. */
  readonly encode?: ((value: Out) => WebSocketData) | undefined
}
