// Parameters that a client has probably misspelt. They are ignored like all others that a route does not declare, because links carry such
// names as `utm_source`; whoever develops the program is told.

import { isMeant } from '../../base/options.ts'
import { parseForm } from '../../formats/form.ts'
import type { Exchange } from '../../http/exchange.ts'
import { warnOf } from '../debugged.ts'
import type { Step } from './binder.ts'

/** Parameters about which a warning was logged. */
const reported = new WeakSet<Step>()

/** The name in the query by which a parameter that is missing was probably meant; null if there is none. */
export function misspeltName(step: Step, steps: readonly Step[], queryString: string): string | null {
  if (step.source !== 'query' || queryString === '') return null
  const names = parseForm(queryString).filter((_, i) => i % 2 === 0)
  if (names.includes(step.key)) return null
  const others = names.filter((name) => !steps.some(({ source, key }) => source === 'query' && key === name))
  return others.find((name) => isMeant(name.replace(/\[\]$/, ''), step.key)) ?? null
}

/** Warns once for each parameter of a route. */
export function warnOfMisspelt(exchange: Exchange, label: string, steps: readonly Step[]): void {
  for (const step of steps) {
    if (reported.has(step)) continue
    const name = misspeltName(step, steps, exchange.head.queryString)
    if (name === null) continue
    reported.add(step)
    warnOf(exchange, `${label} ignores ${JSON.stringify(name)} in the query: did the client mean ${JSON.stringify(step.key)}?`)
  }
}
