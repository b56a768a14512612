// How a client misbehaves on its way to the server: each behaviour turns what is to be done into what is done, and several compose.

/** One thing that a client does on its connection, in order with the others. */
export type Action =
  | { readonly kind: 'send'; readonly bytes: Buffer }
  /** Gives the server its turn: what was sent before arrives by itself. */
  | { readonly kind: 'turn' }
  | { readonly kind: 'stall'; readonly lasts: StallTime }
  /** Ends its side, and goes on reading. */
  | { readonly kind: 'end' }
  /** Leaves without a word. */
  | { readonly kind: 'abort' }
  /** Leaves with a reset. */
  | { readonly kind: 'reset' }

/** Milliseconds, by the clock of the client, `Infinity` for ever; or what gives a promise that ends the stall. */
export type StallTime = number | (() => Promise<unknown>)

/** What is made of one action. */
export type Behave = (action: Action) => readonly Action[]

/** Begun anew for each connection, because it counts the bytes of one. */
export type Behaviour = () => Behave

const TURN: Action = { kind: 'turn' }

/** Bytes arrive in pieces of this size, each by itself. */
export function inPieces(bytes: number): Behaviour {
  if (!Number.isInteger(bytes) || bytes < 1) throw new RangeError(`inPieces(${bytes}): a piece has at least one byte`)
  return () => (action) => {
    if (action.kind !== 'send') return [action]
    const actions: Action[] = []
    for (let at = 0; at < action.bytes.length; at += bytes)
      actions.push({ kind: 'send', bytes: action.bytes.subarray(at, at + bytes) }, TURN)
    return actions
  }
}

/** Every byte arrives by itself. */
export function oneByteAtATime(): Behaviour {
  return inPieces(1)
}

/** Once `bytes` have been sent, nothing more is for a while. Default: for ever. */
export function stallAt(bytes: number, lasts: StallTime = Number.POSITIVE_INFINITY): Behaviour {
  return at(bytes, { kind: 'stall', lasts })
}

/** Once `bytes` have been sent, the client leaves with a reset. */
export function resetAt(bytes: number): Behaviour {
  return at(bytes, { kind: 'reset' })
}

/** Once `bytes` have been sent, the client leaves without a word, as a process does that ends. */
export function abortAt(bytes: number): Behaviour {
  return at(bytes, { kind: 'abort' })
}

/** Once `bytes` have been sent, the client ends its side: the rest never comes. It still reads. */
export function endAt(bytes: number): Behaviour {
  return at(bytes, { kind: 'end' })
}

/** `what` happens between byte `bytes` of a connection and the next. */
function at(bytes: number, what: Action): Behaviour {
  if (!Number.isInteger(bytes) || bytes < 0) throw new RangeError(`${what.kind} at byte ${bytes}: bytes are counted from 0`)
  return () => {
    let rest = bytes
    let isDone = false
    return (action) => {
      if (isDone || action.kind !== 'send') return [action]
      if (action.bytes.length < rest) {
        rest -= action.bytes.length
        return [action]
      }
      isDone = true
      const before: Action = { kind: 'send', bytes: action.bytes.subarray(0, rest) }
      const after: Action = { kind: 'send', bytes: action.bytes.subarray(rest) }
      // The server has its turn first: what came before has been seen.
      return [before, TURN, what, after]
    }
  }
}
