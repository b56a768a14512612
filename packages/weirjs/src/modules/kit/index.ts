// The public API of weirjs/kit: what an author of a module needs beside weirjs itself. docs/guide/modules.md shows how to write one. At most 45
// names, each with a comment where it is declared: test/house.test.ts counts them.

export { type Clock, systemClock } from '../../base/clock.ts'
export { type Duration, millisecondsOf } from '../../base/duration.ts'
export { isInstance } from '../../base/errors.ts'
export { kindOf, shown } from '../../base/kind-of.ts'
export { rules } from '../../base/option-rules.ts'
export { checkFunction, checkNames, checkText, flag, invalid, limitOf, listOf, namesOf, wholeNumber } from '../../base/options.ts'
export { problemFor } from '../../http/answer/problem.ts'
export type { TraceIds } from '../../http/session.ts'
export { type CheckedContent, saveContent } from '../../http/uploads/checked-content.ts'
export { asSchema } from '../../schema/foreign.ts'
export { type Access, accessOf } from '../auth/plan.ts'
export { networkOf } from '../client-network.ts'
export { noteDocument } from '../documents.ts'
export { templateOf } from '../http-conventions.ts'
export type { LimitTable } from '../limits/limit-store.ts'
export { type RateRule, takenAt } from '../limits/rate-rule.ts'
export { principalKey as principalKeyOf } from '../principal-key.ts'
export { BEFORE_FIRST } from '../relay/relay-position.ts'
export { onStop } from '../shutdown-listeners.ts'
export { isSecureUrl } from '../this-machine.ts'
export { type ExchangeHandle, exchange, type RedactedReader, redaction } from './exchange.ts'
/**
 * The kinds of values that options accept, for tables of `rules`: `rule.duration().or('5s')`, `rule.flag(false)`, `rule.text()`. A rule checks a value,
 * and says in its error what it expects. `orNull`, `optional` and `or` say what becomes of an option that is missing, which is an error otherwise.
 */
export * as rule from './rule.ts'
export { type OpenedSession, type SealedCookies, type SessionsHandle, sessionsHandle } from './sessions.ts'
