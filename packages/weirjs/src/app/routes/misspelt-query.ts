// Parameters that a client has probably misspelt. They are ignored like all parameters that a route does not declare, because links carry names
// such as `utm_source`; the developer gets a warning.

import { isMeant } from '../../base/options.ts'
import { parseForm } from '../../formats/form.ts'
import type { Exchange } from '../../http/exchange.ts'
import { shorten } from '../../schema/mismatch.ts'
import { warnOf } from '../debugged.ts'
import type { Step } from './binder.ts'

/** Parameters about which a warning was logged. */
const reported = new WeakSet<Step>()

/** Names in a query that are compared with those of parameters. People do not write more. */
const MOST_NAMES = 100

/** Names in the query by which parameters that are missing were probably meant, shortened. */
export function misspeltNames(steps: readonly Step[], queryString: string): ReadonlyMap<Step, string> {
  const found = new Map<Step, string>()
  const inQuery = steps.filter(({ source }) => source === 'query')
  if (queryString === '' || inQuery.length === 0) return found
  const names = new Set(parseForm(queryString, Number.POSITIVE_INFINITY).filter((_, i) => i % 2 === 0)) // the head is bounded
  const others = [...names].filter((name) => !inQuery.some(({ key }) => key === name)).slice(0, MOST_NAMES)
  for (const step of inQuery) {
    if (names.has(step.key)) continue
    const name = others.find((one) => isMeant(one.replace(/\[\]$/, ''), step.key))
    if (name !== undefined) found.set(step, shorten(name))
  }
  return found
}

/** Warns once for each parameter of a route. */
export function warnOfMisspelt(exchange: Exchange, label: string, steps: readonly Step[]): void {
  for (const [step, name] of misspeltNames(steps, exchange.head.queryString)) {
    if (reported.has(step)) continue
    reported.add(step)
    warnOf(exchange, `${label} ignores ${JSON.stringify(name)} in the query: did the client mean ${JSON.stringify(step.key)}?`)
  }
}
