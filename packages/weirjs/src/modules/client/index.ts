// The public API of weirjs/client: contracts, their declarations, and the client. A browser may import all of it.

export type {
  Contract,
  Entry,
  EntryDeclaration,
  EntryOptions,
  PathParameters,
  WebSocketDeclaration,
  WebSocketEntry,
  WebSocketEntryOf,
  WebSocketEntryOptions,
} from '../../app/routes/contract.ts'
export { pages } from '../../app/routes/pages.ts'
export { cookie, header } from '../../app/routes/parameter-source.ts'
export { mergePatch } from '../../http/body/merge-patch-body.ts'
export { bytes, events, stream, text } from '../../http/body/plain-body.ts'
export { form, json } from '../../http/body/schema-body.ts'
export { file } from '../../http/multipart/file-field.ts'
export { multipart } from '../../http/multipart/form-body.ts'
export { Problem } from '../../http/response/problem.ts'
export { t } from '../../schema/t.ts'
export { type Answer, type AnswerOf, ClientError } from './answer.ts'
export { type Call, type CallOptions, type Client, type ClientOptions, client } from './client.ts'
export { contract, del, type EntryMaker, entry, get, patch, post, put, query, ws } from './contract.ts'
export type { ServerEvent } from './event-stream.ts'
export { type FollowOptions, follow } from './follow.ts'
export { type Outline, type OutlinedEntry, type OutlinedWebSocket, outlineOf } from './outline.ts'
export {
  type ClientWebSocket,
  type ClientWebSocketOptions,
  openWebSocket,
  type WebSocketLike,
  type WebSocketLikeConstructor,
} from './web-socket.ts'
