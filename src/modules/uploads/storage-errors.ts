// What clients are told when a storage fails.

import { HttpError, WeirError } from '../../base/errors.ts'

/** @throws (rejects) what is for the client as it is; WEIR_STORE_UNAVAILABLE for any other error of a storage or of locks */
export async function stored<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof HttpError ? error : unavailable(error)
  }
}

export function unavailable(cause: unknown): WeirError {
  return new WeirError('WEIR_STORE_UNAVAILABLE', 'uploads', { cause })
}
