// What clients are told when a storage fails, and what logs are.

import { HttpError, WeirError } from 'weirjs'
import { isInstance } from 'weirjs/kit'

/** Ids of uploads, and whatever else looks like one. */
const IDS = /(?<![\w-])[\w-]{32}(?![\w-])/g

/** @throws (rejects) what is for the client as it is; WEIR_STORE_UNAVAILABLE for any other error of a storage or of locks */
export async function stored<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw isInstance(error, HttpError) ? error : unavailable(error)
  }
}

export function unavailable(cause: unknown): WeirError {
  return new WeirError('WEIR_STORE_UNAVAILABLE', 'uploads', { cause: withoutIds(cause) })
}

/** Ids are secret, and an error of the file system has the paths that it is about: the same error with `:id` in their place. */
export function withoutIds(error: unknown): unknown {
  if (!isInstance(error, Error) || !('syscall' in error)) return error
  const hidden = new Error(error.message.replace(IDS, ':id'))
  if (error.stack !== undefined) hidden.stack = error.stack.replace(IDS, ':id')
  for (const [name, value] of Object.entries(error))
    Object.assign(hidden, { [name]: typeof value === 'string' ? value.replace(IDS, ':id') : (value as unknown) })
  return hidden
}
