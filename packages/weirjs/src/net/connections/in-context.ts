// Events of a connection in the asynchronous context of the code that they are for. A connection may carry requests of several clients.

import type { AsyncResource } from 'node:async_hooks'

type Listener = (...args: unknown[]) => unknown

/** @returns the named methods of `target`, which run in `context` whoever calls them */
export function inContext<T, K extends keyof T & string>(context: AsyncResource, target: T, names: readonly K[]): Pick<T, K> {
  const bound = (name: K): unknown => context.runInAsyncScope.bind(context, target[name] as Listener, target)
  return Object.fromEntries(names.map((name) => [name, bound(name)])) as Pick<T, K>
}
