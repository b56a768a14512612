// Contracts and their entries. Browsers run this, so it loads nothing, and checks nothing: the server checks a contract when it maps it.

import type { Contract, Entry, EntryDeclaration, WebSocketDeclaration, WebSocketEntryOf } from '../../app/routes/contract.ts'
import type { NoDeclaration } from '../../app/routes/declaration.ts'

/** `get`, `post` and so on: `P` is the template and `D` the declaration. */
export type EntryMaker<M extends string> = <const P extends string, const D extends EntryDeclaration<D> = NoDeclaration>(
  path: P,
  declaration?: D & EntryDeclaration<D>,
) => Entry<M, P, D>

/**
 * A contract of these entries. Nothing is checked here, where a browser may run it: the server checks it when it maps it.
 *
 * `const api = contract({ user: get('/users/:id', { id: t.int, answers: { 200: User, 404: Problem } }) })`
 */
export function contract<const C extends Contract>(entries: C): C {
  return entries
}

/** An entry for any method: `entry('PURGE', '/cache/:key')`. */
export function entry<const M extends string, const P extends string, const D extends EntryDeclaration<D> = NoDeclaration>(
  method: M,
  path: P,
  declaration?: D & EntryDeclaration<D>,
): Entry<M, P, D> {
  return { method, path, declaration: declaration ?? ({} as D) }
}

const makerOf =
  <M extends string>(method: M): EntryMaker<M> =>
  (path, declaration) =>
    entry(method, path, declaration as never)

/** An entry for GET: `get('/users/:id', { id: t.int, answers: { 200: User } })`. */
export const get: EntryMaker<'GET'> = /* @__PURE__ */ makerOf('GET')
/** An entry for POST. */
export const post: EntryMaker<'POST'> = /* @__PURE__ */ makerOf('POST')
/** An entry for PUT. */
export const put: EntryMaker<'PUT'> = /* @__PURE__ */ makerOf('PUT')
/** An entry for PATCH. */
export const patch: EntryMaker<'PATCH'> = /* @__PURE__ */ makerOf('PATCH')
/** An entry for DELETE. */
export const del: EntryMaker<'DELETE'> = /* @__PURE__ */ makerOf('DELETE')
/** An entry for QUERY (RFC 10008): like a GET that has a body. */
export const query: EntryMaker<'QUERY'> = /* @__PURE__ */ makerOf('QUERY')

/**
 * A WebSocket: `ws('/chat/:room', { receives: Draft, sends: Line })`. The names are from the server's side, which receives what clients send.
 * `openWebSocket` opens it.
 */
export function ws<const P extends string, const D extends WebSocketDeclaration<D> = NoDeclaration>(
  path: P,
  declaration?: D & WebSocketDeclaration<D>,
): WebSocketEntryOf<P, D> {
  const { receives, sends, ...rest } = (declaration ?? {}) as { readonly receives?: never; readonly sends?: never }
  return { ...entry('GET', path), declaration: rest as never, upgradesTo: 'websocket', receives: receives as never, sends: sends as never }
}
