// The public API of weirjs/websocket.

export type { AllowedOrigin, OriginPredicate, Origins } from '../cors/origins.ts'
export type { WebSocketConnection, WebSocketHandlers } from './connection.ts'
export type { WebSocketData } from './data.ts'
export type { WebSocketRelayState } from './relayed-rooms.ts'
export { type WebSocketOptions, type WebSocketRoute, websocket } from './websocket.ts'
