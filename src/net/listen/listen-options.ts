// Where a server listens: the options, and what may not be asked for.

import { Buffer } from 'node:buffer'
import type { SecureContextOptions, TlsOptions } from 'node:tls'

import { WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { namesOf } from '../../base/options.ts'
import type { Endpoint } from '../../http/session.ts'

/**
 * Certificate, key and so on, as `node:tls` takes them (`key`, `cert`, `pfx`, `ca`, `requestCert`, …), and certificates by server name.
 * TLS 1.2 is the least that is spoken. Which protocols ALPN offers is the server's own: say `http2`.
 */
export interface ServerTlsOptions extends Omit<TlsOptions, 'ALPNProtocols' | 'ALPNCallback' | 'secureProtocol' | 'secureContext'> {
  /**
   * Certificates by the name that the client asks for (SNI): `example.org`, or `*.example.org` for names of one more label. What an entry does
   * not say, such as `ca`, is as beside it; a name that no entry has gets the certificate beside it. Not together with `SNICallback`.
   *
   * With `requestCert` and an entry that has a `ca`, `crl` or `pfx` of its own, a request for another host than its handshake is refused
   * (421 `WEIR_MISDIRECTED`), and no session is resumed.
   */
  readonly sni?: Readonly<Record<string, SecureContextOptions>>
}

interface Secured {
  /** Speaks TLS here. Default: not. */
  readonly tls?: ServerTlsOptions
  /** Speaks HTTP/2 beside HTTP/1.1, as the client chooses (ALPN). Needs `tls`. Default false. */
  readonly http2?: boolean
}

/** An address and a port to listen on. */
export interface TcpListenOptions extends Secured {
  /** Default `127.0.0.1`. */
  readonly address?: string
  /** Default 0: any free port. */
  readonly port?: number
  /**
   * Lets several processes listen on one port; the system shares the connections out among them. Linux and some other systems; Node 22.12
   * or 23.1 and newer. Default false.
   */
  readonly reusePort?: boolean
}

/** A Unix socket to listen on. */
export interface UnixListenOptions extends Secured {
  /**
   * Path of the socket's file: at most 107 bytes on Linux, 103 on macOS and BSD. One that a server left behind which is gone is replaced; one
   * that somebody listens on is not.
   */
  readonly unixSocket: string
  /** Permissions of the file, such as `0o660`. Default: as the process's umask has it. */
  readonly mode?: number
}

export type ListenOptions = TcpListenOptions | UnixListenOptions

/** The places of a server: a list, or one in the options of the server itself. */
type PlaceOptions = Partial<TcpListenOptions & UnixListenOptions> & { readonly listen?: readonly ListenOptions[] }

export const DEFAULT_ADDRESS = '127.0.0.1'

const NAMES: ReadonlySet<string> = new Set(
  namesOf<TcpListenOptions & UnixListenOptions>()(['address', 'port', 'reusePort', 'unixSocket', 'mode', 'tls', 'http2']),
)
/** What the server decides itself. */
const TLS_RESERVED = ['ALPNProtocols', 'ALPNCallback', 'secureProtocol', 'secureContext'] as const
const MODE_MAX = 0o777
/** What `sun_path` takes beside the NUL at its end. The system would cut a longer path, and listen at what is left. Absent: no such limit. */
const SOCKET_PATH_BYTES: Partial<Record<NodeJS.Platform, number>> = {
  linux: 107,
  android: 107,
  sunos: 107,
  darwin: 103,
  freebsd: 103,
  openbsd: 103,
  netbsd: 103,
}

export function isUnix(options: ListenOptions): options is UnixListenOptions {
  return 'unixSocket' in options && options.unixSocket !== undefined
}

/** Where it is asked to listen, as far as that is known before it does. */
export function endpointOf(options: ListenOptions): Endpoint {
  const common = { isSecure: options.tls !== undefined, http2: options.http2 === true }
  if (isUnix(options)) return { address: options.unixSocket, port: 0, isUnixSocket: true, ...common }
  return { address: options.address ?? DEFAULT_ADDRESS, port: options.port ?? 0, isUnixSocket: false, ...common }
}

/** The places to listen on, in either way of saying it. @throws WEIR_OPTION_INVALID */
export function placesOf(options: PlaceOptions): readonly ListenOptions[] {
  const { listen, address, port, unixSocket, tls, http2 } = options
  const given = Object.entries({ address, port, unixSocket, tls, http2 }).filter(([, value]) => value !== undefined)
  if (listen !== undefined && given.length > 0) {
    throw invalid(`"${given[0]![0]}" belongs into an entry of "listen"`)
  }
  const places = listen ?? [Object.fromEntries(given) as ListenOptions]
  if (!Array.isArray(places) || places.length === 0) throw invalid('"listen" is a list of places')
  for (const place of places) checkListenOptions(place)
  return places
}

/** @throws WEIR_OPTION_INVALID */
export function checkListenOptions(
  options: ListenOptions,
  nodeVersion = process.versions.node,
  platform: NodeJS.Platform = process.platform,
): void {
  if (typeof options !== 'object' || options === null) throw invalid(`an entry of "listen" is ${shown(options)}`)
  for (const name of Object.keys(options)) if (!NAMES.has(name)) throw invalid(`an entry of "listen" has no "${name}"`)
  const { address, port, reusePort, unixSocket, mode, tls, http2 } = options as TcpListenOptions & Partial<UnixListenOptions>
  // The system takes nothing for all of its addresses: an empty variable of the environment would open the server to everybody.
  if (address !== undefined && (typeof address !== 'string' || address === ''))
    throw invalid(`address is ${shown(address)}, not an address or a name such as ${DEFAULT_ADDRESS}`)
  if (port !== undefined && (!Number.isInteger(port) || port < 0 || port > 65535)) {
    throw invalid(`port is ${shown(port)}, not a whole number from 0 to 65535`)
  }
  if (reusePort !== undefined && typeof reusePort !== 'boolean') throw invalid(`reusePort is ${shown(reusePort)}, not true or false`)
  if (http2 !== undefined && typeof http2 !== 'boolean') throw invalid(`http2 is ${shown(http2)}, not true or false`)
  if (unixSocket === undefined && mode !== undefined) throw invalid('"mode" is for a Unix socket')
  if (unixSocket !== undefined) {
    if (typeof unixSocket !== 'string' || unixSocket === '') throw invalid('"unixSocket" is the path of a file')
    checkSocketPath(unixSocket, platform)
    if (reusePort === true) throw invalid('"reusePort" is not for a Unix socket')
    if (address !== undefined || port !== undefined) throw invalid('"unixSocket" stands in place of "address" and "port"')
  }
  if (mode !== undefined && (!Number.isInteger(mode) || mode < 0 || mode > MODE_MAX)) {
    throw invalid(`mode is ${shown(mode)}, not file permissions such as 0o660`)
  }
  if (reusePort === true && !hasReusePort(nodeVersion)) throw invalid(`"reusePort" needs Node 22.12 or 23.1, this is ${nodeVersion}`)
  if (http2 === true && tls === undefined) throw invalid('"http2" needs "tls": HTTP/2 is spoken over TLS alone')
  if (tls !== undefined) checkTlsOptions(tls)
}

function checkSocketPath(path: string, platform: NodeJS.Platform): void {
  const most = SOCKET_PATH_BYTES[platform]
  const length = Buffer.byteLength(path)
  if (most !== undefined && length > most)
    throw invalid(`the path of a Unix socket has at most ${most} bytes here, "unixSocket" has ${length}: ${path}`)
}

function hasReusePort(nodeVersion: string): boolean {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)
}

/** What can be told without OpenSSL. @throws WEIR_OPTION_INVALID */
export function checkTlsOptions(tls: ServerTlsOptions): void {
  if (typeof tls !== 'object' || tls === null) throw invalid('"tls" is not an object of options')
  for (const name of TLS_RESERVED) if (name in tls) throw invalid(`"tls.${name}" is the server's own`)
  const { key, cert, pfx, sni, SNICallback, pskCallback, minVersion } = tls
  if (sni !== undefined && SNICallback !== undefined) throw invalid('"tls" has both "sni" and "SNICallback"')
  if (!(pfx || (key && cert) || sni || SNICallback || pskCallback))
    throw invalid('"tls" has no certificate: give "key" and "cert", or "pfx"')
  if (minVersion === 'TLSv1' || minVersion === 'TLSv1.1') throw invalid(`"tls.minVersion" is ${minVersion}: TLS 1.2 is the least`)
  for (const name of Object.keys(sni ?? {})) {
    if (!/^(?:\*\.)?[^*]+$/.test(name)) throw invalid(`"tls.sni" has ${JSON.stringify(name)}: a name, or *. and a name`)
  }
}

function invalid(detail: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', detail)
}
