// Pages that only the person who has started a server may use: a link with a token, and checks of who asks.

import type { Gate } from '../../app/policies/policy.ts'
import { type HttpServer, moveTo } from '../../server.ts'

export { isLoopback } from '../../base/this-machine.ts'

export { type LaunchHost, launchHost, setLaunchHost } from '../launch/launch-host.ts'
export { LAUNCH_POLICY, type LaunchWords, launchPage } from '../launch/launch-page.ts'
export {
  isLaunchToken,
  LaunchToken,
  launchTicket,
  newLaunchToken,
  proofOf,
  TICKET_MS,
  TOKEN_FORM,
  UsedTickets,
} from '../launch/launch-token.ts'
export { hostAsked, refusalOf } from '../launch/local-access.ts'

/** Makes a server that has not started listen at another port than its options say. @throws WEIR_OPTION_INVALID for one with several endpoints */
export function moveServer(server: HttpServer, where: { readonly port: number }): void {
  moveTo(server, where)
}

/** Adds a gate before everything else of a server: before its other gates, and for whatever is mapped later. Nothing can replace it. */
export function guard(server: HttpServer, label: string, gate: Gate): void {
  server.guard(label, gate)
}
