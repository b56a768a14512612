// The events of AWS Lambda that are HTTP requests.

import { Buffer } from 'node:buffer'
import { isIP } from 'node:net'

type Texts = Readonly<Record<string, string | undefined>>
type Lists = Readonly<Record<string, readonly string[] | undefined>>

/** An event of an HTTP API (payload format 2.0) or of a function URL. */
interface HttpEvent {
  readonly version: '2.0'
  readonly rawPath: string
  readonly rawQueryString: string
  readonly cookies?: readonly string[]
  readonly headers: Texts
  readonly requestContext: { readonly domainName: string; readonly http: { readonly method: string; readonly sourceIp: string } }
  readonly body?: string | null
  readonly isBase64Encoded: boolean
}

/** The common members of the older events. */
interface OlderEvent {
  readonly httpMethod: string
  readonly path: string
  readonly queryStringParameters?: Texts | null
  readonly multiValueQueryStringParameters?: Lists | null
  readonly headers?: Texts | null
  readonly multiValueHeaders?: Lists | null
  readonly body?: string | null
  readonly isBase64Encoded: boolean
}

/** An event of a REST API, or of an HTTP API with payload format 1.0. */
interface RestEvent extends OlderEvent {
  /** Of an HTTP API; a REST API states none. */
  readonly version?: '1.0'
  readonly requestContext: { readonly domainName?: string; readonly identity: { readonly sourceIp: string } }
}

/** An event of a load balancer, with or without "multi-value headers" in its target group. */
interface BalancerEvent extends OlderEvent {
  readonly requestContext: { readonly elb: object }
}

/** A request as API Gateway (payload formats 1.0 and 2.0), a function URL or an Application Load Balancer passes it to a function. */
export type LambdaEvent = HttpEvent | RestEvent | BalancerEvent

export type EventKind = 'http' | 'rest' | 'balancer'

/** Undefined for what is not an HTTP request, such as an event of a queue. */
export function kindOfEvent(event: LambdaEvent | null | undefined): EventKind | undefined {
  const { http, identity, elb } = Object(event?.requestContext) as Readonly<Record<string, unknown>>
  return http !== undefined ? 'http' : elb !== undefined ? 'balancer' : identity !== undefined ? 'rest' : undefined
}

/** Converts the event to a request, with the client's address as AWS states it: empty if that is not an address. */
export function requestOf(event: LambdaEvent, kind: EventKind): { request: Request; address: string } {
  const { headers, address, method, url } = kind === 'http' ? ofHttp(event as HttpEvent) : ofOlder(event as RestEvent | BalancerEvent)
  const hasBody = typeof event.body === 'string' && event.body !== '' && method !== 'GET' && method !== 'HEAD'
  if (!hasBody) headers.delete('content-length')
  const body = hasBody ? Buffer.from(event.body!, event.isBase64Encoded ? 'base64' : 'utf8') : null
  const request = new Request(url, { method: hasBody ? 'POST' : 'GET', headers, body })
  // The server must see both as they are to refuse them: a Request has no dot segments, and no method such as TRACE.
  for (const [name, value] of Object.entries({ url, method }))
    if (request[name as 'url' | 'method'] !== value) Object.defineProperty(request, name, { value })
  return { request, address: isIP(address) === 0 ? '' : address }
}

interface Parts {
  readonly headers: Headers
  readonly address: string
  readonly method: string
  readonly url: string
}

function ofHttp({ headers, cookies, requestContext, rawPath, rawQueryString }: HttpEvent): Parts {
  const fields = fieldsOf(headers)
  if (cookies !== undefined) fields.set('cookie', cookies.join('; ').replace(NOT_IN_FIELDS, '\x01'))
  const { method, sourceIp } = requestContext.http
  const { domainName } = requestContext
  const path = OF_FUNCTION_URLS.test(domainName) ? rawPath : encoded(rawPath)
  return { headers: fields, address: sourceIp, method, url: urlOf('https', domainName, path, rawQueryString) }
}

/** The only domains of function URLs. */
const OF_FUNCTION_URLS = /\.lambda-url\.[\w-]+\.on\.aws$/i

/**
 * Encodes the path of an HTTP API, which decodes it before it looks for a route and its authorizer. Decoded twice, it could match another route. All
 * others pass the path as the client has sent it.
 */
function encoded(path: string): string {
  return path.replaceAll('%', '%25')
}

/** As a load balancer that preserves client ports states it. */
const WITH_PORT = /^(?:\[(.*)\]|([\d.]+)):\d+$/

function ofOlder(event: RestEvent | BalancerEvent): Parts {
  const { requestContext, httpMethod: method, path } = event
  const headers = fieldsOf(event.multiValueHeaders ?? event.headers ?? {})
  // A load balancer passes the query as it was sent, and API Gateway decodes it.
  const isDecoded = 'identity' in requestContext
  const part = (text: string): string => (isDecoded ? encodeURIComponent(wellFormed(text)) : text)
  const query = pairsOf(event.multiValueQueryStringParameters ?? event.queryStringParameters ?? {})
    .map(([name, value]) => `${part(name)}=${part(value)}`)
    .join('&')
  if (isDecoded) {
    const host = headers.get('host') ?? requestContext.domainName ?? 'localhost'
    const written = (event as RestEvent).version === '1.0' ? encoded(path) : path
    return { headers, address: requestContext.identity.sourceIp, method, url: urlOf('https', host, written, query) }
  }
  // The load balancer adds the address of its client at the end.
  const last = headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() ?? ''
  const [, v6, v4] = WITH_PORT.exec(last) ?? []
  const address = v6 ?? v4 ?? last
  const scheme = headers.get('x-forwarded-proto') === 'https' ? 'https' : 'http'
  return { headers, address, method, url: urlOf(scheme, headers.get('host') ?? 'localhost', path, query) }
}

/** `Headers` throws for these values; the server refuses a control character with 400, and logs that. */
const NOT_IN_FIELDS = /[^\t\x20-\xff]/g

/** RFC 9110 §5.6.2. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

function fieldsOf(fields: Texts | Lists): Headers {
  return new Headers(
    pairsOf(fields).map(([name, value]) => (TOKEN.test(name) ? [name, value.replace(NOT_IN_FIELDS, '\x01')] : ['not-a-name', '\x01'])),
  )
}

function pairsOf(values: Texts | Lists): [name: string, value: string][] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one): [string, string] => [name, one]),
  )
}

/** Characters that a path in a URL may not contain unencoded. */
const NOT_IN_PATHS = /[^!-~]|["#<>?\\`{}]/gu

/**
 * Encodes part by part, so that no part can end another: HTTP APIs decode the path, and clients choose the host. An invalid host is left out. The
 * path stays the one that the gateway has matched and let pass: the URL parser would resolve dot segments and remove line breaks.
 */
function urlOf(scheme: string, host: string, path: string, query: string): string {
  const url = new URL(`${scheme}://localhost`)
  url.host = host
  url.search = query
  const written = wellFormed(path).replace(NOT_IN_PATHS, encodeURIComponent)
  return `${url.origin}${written.startsWith('/') ? '' : '/'}${written}${url.search}`
}

/** Without halves of surrogate pairs, which cannot be encoded. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}
