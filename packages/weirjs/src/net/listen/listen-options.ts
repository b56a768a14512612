// Where a server listens: the options and their checks.

import { Buffer } from 'node:buffer'
import type { SecureContext, SecureContextOptions, TlsOptions } from 'node:tls'

import { WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { count, flag, matching, oneOf, readBy, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import type { Endpoint } from '../../http/session.ts'

import { checkedHosts, type HostsOption } from '../hosts/host-names.ts'

/**
 * Certificate, key and so on, as in `node:tls` (`key`, `cert`, `pfx`, `ca`, `requestCert`, …), and certificates by server name. The lowest
 * version is TLS 1.2. The server itself decides which protocols ALPN offers, by the option `http2`.
 * @example
 * const tls: ServerTlsOptions = { key: readFileSync('key.pem'), cert: readFileSync('cert.pem') }
 * new HttpServer({ tls, http2: true })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/tls.md
 */
export interface ServerTlsOptions extends Omit<TlsOptions, 'ALPNProtocols' | 'ALPNCallback' | 'secureProtocol' | 'secureContext'> {
  /**
   * Certificates by the server name that the client sends (SNI): `example.org`, or `*.example.org` for names with one more label. An entry
   * inherits what it does not set, such as `ca`, from the options around `sni`. A name without an entry gets the certificate of those
   * options. Cannot be combined with `SNICallback`.
   *
   * With `requestCert` and an entry that has a `ca`, `crl` or `pfx` of its own, a request for a host other than the handshake's is
   * refused (421 `WEIR_MISDIRECTED`), and no session is resumed.
   */
  readonly sni?: Readonly<Record<string, SecureContextOptions>>
  /**
   * Answers the challenge tls-alpn-01 (RFC 8737), by which a CA checks that a name leads here: returns a certificate with a P-256 key for a handshake
   * that speaks nothing but `acme-tls/1`, or null to refuse the handshake. The connection ends after it. What `@weirjs/acme` sets. Needs Node
   * 20.17, 22.5 or newer. Default: such handshakes are refused.
   */
  readonly acmeChallenge?: (serverName: string) => SecureContext | null
}

interface CommonListenOptions {
  /** A name for `endpoint` of routes. Several entries may share one. Default: none. */
  readonly name?: string
  /** Speaks TLS here. Default: no TLS. */
  readonly tls?: ServerTlsOptions
  /**
   * True: speaks HTTP/2 in addition to HTTP/1.1; the client chooses (ALPN). Requires `tls`. `'cleartext'`: speaks HTTP/2 alone, without TLS, to
   * clients that know it beforehand ("prior knowledge"), such as a proxy; a client that sends HTTP/1.1 gets a 505. Default false.
   */
  readonly http2?: boolean | 'cleartext'
  /**
   * `'required'`: every connection must begin with a PROXY header, version 1 or 2, before TLS. Only peers in `proxies.trust` may connect; other
   * connections are closed without a response. Default: no PROXY header is accepted.
   */
  readonly proxyProtocol?: 'required'
  /** The hosts that are answered at this endpoint, in place of the server's. Not for a Unix socket, where Host is not checked. */
  readonly hosts?: HostsOption
}

/** An address and a port to listen on. */
interface TcpListenOptions extends CommonListenOptions {
  /** Default `127.0.0.1`. */
  readonly address?: string
  /** Default 0: any free port. */
  readonly port?: number
  /**
   * Lets several processes listen on one port; the system distributes the connections among them. Only on Linux and some other systems,
   * with Node 22.12, 23.1 or newer. Default false.
   */
  readonly reusePort?: boolean
  // Never set: an entry is either TCP or a Unix socket.
  readonly unixSocket?: undefined
  readonly mode?: undefined
  readonly fd?: undefined
}

/** A Unix socket to listen on. */
interface UnixListenOptions extends CommonListenOptions {
  /**
   * Path of the socket's file: at most 107 bytes on Linux, 103 on macOS and BSD. A file that a killed server left behind is replaced; one
   * that a process listens on is not.
   */
  readonly unixSocket: string
  /** Permissions of the file, such as `0o660`. Default: set by the process's umask. */
  readonly mode?: number
  readonly address?: undefined
  readonly port?: undefined
  readonly reusePort?: undefined
  readonly fd?: undefined
}

/** A socket that the parent process has opened, and that is already listening. */
interface InheritedListenOptions extends CommonListenOptions {
  /**
   * Its file descriptor in this process, at least 3. `stop` closes the descriptor; the socket stays open as long as the parent holds it, and
   * clients that connect wait for the next process. Not in a worker of `node:cluster`.
   */
  readonly fd: number
  readonly address?: undefined
  readonly port?: undefined
  readonly reusePort?: undefined
  readonly unixSocket?: undefined
  readonly mode?: undefined
}

/**
 * @example
 * const listen: ListenOptions[] = [{ address: '127.0.0.1', port: 8080 }]
 * new HttpServer({ listen })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/lifecycle.md
 */
export type ListenOptions = TcpListenOptions | UnixListenOptions | InheritedListenOptions

/** HTTP/2 without TLS. */
export const CLEARTEXT = 'cleartext'
export const DEFAULT_ADDRESS = '127.0.0.1'

/** The options of callers that no compiler has checked. */
type AnyListenOptions = { readonly [K in keyof ListenValues]?: ListenValues[K] | undefined }
interface ListenValues
  extends CommonListenOptions,
    Pick<TcpListenOptions, 'address' | 'port' | 'reusePort'>,
    Pick<UnixListenOptions, 'unixSocket' | 'mode'>,
    Pick<InheritedListenOptions, 'fd'> {}

/** Lower numbers are standard input, output and error. */
const FIRST_INHERITED = 3
/** Options that the server sets itself. */
const TLS_RESERVED = ['ALPNProtocols', 'ALPNCallback', 'secureProtocol', 'secureContext'] as const
const MODE_MAX = 0o777
/**
 * How many bytes fit into `sun_path`, without the NUL at its end. The system would cut a longer path, and listen on the result. Absent: no
 * such limit.
 */
const SOCKET_PATH_BYTES: Partial<Record<NodeJS.Platform, number>> = {
  linux: 107,
  android: 107,
  sunos: 107,
  darwin: 103,
  freebsd: 103,
  openbsd: 103,
  netbsd: 103,
}

const isNotEmpty = (value: string): boolean => value !== ''

/** Names of these options in other frameworks. */
export const LISTEN_ELSEWHERE = { host: 'address', hostname: 'address', https: 'tls', ssl: 'tls' } as const

/** @internal */
export const LISTEN_RULES = rules<AnyListenOptions>('an endpoint')(
  {
    // The system reads an empty string as all of its addresses, so an empty environment variable would open the server to everyone.
    address: text(`an address or a name such as ${DEFAULT_ADDRESS}`, isNotEmpty).optional(DEFAULT_ADDRESS),
    port: count({ most: 65_535 }).optional('0'),
    reusePort: flag(false),
    unixSocket: text('the path of a file', isNotEmpty).optional(),
    mode: matching<number>(
      'file permissions such as 0o660',
      (mode) => Number.isInteger(mode) && Number(mode) >= 0 && Number(mode) <= MODE_MAX,
    ).optional(),
    fd: matching<number>(
      `a file descriptor of at least ${FIRST_INHERITED}`,
      (fd) => Number.isInteger(fd) && Number(fd) >= FIRST_INHERITED,
    ).optional(),
    name: text('a name such as "admin"', isNotEmpty).optional(),
    tls: readBy(checkedTls).optional(),
    http2: oneOf<boolean | 'cleartext'>(true, false, CLEARTEXT).or(false),
    proxyProtocol: matching<'required'>(
      '"required": whether a header is there is never guessed',
      (given) => given === 'required',
    ).optional(),
    hosts: readBy(checkedHosts).optional("the server's"),
  },
  { elsewhere: { ...LISTEN_ELSEWHERE, path: 'unixSocket' } },
)

export function isUnix(options: ListenOptions): options is UnixListenOptions {
  return 'unixSocket' in options && options.unixSocket !== undefined
}

export function isInherited(options: ListenOptions): options is InheritedListenOptions {
  return 'fd' in options && options.fd !== undefined
}

/** The endpoint as the options state it, before it is bound. For an inherited socket, address and port are not known yet. */
export function endpointOf(options: ListenOptions): Endpoint {
  const common = {
    name: options.name ?? null,
    isSecure: options.tls !== undefined,
    http2: options.http2 === true || options.http2 === CLEARTEXT,
  }
  if (isInherited(options)) return { address: '', port: 0, isUnixSocket: false, ...common }
  if (isUnix(options)) return { address: options.unixSocket, port: 0, isUnixSocket: true, ...common }
  return { address: options.address ?? DEFAULT_ADDRESS, port: options.port ?? 0, isUnixSocket: false, ...common }
}

/** @throws WEIR_OPTION_INVALID */
export function checkListenOptions(
  options: ListenOptions,
  nodeVersion = process.versions.node,
  platform: NodeJS.Platform = process.platform,
): void {
  if (typeof options !== 'object' || options === null)
    throw invalid(`an entry of "listen" is ${shown(options)}, not an object such as { port: 8080 }`)
  const { address, port, reusePort, unixSocket, mode, fd, tls, http2, hosts } = LISTEN_RULES.read(options)
  if (unixSocket === undefined && mode !== undefined) throw invalid('"mode" is for a Unix socket: leave it out, or set "unixSocket"')
  if (unixSocket !== undefined) {
    checkSocketPath(unixSocket, platform)
    if (hosts !== undefined)
      throw invalid('"hosts" cannot be used with a Unix socket, which only programs of this machine reach: leave it out')
    if (reusePort) throw invalid('"reusePort" cannot be used with a Unix socket: leave it out')
    if (address !== undefined || port !== undefined)
      throw invalid('"unixSocket" cannot be combined with "address" or "port": leave one out')
  }
  if (fd !== undefined) {
    const other = Object.entries({ address, port, reusePort: options.reusePort, unixSocket }).find(([, value]) => value !== undefined)
    if (other !== undefined) throw invalid(`"fd" cannot be combined with "${other[0]}": leave one out`)
  }
  if (reusePort && !hasReusePort(nodeVersion))
    throw invalid(`"reusePort" needs Node 22.12 or 23.1, this is ${nodeVersion}: update it, or leave the option out`)
  if (http2 === true && tls === undefined)
    throw invalid(`"http2" requires "tls": set it, or write http2: ${JSON.stringify(CLEARTEXT)} for HTTP/2 without TLS`)
  if (http2 === CLEARTEXT && tls !== undefined)
    throw invalid(`"http2" is ${JSON.stringify(CLEARTEXT)}, and there is "tls": write http2: true`)
}

function checkSocketPath(path: string, platform: NodeJS.Platform): void {
  const most = SOCKET_PATH_BYTES[platform]
  const length = Buffer.byteLength(path)
  if (most !== undefined && length > most)
    throw invalid(`the path of a Unix socket has at most ${most} bytes here, "unixSocket" has ${length}: use a shorter one than ${path}`)
}

function hasReusePort(nodeVersion: string): boolean {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)
}

function checkedTls(tls: ServerTlsOptions): ServerTlsOptions {
  checkTlsOptions(tls)
  return tls
}

/** Checks what can be checked without OpenSSL. @throws WEIR_OPTION_INVALID */
export function checkTlsOptions(tls: ServerTlsOptions): void {
  if (typeof tls !== 'object' || tls === null) throw invalid('"tls" is not an object of options such as { key, cert }')
  for (const name of TLS_RESERVED) if (name in tls) throw invalid(`"tls.${name}" cannot be set: leave it out, the server decides it`)
  const { key, cert, pfx, sni, SNICallback, pskCallback, minVersion, acmeChallenge } = tls
  if (sni !== undefined && SNICallback !== undefined) throw invalid('"tls" has both "sni" and "SNICallback": leave one out')
  if (!(pfx || (key && cert) || sni || SNICallback || pskCallback))
    throw invalid('"tls" has no certificate: set "key" and "cert", or "pfx"')
  for (const [name, pem] of Object.entries({ key, cert }))
    if (typeof pem === 'string' && /^[^\n]{1,300}\.(?:pem|key|crt|cer|cert)$/.test(pem))
      throw invalid(`"tls.${name}" is a path, not what the file contains: write readFileSync(path)`)
  if (acmeChallenge !== undefined && typeof acmeChallenge !== 'function')
    throw invalid(`"tls.acmeChallenge" is ${shown(acmeChallenge)}, not a function`)
  if (minVersion === 'TLSv1' || minVersion === 'TLSv1.1')
    throw invalid(`"tls.minVersion" is ${minVersion}: the lowest version allowed is TLS 1.2, so leave it out or write "TLSv1.3"`)
  for (const name of Object.keys(sni ?? {})) {
    if (!/^(?:\*\.)?[^*]+$/.test(name))
      throw invalid(`"tls.sni" has ${JSON.stringify(name)}, not a name such as "example.org" or "*.example.org"`)
  }
}

function invalid(detail: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', detail)
}
