// Which servers have `debug`, for modules that check more there.

import type { ServerHandle } from '../http/session.ts'

const debugged = new WeakSet<ServerHandle>()

export function setDebug(server: ServerHandle): void {
  debugged.add(server)
}

export function hasDebug(server: ServerHandle): boolean {
  return debugged.has(server)
}
