// Errors of clients of Redis without the arguments of their commands, which may be the data of a session, or ids: ioredis adds the command to
// the error, and Redis itself repeats the arguments of one that it does not know.

import { isInstance } from 'weirjs/kit'

const REPEATED = /, with args beginning with:[\s\S]*/
/** The same among the lines of a stack: up to the first call. */
const REPEATED_IN_STACK = /, with args beginning with:[\s\S]*?(?=\n {4}at |$(?![\s\S]))/
/** The members that ioredis and `redis` add and programs use. */
const KEPT = ['code', 'errno', 'syscall', 'address', 'port', 'name'] as const

/** The same error if it has no arguments; otherwise a copy of the same class. */
export function withoutArguments(error: unknown): unknown {
  if (!isInstance(error, Error) || !('command' in error || REPEATED.test(error.message))) return error
  const copy = new Error(error.message.replace(REPEATED, ''))
  Object.setPrototypeOf(copy, Object.getPrototypeOf(error) as object)
  if (error.stack !== undefined) define(copy, 'stack', error.stack.replace(REPEATED_IN_STACK, ''))
  for (const name of KEPT) if (Object.hasOwn(error, name)) define(copy, name, (error as unknown as Record<string, unknown>)[name])
  if (error.cause !== undefined) define(copy, 'cause', withoutArguments(error.cause))
  return copy
}

function define(on: object, name: string, value: unknown): void {
  Object.defineProperty(on, name, { value, enumerable: false, configurable: true, writable: true })
}
