// Handlers that only switch to another protocol, so that it is known before one runs.

const protocols = new WeakMap<object, string>()

/** Marks `handler` as one that always responds with an upgrade to `protocol`. @returns the same handler */
export function upgradesTo<H extends object>(protocol: string, handler: H): H {
  protocols.set(handler, protocol)
  return handler
}

/** The protocol that `handler` switches to; null if it is an ordinary one. */
export function upgradeOfHandler(handler: object): string | null {
  return protocols.get(handler) ?? null
}
