// How a client misbehaves towards the server. A behaviour turns each action into a list of actions, and behaviours can be combined.

import { shown } from '../base/kind-of.ts'

/** One thing that a client does on its connection, in order with the others. */
export type Action =
  | { readonly kind: 'send'; readonly bytes: Buffer }
  /** Lets the server run, so that what was sent before arrives separately. */
  | { readonly kind: 'turn' }
  | { readonly kind: 'stall'; readonly lasts: StallTime }
  /** Ends its side of the connection, and continues to read. */
  | { readonly kind: 'end' }
  /** Leaves without a reset, like a process that exits. */
  | { readonly kind: 'abort' }
  /** Leaves with a reset. */
  | { readonly kind: 'reset' }

/**
 * How long a stall lasts: milliseconds by the clock of the client, `Infinity` for a stall without end, or a function that returns a
 * promise; the stall ends when the promise resolves.
 */
export type StallTime = number | (() => Promise<unknown>)

/** Turns one action into a list of actions. */
export type Behave = (action: Action) => readonly Action[]

/** Called once for each connection, because a behaviour counts the bytes of one connection. */
export type Behaviour = () => Behave

const TURN: Action = { kind: 'turn' }

/**
 * Bytes arrive in pieces of this size, each separately.
 *
 * @throws RangeError for a size that is not a positive whole number
 */
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

/** Every byte arrives separately. */
export function oneByteAtATime(): Behaviour {
  return inPieces(1)
}

/**
 * After `bytes` bytes of the connection, the client sends nothing for a while. Default: without end.
 *
 * @throws RangeError for a number of bytes that is negative or not whole, and for a time that is neither a number nor a function
 */
export function stallAt(bytes: number, lasts: StallTime = Number.POSITIVE_INFINITY): Behaviour {
  if (typeof lasts !== 'function' && !(typeof lasts === 'number' && lasts >= 0))
    throw new RangeError(`a stall lasts milliseconds or until a promise resolves, not ${shown(lasts)}`)
  return at(bytes, { kind: 'stall', lasts })
}

/**
 * After `bytes` bytes of the connection, the client leaves with a reset.
 *
 * @throws RangeError for a number of bytes that is negative or not whole
 */
export function resetAt(bytes: number): Behaviour {
  return at(bytes, { kind: 'reset' })
}

/**
 * After `bytes` bytes of the connection, the client leaves without a reset, like a process that exits.
 *
 * @throws RangeError for a number of bytes that is negative or not whole
 */
export function abortAt(bytes: number): Behaviour {
  return at(bytes, { kind: 'abort' })
}

/**
 * After `bytes` bytes of the connection, the client ends its side, and the rest is never sent. It still reads.
 *
 * @throws RangeError for a number of bytes that is negative or not whole
 */
export function endAt(bytes: number): Behaviour {
  return at(bytes, { kind: 'end' })
}

/** Inserts `what` after the first `bytes` bytes of a connection. */
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
      // Let the server run first, so that it has seen everything before.
      return [before, TURN, what, after]
    }
  }
}
