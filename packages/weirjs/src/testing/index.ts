// The public API of weirjs/testing.

export type { WatchedServer } from '../net/inject/watched-server.ts'
export { abortAt, type Behaviour, endAt, inPieces, oneByteAtATime, resetAt, stallAt } from './behaviours.ts'
export type { ClientOptions, Ending } from './client-connection.ts'
export type { TestAnswer } from './test-answer.ts'
export { connect, type TestClient, type TestPrincipal } from './test-client.ts'
export { TestClock } from './test-clock.ts'
export type { TestRequest } from './test-request.ts'
export { type TestWebSocket, type TestWebSocketEnd, WebSocketRefused } from './test-websocket.ts'
