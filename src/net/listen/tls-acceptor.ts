// What happens at a listener that speaks TLS before HTTP begins: handshakes, certificates and their renewal, and which protocol the client
// has chosen.
//
// Loaded only when a server is asked to speak TLS; the file of HTTP/2 only when it is asked to speak that.

import { constants } from 'node:crypto'
import type { Socket } from 'node:net'
import { createSecureContext, createServer, type SecureContext, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls'

import { WeirError } from '../../base/errors.ts'
import { hostName } from '../../base/host-name.ts'
import type { ConnectionHost } from '../connections/connection-host.ts'
import type { Connections } from '../connections/connections.ts'
import type { Peer } from '../connections/peer.ts'
import { Http1Connection } from '../http1/connection.ts'
import type { Http2Connection } from '../http2/connection.ts'
import { SocketTransport } from '../transport/socket-transport.ts'
import { readClientCertificate } from './client-certificate.ts'
import { checkTlsOptions, type ServerTlsOptions } from './listen-options.ts'

type SniCallback = NonNullable<ServerTlsOptions['SNICallback']>

/** Without a limit of ours Node has one. */
const NODE_HANDSHAKE_TIMEOUT_MS = 120_000
const LEAST_VERSION = 'TLSv1.2'
/** What a client is told that speaks plain HTTP here: in its own tongue, for it cannot read any other. */
const SPEAK_TLS =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 32\r\nConnection: close\r\n\r\nThis port speaks HTTPS, not HTTP'

export class TlsAcceptor {
  readonly server: Server
  readonly #tls: ServerTlsOptions
  readonly #host: ConnectionHost
  readonly #connections: Connections
  readonly #http2: typeof Http2Connection | null
  /** Sockets whose handshake is under way. */
  readonly #handshakes = new Set<Socket>()
  /** Finds the certificate for a server name. Replaced by a reload. */
  #sni: SniCallback
  /** The server stops, and ends the handshakes that are under way. */
  #isEnding = false
  /** Whether requests must be for the server name of their handshake. Replaced by a reload. */
  #bindsHosts: boolean

  static async make(
    tls: ServerTlsOptions,
    http2: boolean,
    socketOptions: object,
    host: ConnectionHost,
    connections: Connections,
  ): Promise<TlsAcceptor> {
    const connectionClass = http2 ? (await import('../http2/connection.ts')).Http2Connection : null
    return new TlsAcceptor(tls, connectionClass, socketOptions, host, connections)
  }

  private constructor(
    tls: ServerTlsOptions,
    http2: typeof Http2Connection | null,
    socketOptions: object,
    host: ConnectionHost,
    connections: Connections,
  ) {
    this.#tls = tls
    this.#http2 = http2
    this.#host = host
    this.#connections = connections
    this.#sni = sniOf(tls)
    this.#bindsHosts = bindsHosts(tls)
    const { sni: _, ...options } = tls
    this.server = createServer({
      minVersion: LEAST_VERSION,
      handshakeTimeout: host.timeouts.headersTimeout ?? NODE_HANDSHAKE_TIMEOUT_MS,
      ...options,
      ...socketOptions,
      secureOptions: secureOptionsOf(tls),
      ALPNProtocols: http2 === null ? ['http/1.1'] : ['h2', 'http/1.1'],
      SNICallback: (name, done) => this.#sni(name, done),
    })
    this.server.on('connection', (socket: Socket) => this.#accept(socket))
    this.server.on('secureConnection', (socket) => this.#open(socket))
    this.server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => this.#endHandshake(error, socket))
  }

  #accept(raw: Socket): void {
    if (!this.#connections.admit(raw)) {
      raw.destroy()
      return
    }
    this.#handshakes.add(raw)
    raw.once('close', () => {
      this.#handshakes.delete(raw)
      this.#connections.release()
    })
  }

  #open(socket: TLSSocket): void {
    this.#handshakes.delete(rawOf(socket))
    const peer: Peer = {
      clientCertificate: this.#tls.requestCert === true ? readClientCertificate(socket) : null,
      boundHost: this.#bindsHosts ? serverNameOf(socket) : null,
      isTrustedProxy: false,
    }
    if (this.#http2 !== null && socket.alpnProtocol === 'h2') {
      this.#connections.add(new this.#http2(this.#host, socket, peer))
      return
    }
    const transport = new SocketTransport(socket, 'tls', false)
    const connection = new Http1Connection(this.#host, transport, peer)
    this.#connections.add(connection)
    transport.start(connection)
  }

  /** Node tells of a handshake that failed or took too long, and leaves the socket open. */
  #endHandshake(error: NodeJS.ErrnoException, socket: TLSSocket): void {
    const raw = rawOf(socket)
    this.#host.observers.refused('tls', this.#isEnding ? new WeirError('WEIR_SERVER_STOPPED') : error, raw)
    if (error.code === 'ERR_SSL_HTTP_REQUEST' && raw !== socket) raw.write(SPEAK_TLS, () => socket.destroy())
    else socket.destroy()
  }

  endHandshakes(): void {
    this.#isEnding = true
    for (const raw of this.#handshakes) raw.destroy()
  }

  /**
   * New handshakes are made with `tls`; connections that are open keep what they have. Sessions go on to be resumed, unless `tls` brings
   * `ticketKeys` of its own.
   * @returns what makes the change, which cannot fail any more
   * @throws WEIR_OPTION_INVALID for what only a new server can change; what OpenSSL says of keys and certificates
   */
  prepareReload(tls: ServerTlsOptions): () => void {
    checkTlsOptions(tls)
    for (const name of ['requestCert', 'rejectUnauthorized', 'handshakeTimeout'] as const) {
      if (tls[name] !== undefined && tls[name] !== this.#tls[name])
        throw new WeirError('WEIR_OPTION_INVALID', `"tls.${name}" cannot change`)
    }
    const { requestCert } = this.#tls
    const options = contextOptions({ ...tls, requestCert })
    createSecureContext(options)
    const sni = sniOf(tls)
    const ticketKeys = tls.ticketKeys ?? this.server.getTicketKeys()
    return () => {
      this.server.setSecureContext(options)
      this.server.setTicketKeys(ticketKeys)
      this.#sni = sni
      this.#bindsHosts = bindsHosts({ ...tls, requestCert })
    }
  }
}

/** The socket under a TLS socket that Node's TLS server has made. Not documented; without it the TLS socket itself will do. */
function rawOf(socket: TLSSocket): Socket {
  return (socket as unknown as { readonly _parent?: Socket | null })._parent ?? socket
}

/** Empty when the client sent none. */
function serverNameOf(socket: TLSSocket): string {
  return hostName((socket as { readonly servername?: string | false | null }).servername || '')
}

/**
 * Whether the server name of the handshake decides which client certificates are trusted. Then a request for another host would get past the
 * certificates of that host. `SNICallback` may decide anything.
 */
function bindsHosts({ requestCert, sni, SNICallback }: ServerTlsOptions): boolean {
  if (requestCert !== true) return false
  return SNICallback !== undefined || Object.values(sni ?? {}).some(({ ca, crl, pfx }) => Boolean(ca || crl || pfx))
}

/**
 * A session that was made for one name can be resumed for another, and then the client is trusted as it was for the first. So no session is
 * resumed where names differ in whom they trust.
 */
function secureOptionsOf(tls: ServerTlsOptions): number {
  const { secureOptions = 0 } = tls
  return bindsHosts(tls) ? secureOptions | constants.SSL_OP_NO_TICKET : secureOptions
}

function contextOptions(tls: ServerTlsOptions): SecureContextOptions {
  const { sni: _, SNICallback: __, ...options } = tls
  return { minVersion: LEAST_VERSION, ...options, secureOptions: secureOptionsOf(tls) }
}

function sniOf(tls: ServerTlsOptions): SniCallback {
  const { sni, SNICallback } = tls
  if (sni === undefined) return SNICallback ?? ((_name, done) => done(null))
  const { key: _, cert: __, pfx: ___, passphrase: ____, ...common } = contextOptions(tls)
  const contexts = new Map<string, SecureContext>()
  for (const [name, own] of Object.entries(sni)) contexts.set(name.toLowerCase(), createSecureContext({ ...common, ...own }))
  return (asked, done) => {
    const name = asked.toLowerCase()
    done(null, contexts.get(name) ?? contexts.get(`*${name.slice(name.indexOf('.'))}`))
  }
}
