// Who has to be told that a server stops: one listener for all, so that the thousandth stream comes and goes as cheaply as the first.

/** Something that ends itself when its server stops. */
export interface Stoppable {
  stop(): void
}

const members = new WeakMap<AbortSignal, Set<Stoppable>>()

/** Calls `member.stop` when the signal aborts, unless it was forgotten before. Not if it has aborted already. */
export function tellWhenStopping(signal: AbortSignal, member: Stoppable): void {
  let all = members.get(signal)
  if (all === undefined) {
    const told = new Set<Stoppable>()
    members.set(signal, told)
    signal.addEventListener('abort', () => {
      for (const one of told) one.stop()
      told.clear()
    })
    all = told
  }
  all.add(member)
}

export function forgetStopping(signal: AbortSignal, member: Stoppable): void {
  members.get(signal)?.delete(member)
}
