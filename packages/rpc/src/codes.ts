// The status codes of gRPC, their names in Connect, and the HTTP statuses for them.

/** How a call failed: the names of Connect, which are gRPC's names in lower case. */
export type RpcCode =
  | 'canceled'
  | 'unknown'
  | 'invalid_argument'
  | 'deadline_exceeded'
  | 'not_found'
  | 'already_exists'
  | 'permission_denied'
  | 'resource_exhausted'
  | 'failed_precondition'
  | 'aborted'
  | 'out_of_range'
  | 'unimplemented'
  | 'internal'
  | 'unavailable'
  | 'data_loss'
  | 'unauthenticated'

/** In the order of their numbers in gRPC, which begin with 1. The status is for a unary call of Connect. */
const CODES: readonly (readonly [RpcCode, number])[] = [
  ['canceled', 499],
  ['unknown', 500],
  ['invalid_argument', 400],
  ['deadline_exceeded', 504],
  ['not_found', 404],
  ['already_exists', 409],
  ['permission_denied', 403],
  ['resource_exhausted', 429],
  ['failed_precondition', 400],
  ['aborted', 409],
  ['out_of_range', 400],
  ['unimplemented', 501],
  ['internal', 500],
  ['unavailable', 503],
  ['data_loss', 500],
  ['unauthenticated', 401],
]

const NUMBERS = new Map(CODES.map(([code], index) => [code, index + 1]))
const STATUSES = new Map(CODES)

/** The number in `grpc-status`. */
export function numberOf(code: RpcCode): number {
  return NUMBERS.get(code)!
}

/** The status of a unary call of Connect. */
export function statusOf(code: RpcCode): number {
  return STATUSES.get(code)!
}

/** @returns null for a value that is neither the name nor the number of a code */
export function codeOf(code: unknown): RpcCode | null {
  if (typeof code === 'number') return CODES[code - 1]?.[0] ?? null
  return NUMBERS.has(code as RpcCode) ? (code as RpcCode) : null
}

/** The code of a call for the status of a refusal. For other statuses it is `unknown`. */
const BY_STATUS: Readonly<Record<number, RpcCode>> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'unimplemented',
  405: 'unimplemented',
  408: 'deadline_exceeded',
  409: 'aborted',
  410: 'not_found',
  411: 'invalid_argument',
  412: 'failed_precondition',
  413: 'resource_exhausted',
  415: 'unimplemented',
  416: 'out_of_range',
  421: 'unavailable',
  422: 'invalid_argument',
  428: 'failed_precondition',
  429: 'resource_exhausted',
  431: 'resource_exhausted',
  499: 'canceled',
  500: 'internal',
  501: 'unimplemented',
  502: 'unavailable',
  503: 'unavailable',
  504: 'deadline_exceeded',
}

export function codeOfStatus(status: number): RpcCode {
  return BY_STATUS[status] ?? 'unknown'
}
