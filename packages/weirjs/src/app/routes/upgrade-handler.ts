// Marks handlers that only switch to another protocol, so that this is known before they run.

import type { AnySchema } from '../../schema/standard.ts'

/** The schemas of the messages of another protocol; null for those without one. */
export interface MessageSchemas {
  /** Of what clients send. */
  readonly receives: AnySchema | null
  /** Of what the server sends. */
  readonly sends: AnySchema | null
}

/** What is known about a handler that switches to another protocol. */
interface Upgrade {
  readonly protocol: string
  readonly messages: MessageSchemas | null
}

const upgrades = new WeakMap<object, Upgrade>()

/** Marks `handler` as one that always responds with an upgrade to `protocol`. @returns the same handler */
export function upgradesTo<H extends object>(protocol: string, handler: H, messages: MessageSchemas | null = null): H {
  upgrades.set(handler, { protocol, messages })
  return handler
}

/** What `handler` switches to; null if it is an ordinary one. */
export function upgradeOfHandler(handler: object): Upgrade | null {
  return upgrades.get(handler) ?? null
}
