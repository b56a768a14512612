// The public API of weirjs/websocket.

export type { WebSocketConnection, WebSocketHandlers } from './connection.ts'
export type { WebSocketRelayState } from './relayed-rooms.ts'
export {
  type WebSocketEntryHandlers,
  type WebSocketEntryRoute,
  type WebSocketOptions,
  type WebSocketRoute,
  websocket,
} from './websocket.ts'
