// The public API of weirjs/kit: what an author of a module needs in addition to weirjs itself. docs/guide/modules.md shows how to write one. At
// most 45 names, each with a comment where it is declared: test/house.test.ts counts them.

export { noteDocument } from '../../app/documents.ts'
export type { UsedPolicy } from '../../app/policies/policy.ts'
export { onStop } from '../../app/shutdown-listeners.ts'
export { isToken } from '../../base/ascii.ts'
export { type Clock, systemClock } from '../../base/clock.ts'
export { isInstance } from '../../base/errors.ts'
export { FairQueue } from '../../base/fair-queue.ts'
export { isPromise } from '../../base/is-promise.ts'
export { keepNewest } from '../../base/keep-newest.ts'
export { kindOf, shown } from '../../base/kind-of.ts'
export { rules } from '../../base/option-rules.ts'
export { invalid } from '../../base/options.ts'
export { ownText } from '../../base/own-text.ts'
export { isLocalName, isSecureUrl } from '../../base/this-machine.ts'
export { qualityOf } from '../../formats/accept.ts'
export { EncodingChooser } from '../../formats/accept-encoding.ts'
export { networkOf } from '../../formats/client-network.ts'
export { parseHttpDate } from '../../formats/http-date.ts'
export { PieceList } from '../../http/body/piece-list.ts'
export { jsonTextOf } from '../../http/json-engine.ts'
export { problemFor } from '../../http/response/error-problem.ts'
export { type CheckedContent, saveContent } from '../../http/uploads/checked-content.ts'
export { CONTENT_RULES } from '../../http/uploads/content-policy.ts'
export { asSchema } from '../../schema/foreign.ts'
export { ContentReader } from './content-reader.ts'
export type { BodyDecoder } from './decoded-body.ts'
/** What tools for the development of servers need: `dev.masking`, `dev.tapExchanges`, `dev.replaceStart` and so on. */
export * as dev from './dev.ts'
export { DiskFile } from './disk-file.ts'
export { type ExchangeHandle, exchange } from './exchange.ts'
export { HeartbeatTimer } from './heartbeat-timer.ts'
export { KeptResponse } from './kept-response.ts'
/** Pages for the person who has started the server: `launch.LaunchToken`, `launch.launchPage` and so on. */
export * as launch from './launch.ts'
/**
 * The kinds of values that options accept, for tables of `rules`: `option.duration().or('5s')`, `option.flag(false)`, `option.text()`. A rule
 * checks a value, and says in its error what it expects. `orNull`, `optional` and `or` say what a missing option means, which is an error
 * otherwise.
 */
export * as option from './option.ts'
export { openFile, type PatientFile } from './patient-file.ts'
export { type RedactedReader, redaction } from './redaction.ts'
export { rerun } from './rerun.ts'
export { type ResponseHandle, responseHandle } from './response.ts'
