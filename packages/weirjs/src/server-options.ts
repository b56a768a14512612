// The options of a server and their check, whose errors name the wrong option to programs that no compiler has checked.

import type { OnError } from './app/dispatch.ts'
import type { Logger } from './app/logger.ts'
import { WeirError } from './base/errors.ts'
import { kindOf, shown } from './base/kind-of.ts'
import { LIMIT_RULES, type LimitOptions, resolveLimits, resolveTimeouts, TIMEOUT_RULES, type TimeoutOptions } from './base/limits.ts'
import { anything, flag, func, having, oneOf, readBy } from './base/option-kinds.ts'
import { rules } from './base/option-rules.ts'
import { invalid } from './base/options.ts'
import { isLocalName } from './base/this-machine.ts'
import { checkedEngine, type JsonEngine } from './http/json-engine.ts'
import { checkedHosts, type HostsOption } from './net/hosts/host-names.ts'
import { LISTEN_ELSEWHERE, type ListenOptions, type ServerTlsOptions } from './net/listen/listen-options.ts'
import { BasePath } from './net/proxies/base-path.ts'
import { Proxies, type ProxyOptions } from './net/proxies/proxies.ts'

/**
 * @example
 * const options: ServerOptions = { limits: { maxRequestBodySize: '10MiB' }, debug: true }
 * new HttpServer(options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/lifecycle.md
 */
export interface ServerOptions {
  /** Address to listen on. Default `127.0.0.1`, which other machines cannot reach; `0.0.0.0` and `::` are all addresses. */
  readonly address?: string
  /** Port to listen on. Default 0: any free port, which `server.port` returns. */
  readonly port?: number
  /** Path of a Unix socket to listen on instead: at most 107 bytes on Linux, 103 on macOS and BSD. */
  readonly unixSocket?: string
  /** Speaks TLS: certificate, key and so on, as in `node:tls`, and certificates by server name. */
  readonly tls?: ServerTlsOptions
  /**
   * True: speaks HTTP/2 in addition to HTTP/1.1; the client chooses. Requires `tls`. `'cleartext'`: speaks HTTP/2 alone, without TLS. Default false.
   */
  readonly http2?: boolean | 'cleartext'
  /**
   * Several endpoints to listen on, in place of `address`, `port`, `unixSocket`, `tls` and `http2`. `'inherited'`: the sockets that the
   * parent process has opened and passed by LISTEN_FDS, as systemd does; `tls` and `http2` then apply to all of them.
   */
  readonly listen?: readonly ListenOptions[] | 'inherited'
  /**
   * The proxies in front of the server, and the fields with which they state who the client is. Default: no proxies, and no such field is read.
   */
  readonly proxies?: ProxyOptions
  /**
   * The hosts that are answered; any other gets a 421. `app.example.org` stands for every port, `localhost:8080` for one, `*.example.org` for
   * one or more labels in place of the asterisk. `'any'`: every host. `proxies.hosts` are answered too. Not on Unix sockets. Default: at a
   * loopback address, without `proxies`, the names of this machine; elsewhere the names in `proxies.hosts`, or every host if there are none.
   */
  readonly hosts?: HostsOption
  /**
   * The origins of the program's own pages that another server serves, such as `https://app.example.com`: https, or http on this machine. They may
   * read responses (`weirjs/cors`), send requests that change something (`weirjs/csrf`) and open WebSockets, unless these modules state origins of
   * their own. Default none.
   */
  readonly frontEnds?: readonly string[]
  /**
   * The path below which the whole application is, such as `/app`: routes, `request.path` and `request.url` do not contain it, and `Location`, the
   * paths of cookies and `session.basePath` do. Requests outside of it get 404. Or the field in which a trusted proxy states the path that it
   * has removed: `'x-forwarded-prefix'`, or `'x-ingress-path'` for Home Assistant. Default: the root.
   */
  readonly basePath?: string
  readonly limits?: LimitOptions
  readonly timeouts?: TimeoutOptions
  /** Default: `JSON`. */
  readonly jsonEngine?: JsonEngine
  /**
   * Receives errors that the client is not told about. Default `console`; null: they are not reported. A logger with a `child` function,
   * such as pino, is called as `error({ err, requestId }, message)`, any other as `error(message, error)`.
   */
  readonly logger?: Logger | null
  readonly onError?: OnError
  /** Status of the response to a body that does not fit the schema of its route: 400, or 422 (RFC 9110 §15.5.21). Default 400. */
  readonly invalidBodyStatus?: 400 | 422
  /**
   * Shows errors to clients, explained, and in browsers as a page (docs/guide/explaining.md), and overwrites the memory of expired bodies.
   * Never in production. Default false, or true for a program that `weir dev` runs.
   */
  readonly debug?: boolean
  /**
   * Whether connections share one receive buffer, if Node supports it. Default true; false reads with `data` events, which is a little slower.
   */
  readonly sharedReceiveBuffer?: boolean
}

