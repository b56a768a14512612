// Pages that only the person who has started a server may use: a link with a token, and checks of the client.

import type { Policy } from '../../app/policies/policy.ts'
import { type HttpServer, hostOf, moveTo, placesOf } from '../../server.ts'

export { hostName } from '../../base/host-name.ts'
export { isLoopback } from '../../base/this-machine.ts'
export { endpointOrigin } from '../launch/endpoint-origin.ts'
export { LAUNCH_POLICY, type LaunchWords, launchPage, printedLink } from '../launch/launch-page.ts'
export { LaunchTickets } from '../launch/launch-tickets.ts'
export { isLaunchToken, LaunchToken, newLaunchToken, TOKEN_FORM } from '../launch/launch-token.ts'
export { hostAsked, refusalOf } from '../launch/local-access.ts'

/** Where a server that has not started is going to listen, and whether its application is below a path: its own, or one that a proxy states. */
export function listeningPlaces(server: HttpServer) {
  return { places: placesOf(server), isBelowPath: hostOf(server).basePath !== null }
}

/** Makes a server that has not started listen at another port than its options say. @throws WEIR_OPTION_INVALID for one with several endpoints */
export function moveServer(server: HttpServer, where: { readonly port: number }): void {
  moveTo(server, where)
}

/** Adds a policy before everything else of a server: before its other gates, and for whatever is mapped later. Nothing can replace it. */
export function guard(server: HttpServer, policy: Omit<Policy, 'name'>): void {
  server.useOutermost(policy)
}

/**
 * The command that runs a program, as far as links with a token are concerned: `weir dev` makes one token for all runs, so that a page that is
 * open stays signed in over restarts, and prints the links itself.
 */
export interface LaunchHost {
  /** For everything in this process that needs one. */
  readonly token: string
  /** Prints a link. */
  tell(name: string, link: string): void
}

let current: LaunchHost | null = null

/** Null if the program was started by itself. */
export function launchHost(): LaunchHost | null {
  return current
}

export function setLaunchHost(host: LaunchHost): void {
  current = host
}
