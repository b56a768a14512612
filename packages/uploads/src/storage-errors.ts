// The errors for clients and for logs when a storage fails.

import { HttpError, WeirError } from 'weirjs'
import { isInstance } from 'weirjs/kit'
import { withoutIds } from './hidden-ids.ts'

/** The first status whose error is logged. */
const FIRST_LOGGED = 500

/** @throws (rejects) errors for the client unchanged; WEIR_STORE_UNAVAILABLE for any other error of a storage or of locks */
export async function stored<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!isInstance(error, HttpError)) throw unavailable(error)
    throw error.status < FIRST_LOGGED ? error : withoutIds(error)
  }
}

export function unavailable(cause: unknown): WeirError {
  return new WeirError('WEIR_STORE_UNAVAILABLE', 'uploads', { cause: withoutIds(cause) })
}

/** @throws (rejects) what the storage or the locks throw, without ids */
export async function hidingIds<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw withoutIds(error)
  }
}

/** An error of `onComplete`, which may contain data of the upload. An error for the client stays unchanged. */
export function ofProgram(error: unknown, id: string): unknown {
  if (!isInstance(error, Error) || (isInstance(error, HttpError) && error.status < FIRST_LOGGED)) return error
  return withoutIds(error, id)
}
