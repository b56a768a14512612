// The name of a program: it becomes part of a file name, of a cookie and of a page.

import { invalid, shown } from '../kit/index.ts'

const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/

/** @throws WEIR_OPTION_INVALID */
export function checkName(owner: string, name: unknown): string {
  if (typeof name === 'string' && NAME.test(name)) return name
  throw invalid(owner, `name is ${shown(name)}, not up to 40 lower-case letters, digits and "-", such as disk-usage`)
}
