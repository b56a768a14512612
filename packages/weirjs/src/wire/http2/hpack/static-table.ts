// The static table (RFC 7541 Appendix A), to read by index and to write by name.

import { HeaderField } from './header-field.ts'

/** The entries from index 1 on: a name, a tab and a value, or only a name. */
const ENTRIES = `:authority
:method\tGET
:method\tPOST
:path\t/
:path\t/index.html
:scheme\thttp
:scheme\thttps
:status\t200
:status\t204
:status\t206
:status\t304
:status\t400
:status\t404
:status\t500
accept-charset
accept-encoding\tgzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`.split('\n')

/** By index. Index 0 is not used, and its entry is empty. */
export const STATIC_TABLE: readonly HeaderField[] = ['', ...ENTRIES].map((entry) => {
  const [name, value] = entry.split('\t')
  return new HeaderField(name!, value ?? '')
})

/** The highest index of the static table. Higher ones belong to the dynamic table. */
export const LAST_STATIC = STATIC_TABLE.length - 1

/** The entries of one name are consecutive: the index of the first, and the index after the last. */
interface StaticName {
  readonly first: number
  readonly end: number
}

export const STATIC_NAMES: ReadonlyMap<string, StaticName> = buildNames()

function buildNames(): Map<string, StaticName> {
  const names = new Map<string, StaticName>()
  for (let index = 1; index <= LAST_STATIC; index++) {
    const { name } = STATIC_TABLE[index]!
    names.set(name, { first: names.get(name)?.first ?? index, end: index + 1 })
  }
  return names
}
