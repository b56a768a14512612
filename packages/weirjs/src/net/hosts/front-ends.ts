// The origins of a program's own pages that another server serves.

import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { isLocalName } from '../../base/this-machine.ts'

/**
 * Checks that they are origins as browsers send them. A page that arrives over plain HTTP could be changed on the way, so `http:` is allowed only
 * for this machine.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function checkedFrontEnds(given: readonly string[], owner: string, option: string): readonly string[] {
  if (!Array.isArray(given)) throw invalid(owner, `${option} is ${shown(given)}, not a list of origins such as ["https://app.example.com"]`)
  for (const one of given as readonly unknown[]) {
    const url = typeof one === 'string' && URL.canParse(one) ? new URL(one) : null
    if (url === null || !/^https?:$/.test(url.protocol))
      throw invalid(owner, `${option}: ${shown(one)} is not an origin such as "https://app.example.com"`)
    if (url.origin !== one) throw invalid(owner, `${option}: ${shown(one)} is not an origin: write ${JSON.stringify(url.origin)}`)
    if (url.protocol === 'http:' && !isLocalName(url.hostname))
      throw invalid(
        owner,
        `${option}: ${shown(one)} is neither https nor on this machine, so anybody on the way could change its pages: write https://`,
      )
  }
  return Object.freeze([...given])
}
