// weir in AWS Lambda: converts the events of API Gateway (HTTP APIs), function URLs and Application Load Balancers.
import { isUtf8 } from 'node:buffer'
import type { HttpServer } from 'weirjs'

/** An event of an HTTP API (payload format 2.0) or of a function URL. */
interface HttpEvent {
  readonly version: '2.0'
  readonly rawPath: string
  readonly rawQueryString: string
  readonly cookies?: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly requestContext: { readonly domainName: string; readonly http: { readonly method: string; readonly sourceIp: string } }
  readonly body?: string | null
  readonly isBase64Encoded: boolean
}

/** An event of a load balancer, with or without "multi-value headers" in its target group. */
interface BalancerEvent {
  readonly requestContext: { readonly elb: object }
  readonly httpMethod: string
  readonly path: string
  readonly queryStringParameters?: Readonly<Record<string, string>>
  readonly multiValueQueryStringParameters?: Readonly<Record<string, readonly string[]>>
  readonly headers?: Readonly<Record<string, string>>
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>
  readonly body?: string | null
  readonly isBase64Encoded: boolean
}

export type LambdaEvent = HttpEvent | BalancerEvent

export function lambdaHandler(server: HttpServer): (event: LambdaEvent) => Promise<object> {
  return async (event) => {
    const isHttp = 'version' in event
    const { headers, address, method, url } = isHttp ? ofHttp(event) : ofBalancer(event)
    const hasBody = typeof event.body === 'string' && event.body !== '' && method !== 'GET' && method !== 'HEAD'
    const body = hasBody ? Buffer.from(event.body!, event.isBase64Encoded ? 'base64' : 'utf8') : null
    if (body === null) headers.delete('content-length')
    const request = new Request(url, { method, headers, body })
    const response = await server.fetch(request, { peer: { address } })
    const bytes = Buffer.from(await response.arrayBuffer())
    const isText = isUtf8(bytes)
    const sent = { statusCode: response.status, body: bytes.toString(isText ? 'utf8' : 'base64'), isBase64Encoded: !isText }
    const cookies = response.headers.getSetCookie()
    response.headers.delete('set-cookie')
    const fields = Object.fromEntries(response.headers)
    if (isHttp) return { ...sent, headers: fields, cookies }
    const statusDescription = `${response.status} ${response.statusText}`
    if (event.multiValueHeaders === undefined) {
      const cookie = cookies.at(-1) // without multi-value headers, a load balancer sends only one
      return { ...sent, statusDescription, headers: cookie === undefined ? fields : { ...fields, 'set-cookie': cookie } }
    }
    const lists = Object.entries(fields).map(([name, value]): [string, string[]] => [name, [value]])
    return { ...sent, statusDescription, multiValueHeaders: Object.fromEntries([...lists, ['set-cookie', cookies]]) }
  }
}

function ofHttp({ headers, cookies, requestContext, rawPath, rawQueryString }: HttpEvent) {
  const fields = new Headers(headers)
  if (cookies !== undefined) fields.set('cookie', cookies.join('; '))
  const { method, sourceIp } = requestContext.http
  return { headers: fields, address: sourceIp, method, url: urlOf('https', requestContext.domainName, rawPath, rawQueryString) }
}

function ofBalancer(event: BalancerEvent) {
  const { headers = {}, multiValueHeaders, httpMethod, path } = event
  const all = Object.entries(multiValueHeaders ?? headers).flatMap(([name, values]) => [values].flat().map((value) => [name, value]))
  const fields = new Headers(all as [string, string][])
  // They are not decoded.
  const { queryStringParameters = {}, multiValueQueryStringParameters } = event
  const query = Object.entries(multiValueQueryStringParameters ?? queryStringParameters)
  const pairs = query.flatMap(([name, values]) => [values].flat().map((value) => `${name}=${value}`))
  // The load balancer adds the address of its client at the end.
  const address = fields.get('x-forwarded-for')?.split(',').at(-1)?.trim() ?? ''
  const scheme = fields.get('x-forwarded-proto') === 'https' ? 'https' : 'http'
  return { headers: fields, address, method: httpMethod, url: urlOf(scheme, fields.get('host') ?? 'localhost', path, pairs.join('&')) }
}

/** HTTP APIs decode the path, so it may contain characters that would end it. */
function urlOf(scheme: string, host: string, path: string, query: string): string {
  return `${scheme}://${host}${path.replace(/[?#]/g, encodeURIComponent)}${query === '' ? '' : `?${query}`}`
}
