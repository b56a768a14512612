// The public API of weirjs/kit: what an author of a module needs beside weirjs itself. docs/guide/modules.md shows how to write one.

export { html, type Insertable, Markup } from '../../app/debug/markup.ts'
export { STANDARD_METHODS } from '../../app/routes/declaration.ts'
export { isToken } from '../../base/ascii.ts'
export { type Clock, systemClock } from '../../base/clock.ts'
export { type Duration, millisecondsOf } from '../../base/duration.ts'
export { isInstance, UnsupportedError } from '../../base/errors.ts'
export { hostName } from '../../base/host-name.ts'
export { keepNewest } from '../../base/keep-newest.ts'
export { kindOf, shown } from '../../base/kind-of.ts'
export { neverUnhandled } from '../../base/never-unhandled.ts'
export { checkFunction, checkNames, checkText, flag, invalid, limitOf, listOf, namesOf, wholeNumber } from '../../base/options.ts'
export { STATUS_CODES } from '../../base/status-codes.ts'
export { parseCookies } from '../../formats/cookie.ts'
export { parseParameters } from '../../formats/parameters.ts'
export { decodePercent } from '../../formats/percent.ts'
export { PROBLEM_TYPE, problemFor } from '../../http/answer/problem.ts'
export type { BodySink } from '../../http/body/body.ts'
export { PieceList } from '../../http/body/piece-list.ts'
export { PieceQueue } from '../../http/body/piece-queue.ts'
export { EventsBody } from '../../http/body/plain-body.ts'
export { TypedBody } from '../../http/body/typed-body.ts'
export type { SocketPeer } from '../../http/connection-info.ts'
export { OpenFile } from '../../http/disk/open-file.ts'
export { FileSource } from '../../http/files/file-source.ts'
export { MultipartBody } from '../../http/multipart/form-body.ts'
export { otherReader, PartStream } from '../../http/multipart/part-stream.ts'
export type { TraceIds } from '../../http/session.ts'
export {
  allowedName,
  type ByteInspector,
  type CheckedPolicy,
  checkedPolicy,
  isReadable,
  piecesOf,
  randomHex,
  refuseIf,
  reserve,
} from '../../http/uploads/content-policy.ts'
export { asSchema } from '../../schema/foreign.ts'
export { isSchema } from '../../schema/standard.ts'
export { type Access, accessOf } from '../auth/plan.ts'
export { challengeOf, credentialsOf } from '../authorization.ts'
export { networkOf } from '../client-network.ts'
export { noteDocument } from '../documents.ts'
export { errorListener } from '../error-listener.ts'
export { DURATION_BUCKETS, OTHER, templateOf } from '../http-conventions.ts'
export type { LimitTable } from '../limits/limit-store.ts'
export { type RateRule, takenAt } from '../limits/rate-rule.ts'
export { principalKey as principalKeyOf } from '../principal-key.ts'
export { ONCE_MS, onceName, onceOf } from '../relay/publish-once.ts'
export { BEFORE_FIRST } from '../relay/relay-position.ts'
export { KeyRing, type SealedBox } from '../sessions/key-ring.ts'
export { type CookieForm, clearCookieText, insecureSession, setCookieText, soleCookie } from '../sessions/session-cookie.ts'
export { addShutdownListener, removeShutdownListener, type ShutdownListener } from '../shutdown-listeners.ts'
export { checkFunctions } from '../store-option.ts'
export { isLocalName, isSecureUrl } from '../this-machine.ts'
/** What tools for the development of servers need: `dev.masking`, `dev.tapExchanges`, `dev.replaceStart` and so on. */
export * as dev from './dev.ts'
export { type ExchangeHandle, exchange, type RedactedReader, redaction } from './exchange.ts'
/** Pages for whoever has started the server: `launch.LaunchToken`, `launch.launchPage` and so on. */
export * as launch from './launch.ts'
export { type OpenedSession, type SessionsHandle, sessionsHandle } from './sessions.ts'
