// Fields that a program wants on its files, beside those that the module sets itself.

import { invalid } from '../../base/options.ts'
import { HttpResponse } from '../../http/answer/response.ts'

/** Fields by their names, for every file, or by its path below the root. */
export type StaticHeaders = Readonly<Record<string, string>> | ((path: string) => Readonly<Record<string, string>>)

/** What says which bytes these are is never a matter of opinion. */
const OWN = /^(?:etag|last-modified|accept-ranges|content-(?:encoding|length|range)|vary|cache-control|connection|transfer-encoding)$/i

/** @throws WEIR_OPTION_INVALID for what cannot be sent, from what it returns as well */
export function headersOf(option: StaticHeaders): (path: string) => Readonly<Record<string, string>> {
  if (typeof option === 'function') return (path) => checked(option(path))
  const headers = checked(option)
  return () => headers
}

function checked(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (typeof headers !== 'object' || headers === null) throw invalid('static', `headers is ${typeof headers}, not fields by their names`)
  for (const [name, value] of Object.entries(headers)) {
    if (OWN.test(name)) throw invalid('static', `headers: ${name} is the module's own`)
    if (typeof value !== 'string') throw invalid('static', `headers: ${name} is ${typeof value}, not a text`)
    try {
      new HttpResponse().header(name, value)
    } catch (error) {
      throw invalid('static', `headers: ${(error as Error).message}`)
    }
  }
  return headers
}
