// The state of one exchange, whatever carries it: three small state machines, and every move that they can make.
//
//   request   how much of the request has arrived, and whether its rest is read
//   work      what works on it: no code, gates, the handler, or the server in its place
//   response  how far the response has come
//
// `RequestCycle` holds the three numbers, and only the functions here change them. A move that is not in the tables is a bug in weir: it throws,
// and the client is cut off. Nothing that follows from them is stored: "all of the request has arrived" is WHOLE, "the client is gone" is CUT, and
// an exchange is over when its work has expired and its response is SENT or CUT.

import { illegalMove, masksOf } from '../../base/moves.ts'

/** In each machine: there is no exchange yet. Work: no code works on it for now. */
export const NONE = 0

/** Request: the rest is read as it arrives. */
export const COMING = 1
/** Request: nothing of the rest is read for now. */
export const HELD = 2
/** Request: all of it has arrived. */
export const WHOLE = 3
/** Request: its rest is not waited for any more. */
export const DROPPED = 4
/** Request: the client was cut off before all of it had arrived. */
export const LOST = 5

export const REQUEST_NAMES = ['none', 'coming', 'held', 'whole', 'dropped', 'lost'] as const

/** For each state, the states that may follow. */
export const REQUEST_MOVES: readonly (readonly number[])[] = [
  [], // none: `begin`
  [HELD, WHOLE, DROPPED], // coming, or `cutOff`
  [COMING, WHOLE, DROPPED], // held, or `cutOff`
  [], // whole
  [WHOLE], // dropped: what had been sent by then may be complete; or `cutOff`
  [], // lost
]

/** Work: observers and gates are called. Nothing of the body can be read. */
export const GATES = 1
/** Work: middleware and the handler have been called. */
export const HANDLER = 2
/** Work: the server answers. Gates, a handler or hooks that still run no longer count. */
export const INSTEAD = 3
/** Work: there is a response, and it is being sent. */
export const SETTLED = 4
/** Work: the request can no longer be used. */
export const EXPIRED = 5

export const WORK_NAMES = ['none', 'gates', 'handler', 'instead', 'settled', 'expired'] as const

export const WORK_MOVES: readonly (readonly number[])[] = [
  [HANDLER, INSTEAD, SETTLED, EXPIRED], // none
  [NONE, INSTEAD, SETTLED, EXPIRED], // gates
  [INSTEAD, SETTLED, EXPIRED], // handler
  [INSTEAD, SETTLED, EXPIRED], // instead
  [INSTEAD, EXPIRED], // settled: the source of the response has failed before its first byte
  [], // expired
]

/** Response: owed, and nothing of it has been sent. */
export const DUE = 1
/** Response: some of it may have reached the client. */
export const BEGUN = 2
/** Response: all of it has been handed to the carrier. */
export const HANDED_OVER = 3
/** Response: the carrier has nothing left to do for the exchange. */
export const SENT = 4
/** Response: the client has left, or was cut off. Nothing more is sent. */
export const CUT = 5

export const RESPONSE_NAMES = ['none', 'due', 'begun', 'handed over', 'sent', 'cut'] as const

export const RESPONSE_MOVES: readonly (readonly number[])[] = [
  [CUT], // none, or `begin`
  [BEGUN, HANDED_OVER, CUT], // due
  [HANDED_OVER, CUT], // begun
  [SENT, CUT], // handed over
  [], // sent
  [], // cut
]

const REQUEST_MASKS = masksOf(REQUEST_MOVES)
const WORK_MASKS = masksOf(WORK_MOVES)
const RESPONSE_MASKS = masksOf(RESPONSE_MOVES)

/** An object with the state of an exchange. Change the state only with the functions below. */
export interface ExchangeState {
  request: number
  work: number
  response: number
}

/**
 * A head is complete. The exchange before it, if there was one, has been answered.
 * @param request COMING, or HELD if nothing of a body arrives before it is asked for
 */
export function begin(exchange: ExchangeState, request: number): void {
  const { work, response } = exchange
  if (work === NONE ? response !== NONE : work !== EXPIRED || response !== HANDED_OVER)
    throw illegalMove('response of an exchange', RESPONSE_NAMES, response, DUE)
  exchange.request = request
  exchange.work = GATES
  exchange.response = DUE
}

export function moveRequest(exchange: ExchangeState, to: number): void {
  const { request } = exchange
  if (((REQUEST_MASKS[request]! >> to) & 1) === 0) throw illegalMove('request of an exchange', REQUEST_NAMES, request, to)
  exchange.request = to
}

export function moveWork(exchange: ExchangeState, to: number): void {
  const { work } = exchange
  if (((WORK_MASKS[work]! >> to) & 1) === 0) throw illegalMove('work of an exchange', WORK_NAMES, work, to)
  exchange.work = to
}

export function moveResponse(exchange: ExchangeState, to: number): void {
  const { response } = exchange
  if (((RESPONSE_MASKS[response]! >> to) & 1) === 0) throw illegalMove('response of an exchange', RESPONSE_NAMES, response, to)
  exchange.response = to
}

/** The client has left, or is cut off. @returns false if it was before */
export function cutOff(exchange: ExchangeState): boolean {
  if (isCut(exchange)) return false
  moveResponse(exchange, CUT)
  if (exchange.request !== NONE && exchange.request !== WHOLE) exchange.request = LOST
  return true
}

/** Whether nothing more can be sent. */
export function isCut({ response }: ExchangeState): boolean {
  return response >= SENT
}

/** Whether no code works on it any more, and nothing more is sent. */
export function isOver({ work, response }: ExchangeState): boolean {
  return work === EXPIRED && response >= SENT
}

/** Whether gates, a handler or the server itself works on it, or its response is being sent. */
export function isAtWork({ work }: ExchangeState): boolean {
  return work !== NONE && work !== EXPIRED
}
