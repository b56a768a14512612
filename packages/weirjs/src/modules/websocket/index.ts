// The public API of weirjs/websocket.

export type { WebSocketConnection, WebSocketHandlers } from './connection.ts'
export type { WebSocketRelayState } from './relayed-rooms.ts'
export { type WebSocketOptions, type WebSocketRoute, websocket } from './websocket.ts'
