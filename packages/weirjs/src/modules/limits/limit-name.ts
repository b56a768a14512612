// Names of limits. Clients see them, in structured fields and in problem documents.

import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'

/** @throws WEIR_OPTION_INVALID */
export function limitName(owner: string, name: string): string {
  if (typeof name === 'string' && /^[\w.-]{1,64}$/.test(name)) return name
  throw invalid(owner, `name is ${shown(name)}, not 1 to 64 letters, digits, "-", "_" and "."`)
}
