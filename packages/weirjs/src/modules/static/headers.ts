// Fields that the program sets on its files in addition to the module's own.

import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { HttpResponse } from '../../http/response/response.ts'

/** Fields by name, for every file or by its path below the root. */
export type StaticHeaders = Readonly<Record<string, string>> | ((path: string) => Readonly<Record<string, string>>)

/** Fields that describe the sent bytes. Only the module may set them. */
const OWN = /^(?:etag|last-modified|accept-ranges|content-(?:encoding|length|range)|vary|cache-control|connection|transfer-encoding)$/i

/** @throws WEIR_OPTION_INVALID for fields that cannot be sent; the returned function throws it too */
export function headersOf(option: StaticHeaders): (path: string) => Readonly<Record<string, string>> {
  if (typeof option === 'function') return (path) => checked(option(path))
  const headers = checked(option)
  return () => headers
}

function checked(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (typeof headers !== 'object' || headers === null) throw invalid('static', `headers is ${shown(headers)}, not an object of fields`)
  for (const [name, value] of Object.entries(headers)) {
    if (OWN.test(name)) throw invalid('static', `headers: ${name} is set by the module itself: leave it out`)
    if (typeof value !== 'string') throw invalid('static', `headers: ${name} is ${shown(value)}, not a string`)
    try {
      new HttpResponse().header(name, value)
    } catch (error) {
      throw invalid('static', `headers: ${(error as Error).message}`)
    }
  }
  return headers
}
