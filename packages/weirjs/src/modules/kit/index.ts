// The public API of weirjs/kit: what an author of a module needs beside weirjs itself. docs/guide/modules.md shows how to write one. At most 45
// names, each with a comment where it is declared: test/house.test.ts counts them.

export { noteDocument } from '../../app/documents.ts'
export { onStop } from '../../app/shutdown-listeners.ts'
export { type Clock, systemClock } from '../../base/clock.ts'
export type { Duration } from '../../base/duration.ts'
export { isInstance } from '../../base/errors.ts'
export { kindOf, shown } from '../../base/kind-of.ts'
export { rules } from '../../base/option-rules.ts'
export { invalid } from '../../base/options.ts'
export type { Size } from '../../base/size.ts'
export { isLocalName, isSecureUrl } from '../../base/this-machine.ts'
export { networkOf } from '../../formats/client-network.ts'
export { problemFor } from '../../http/answer/problem.ts'
export { PieceList } from '../../http/body/piece-list.ts'
export type { TraceIds } from '../../http/exchange.ts'
export { type CheckedContent, saveContent } from '../../http/uploads/checked-content.ts'
export { CONTENT_RULES } from '../../http/uploads/content-policy.ts'
export { asSchema } from '../../schema/foreign.ts'
export { type Access, accessOf } from '../auth/plan.ts'
export { principalKey as principalKeyOf } from '../auth/principal-key.ts'
export type { LimitTable } from '../limits/limit-store.ts'
export { type RateRule, takenAt } from '../limits/rate-rule.ts'
export { templateOf } from '../metrics/http-conventions.ts'
/** What tools for the development of servers need: `dev.masking`, `dev.tapExchanges`, `dev.replaceStart` and so on. */
export * as dev from './dev.ts'
export { type ExchangeHandle, exchange, type RedactedReader, redaction } from './exchange.ts'
/** Pages for whoever has started the server: `launch.LaunchToken`, `launch.launchPage` and so on. */
export * as launch from './launch.ts'
/**
 * The kinds of values that options accept, for tables of `rules`: `option.duration().or('5s')`, `option.flag(false)`, `option.text()`. A rule checks a value,
 * and says in its error what it expects. `orNull`, `optional` and `or` say what becomes of an option that is missing, which is an error otherwise.
 */
export * as option from './option.ts'
export { openFile, type PatientFile } from './patient-file.ts'
/** What relays share: `relays.onceOf`, the id before all others, and the rules of `subscribe`. */
export * as relays from './relays.ts'
export { type OpenedSession, type SealedCookies, type SessionsHandle, sessionsHandle } from './sessions.ts'
