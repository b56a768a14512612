// What the options of a route mean for each of its connections.

import type { WebSocketData } from './data.ts'

export interface ConnectionSettings<Out> {
  readonly maxMessageSize: number
  readonly maxQueuedSize: number
  /** Null: no pings. */
  readonly pingInterval: number | null
  /** Makes a message of what the program sends. Absent: texts and bytes are sent as they are. */
  readonly encode?: ((value: Out) => WebSocketData) | undefined
}