const OWNER = 'new HttpServer()'
/** @internal `Places` reads the options that say where to listen. */
export const SERVER_RULES = rules<ServerOptions>(OWNER)(
  {
    address: anything().optional('127.0.0.1'),
    port: anything().optional('0'),
    unixSocket: anything().optional(),
    tls: anything().optional(),
    http2: anything().optional('false'),
    listen: anything().optional(),
    proxies: readBy((proxies: ProxyOptions) => new Proxies(proxies)).orNull(),
    basePath: readBy((given: string, owner, option) => BasePath.read(given, owner, option)).orNull('the root'),
    frontEnds: readBy(checkedFrontEnds).or([]),
    hosts: readBy(checkedHosts).orNull('[Hosts](hosts.md)'),
    limits: readBy((limits: LimitOptions) => resolveLimits(limits)).or({}, '[Limits](../limits.md)'),
    timeouts: readBy((timeouts: TimeoutOptions) => resolveTimeouts(timeouts)).or({}, '[Limits](../limits.md)'),
    jsonEngine: readBy(checkedEngine).nullable().orNull('JSON'),
    logger: having(['error'], 'it is called as error(message, detail)').nullable().optional('console'),
    onError: func().nullable().orNull(),
    invalidBodyStatus: oneOf(400, 422).or(400),
    debug: flag(false),
    sharedReceiveBuffer: flag(true),
  },
  { elsewhere: { ...LISTEN_ELSEWHERE, trustProxy: 'proxies', prefix: 'basePath', errorHandler: 'onError' } },
)

type ServerSettings = typeof SERVER_RULES.settings

/** The options of either constructor. @throws WEIR_OPTION_INVALID for a port or options without an address: they would be ignored */
export function settingsOf(first?: string | ServerOptions, port?: number, options?: ServerOptions): ServerOptions {
  if (typeof first === 'string') return { ...options, address: first, ...(port === undefined ? {} : { port }) }
  if (port !== undefined || options !== undefined)
    throw invalid('new HttpServer(address, port, options)', `address is ${shown(first)}, not a string`)
  return first === undefined ? {} : first
}

/**
 * Refuses misspelt options, because a misspelt limit would not be enforced, and wrong ones, which would otherwise be noticed only at the first error.
 * @throws WEIR_OPTION_INVALID
 */
export function checkedOptions(options: ServerOptions): ServerSettings {
  if (typeof options !== 'object' || options === null) {
    throw new WeirError(
      'WEIR_OPTION_INVALID',
      `new HttpServer(address, port, options) or (options), not ${kindOf(options)}${typeof options === 'number' ? `: write { port: ${options} }` : ''}`,
    )
  }
  for (const [group, { names }] of [
    ['limits', LIMIT_RULES],
    ['timeouts', TIMEOUT_RULES],
  ] as const)
    for (const name of Object.keys(options))
      if (names.includes(name)) throw invalid(OWNER, `${name} is one of the ${group}: write { ${group}: { ${name} } }`)
  const settings = SERVER_RULES.read(options)
  if (settings.basePath?.isStated === true && settings.proxies === null)
    throw invalid(OWNER, `basePath is ${shown(options.basePath)}, which only a proxy may state: write proxies: { trust: […] }`)
  return settings
}

/**
 * Checks that the origins of a program's own pages, which another server serves, are origins as browsers send them. A page that arrives over plain HTTP could be changed on the way, so `http:` is allowed only
 * for this machine.
 *
 * @throws WEIR_OPTION_INVALID
 */
function checkedFrontEnds(given: readonly string[], owner: string, option: string): readonly string[] {
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
