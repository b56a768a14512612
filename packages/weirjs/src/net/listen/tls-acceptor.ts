// What happens on a listener that speaks TLS before HTTP begins: handshakes, certificates and their renewal, and the client's choice of a protocol.
//
// Loaded only if a server speaks TLS; HTTP/2 is loaded only if a server speaks that.

import { constants, createHash } from 'node:crypto'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import {
  createSecureContext,
  createServer,
  type PeerCertificate,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
  type Server as TlsServer,
} from 'node:tls'

import { WeirError } from '../../base/errors.ts'
import { hostName } from '../../base/host-name.ts'
import type { ProxyHeader } from '../../formats/proxy-protocol.ts'
import type { CertificateName, ClientCertificate } from '../../http/connection-info.ts'
import { drainSoon, type OpenConnection } from '../connections/connections.ts'
import { clientAddressOf, type Peer } from '../connections/peer.ts'
import { Http1Connection } from '../http1/connection.ts'
import type { Http2Connection } from '../http2/connection.ts'
import { SocketTransport } from '../transport/socket-transport.ts'
import type { Entrance } from './entrance.ts'
import { checkTlsOptions, type ServerTlsOptions } from './listen-options.ts'
import { ProxyStage } from './proxy-stage.ts'

type SniCallback = NonNullable<ServerTlsOptions['SNICallback']>

/** Node's limit, which applies when the server sets none. */
const NODE_HANDSHAKE_TIMEOUT_MS = 120_000
const LEAST_VERSION = 'TLSv1.2'
/** What a CA speaks in the challenge tls-alpn-01, and nothing else (RFC 8737 §6.2). */
const ACME_PROTOCOL = 'acme-tls/1'
/** The response to a client that speaks plain HTTP here, sent without TLS so that it can read it. */
const SPEAK_TLS =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 32\r\nConnection: close\r\n\r\nThis port speaks HTTPS, not HTTP'

export class TlsAcceptor {
  /** The server that listens: Node's TLS server, or one in front of it that reads PROXY headers. */
  readonly server: Server
  readonly #tlsServer: TlsServer
  readonly #tls: ServerTlsOptions
  /** The protocols that clients can choose from, the preferred one first. */
  readonly #protocols: readonly string[]
  readonly #entrance: Entrance
  readonly #http2: typeof Http2Connection | null
  readonly #sharesBuffer: boolean
  /** By their sockets. */
  readonly #handshakes = new WeakMap<Socket, Handshake>()
  /** Sockets that were refused before their handshake: to Node's TLS, that handshake fails. */
  readonly #refused = new WeakSet<Socket>()
  /** Finds the certificate for a server name. Replaced by a reload. */
  #sni: SniCallback
  /** Answers challenges of a CA. Replaced by a reload. */
  #challenge: ServerTlsOptions['acmeChallenge']
  /** Whether requests must be for the server name of their handshake. Replaced by a reload. */
  #bindsHosts: boolean

  /** @param sharesBuffer whether connections read into the buffer that all of them share */
  static async make(
    tls: ServerTlsOptions,
    http2: boolean,
    socketOptions: object,
    sharesBuffer: boolean,
    entrance: Entrance,
  ): Promise<TlsAcceptor> {
    const connectionClass = http2 ? (await import('../http2/connection.ts')).Http2Connection : null
    return new TlsAcceptor(tls, connectionClass, socketOptions, sharesBuffer, entrance)
  }

  private constructor(
    tls: ServerTlsOptions,
    http2: typeof Http2Connection | null,
    socketOptions: object,
    sharesBuffer: boolean,
    entrance: Entrance,
  ) {
    this.#tls = tls
    this.#http2 = http2
    this.#sharesBuffer = sharesBuffer
    this.#entrance = entrance
    this.#sni = sniOf(tls)
    this.#challenge = tls.acmeChallenge
    this.#bindsHosts = bindsHosts(tls)
    this.#protocols = http2 === null ? ['http/1.1'] : ['h2', 'http/1.1']
    const choose = (socket: TLSSocket, offered: readonly string[], name: string): string | undefined => this.#choose(socket, offered, name)
    const { sni: _, acmeChallenge: __, ...options } = tls
    this.#tlsServer = createServer({
      minVersion: LEAST_VERSION,
      handshakeTimeout: entrance.host.timeouts.headersTimeout ?? NODE_HANDSHAKE_TIMEOUT_MS,
      ...options,
      ...socketOptions,
      allowHalfOpen: false,
      secureOptions: secureOptionsOf(tls),
      ...sessionContextOf(tls),
      ALPNCallback(this: TLSSocket, { servername, protocols }) {
        return choose(this, protocols, servername)
      },
      // In the form in which names are compared with Host: otherwise `example.org.` would count as a name that is not listed, and would be trusted
      // as such.
      SNICallback: (name, done) => this.#sni(hostName(name), done),
    })
    this.#tlsServer.on('secureConnection', (socket) => this.#open(socket))
    this.#tlsServer.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => this.#endHandshake(error, socket))
    if (entrance.requiresHeader) {
      this.server = createTcpServer({ ...socketOptions, pauseOnConnect: true }, (socket) => {
        if (this.#admit(socket)) this.#readHeader(socket)
      })
    } else {
      this.server = this.#tlsServer
      this.server.on('connection', (socket: Socket) => {
        if (this.#admit(socket)) this.#beginHandshake(socket, null)
      })
    }
  }

  /** The protocol of a connection; undefined ends the handshake, as RFC 7301 §3.2 demands. */
  #choose(socket: TLSSocket, offered: readonly string[], serverName: string): string | undefined {
    if (offered.length !== 1 || offered[0] !== ACME_PROTOCOL) return this.#protocols.find((one) => offered.includes(one))
    try {
      const context = this.#challenge?.(serverName) ?? null
      if (context === null) return undefined
      socket.setKeyCert(context)
      return ACME_PROTOCOL
    } catch (error) {
      // An error thrown here would end the process.
      this.#entrance.host.observers.refused('tls', error as Error, { remoteAddress: socket.remoteAddress })
      return undefined
    }
  }

  #admit(raw: Socket): boolean {
    const { connections } = this.#entrance
    if (!this.#entrance.admit(raw)) {
      this.#refused.add(raw)
      return false
    }
    raw.once('close', connections.release)
    return true
  }

  /** Reads up to the end of the header, then passes the socket to Node's TLS, together with the bytes that follow. */
  #readHeader(raw: Socket): void {
    const { host, connections } = this.#entrance
    const stage = new ProxyStage(host, {
      onHeader: (header, rest) => {
        raw.pause()
        raw.off('data', onData).off('end', onEnd).off('close', onEnd)
        if (rest.length > 0) raw.unshift(rest)
        raw.allowHalfOpen = false // as the server of Node's TLS has it
        this.#beginHandshake(raw, header)
        this.#tlsServer.emit('connection', raw)
      },
      onRefused: (error) => {
        this.#entrance.refuse(error, raw.remoteAddress)
        raw.destroy()
      },
    })
    const onData = (bytes: Buffer): void => stage.push(bytes)
    const onEnd = (): void => stage.end()
    raw.on('data', onData).on('end', onEnd).on('close', onEnd)
    raw.on('error', () => {}) // `close` follows
    connections.add(stage)
    raw.resume()
  }

  #beginHandshake(raw: Socket, proxyHeader: ProxyHeader | null): void {
    const { host, connections } = this.#entrance
    const handshake = new Handshake(raw, proxyHeader)
    this.#handshakes.set(raw, handshake)
    connections.add(handshake)
    raw.once('close', () => host.forget(handshake))
  }

  #open(socket: TLSSocket): void {
    // A client that ends its side in the handshake is gone. From now on, it may still read.
    socket.allowHalfOpen = true
    const { host, connections, requiresHeader } = this.#entrance
    if (socket.alpnProtocol === ACME_PROTOCOL) {
      socket.on('error', () => {})
      socket.destroySoon() // the CA has seen the certificate
      return
    }
    const handshake = this.#handshakes.get(rawOf(socket))
    // Its PROXY header or its address is not known.
    if ((handshake === undefined && requiresHeader) || this.#entrance.hasLeft(socket)) {
      socket.destroy()
      return
    }
    const peer: Peer = {
      ...this.#entrance.peerOf(socket, handshake?.proxyHeader ?? null),
      clientCertificate: this.#tls.requestCert === true ? readClientCertificate(socket) : null,
      boundHost: this.#bindsHosts ? serverNameOf(socket) : null,
    }
    const connection = this.#connect(socket, peer)
    connections.add(connection)
    // The stop may have begun in the meantime.
    if (host.isStopping) drainSoon(connection)
    this.#handshakes.delete(rawOf(socket))
    if (handshake !== undefined) host.forget(handshake)
  }

  #connect(socket: TLSSocket, peer: Peer): OpenConnection {
    const { host } = this.#entrance
    const transport = new SocketTransport(socket, 'tls', this.#sharesBuffer)
    const speaksHttp2 = this.#http2 !== null && socket.alpnProtocol === 'h2'
    const connection = speaksHttp2 ? new this.#http2(host, transport, peer) : new Http1Connection(host, transport, peer)
    transport.start(connection)
    return connection
  }

  /** Node reports a handshake that failed or took too long, but leaves the socket open. */
  #endHandshake(error: NodeJS.ErrnoException, socket: TLSSocket): void {
    const raw = rawOf(socket)
    if (this.#refused.has(raw)) return // reported already, and destroyed
    const handshake = this.#handshakes.get(raw)
    const proxyHeader = handshake?.proxyHeader ?? null
    const why = handshake?.wasAborted === true ? new WeirError('WEIR_SERVER_STOPPED') : error
    const remoteAddress = clientAddressOf({ proxyHeader }, raw.remoteAddress ?? '')
    this.#entrance.host.observers.refused('tls', why, { remoteAddress })
    if (error.code === 'ERR_SSL_HTTP_REQUEST' && raw !== socket) raw.write(SPEAK_TLS, () => socket.destroy())
    else socket.destroy()
  }

  /**
   * Makes new handshakes use `tls`; open connections keep what they have. Sessions are still resumed, unless `tls` has its own `ticketKeys`.
   * @returns a function that makes the change, which cannot fail
   * @throws WEIR_OPTION_INVALID for what only a new server can change; OpenSSL's errors about keys and certificates
   */
  prepareReload(tls: ServerTlsOptions): () => void {
    checkTlsOptions(tls)
    for (const name of ['requestCert', 'rejectUnauthorized', 'handshakeTimeout'] as const) {
      if (tls[name] !== undefined && tls[name] !== this.#tls[name])
        throw new WeirError(
          'WEIR_OPTION_INVALID',
          `"tls.${name}" cannot change while the server listens: leave it out, or start another server`,
        )
    }
    const { requestCert, rejectUnauthorized } = this.#tls
    const options = contextOptions({ ...tls, requestCert, rejectUnauthorized })
    createSecureContext(options)
    const sni = sniOf(tls)
    const { acmeChallenge } = tls
    const ticketKeys = tls.ticketKeys ?? this.#tlsServer.getTicketKeys()
    return () => {
      this.#tlsServer.setSecureContext(options)
      this.#tlsServer.setTicketKeys(ticketKeys)
      this.#sni = sni
      this.#challenge = acmeChallenge
      this.#bindsHosts = bindsHosts({ ...tls, requestCert })
    }
  }
}

/** A connection between its first byte and the end of its handshake. */
class Handshake implements OpenConnection {
  readonly isBusy = false
  /** Whether the server has aborted it, because it is stopping. */
  wasAborted = false
  readonly proxyHeader: ProxyHeader | null
  readonly #raw: Socket

  constructor(raw: Socket, proxyHeader: ProxyHeader | null) {
    this.#raw = raw
    this.proxyHeader = proxyHeader
  }

  get isGone(): boolean {
    return this.#raw.destroyed
  }

  /** The handshake is completed, because a request will follow. It has `headersTimeout` in any case. */
  drain(): void {}

  abort(): void {
    this.wasAborted = true
    this.#raw.destroy()
  }
}

/** The socket under a TLS socket that Node's TLS server has made. This is undocumented; without it, the TLS socket itself is used. */
function rawOf(socket: TLSSocket): Socket {
  return (socket as unknown as { readonly _parent?: Socket | null })._parent ?? socket
}

/** Empty if the client sent none. */
function serverNameOf(socket: TLSSocket): string {
  return hostName((socket as { readonly servername?: string | false | null }).servername || '')
}

/**
 * Whether the server name of the handshake decides which client certificates are trusted. If so, a request for another host would bypass the client
 * certificates that the other host requires. `SNICallback` may decide anything.
 */
function bindsHosts({ requestCert, sni, SNICallback }: ServerTlsOptions): boolean {
  if (requestCert !== true) return false
  return SNICallback !== undefined || Object.values(sni ?? {}).some(({ ca, crl, pfx }) => Boolean(ca || crl || pfx))
}

/**
 * A session that was created for one name can be resumed for another, and then the client is trusted as it was for the first. So no session
 * is resumed if the names differ in which clients they trust. No client may renegotiate TLS 1.2: HTTP/2 forbids it (RFC 9113 §9.2.1), and it
 * costs the server more than the client.
 */
function secureOptionsOf(tls: ServerTlsOptions): number {
  const { secureOptions = 0 } = tls
  const options = secureOptions | constants.SSL_OP_NO_RENEGOTIATION
  return bindsHosts(tls) ? options | constants.SSL_OP_NO_TICKET : options
}

function contextOptions(tls: ServerTlsOptions): SecureContextOptions {
  const { sni: _, SNICallback: __, acmeChallenge: ___, ...options } = tls
  return { minVersion: LEAST_VERSION, ...options, secureOptions: secureOptionsOf(tls), ...sessionContextOf(tls) }
}

/**
 * A session is resumed only where the same clients are trusted. Otherwise a client could get one at an endpoint that asks for no certificate, and with
 * it pass at an endpoint that requires one, if both have the same ticket keys: Node gives all of them the same context.
 */
function sessionContextOf(tls: ServerTlsOptions): { readonly sessionIdContext?: string } {
  const { requestCert, rejectUnauthorized = true, allowPartialTrustChain, ca, crl, pfx, sessionIdContext } = tls
  if (requestCert !== true) return {}
  const trusted = JSON.stringify([sessionIdContext, rejectUnauthorized, allowPartialTrustChain, ca, crl, pfx])
  return { sessionIdContext: createHash('sha256').update(trusted).digest('base64url').slice(0, 32) }
}

function sniOf(tls: ServerTlsOptions): SniCallback {
  const { sni, SNICallback } = tls
  if (sni === undefined) return SNICallback ?? ((_name, done) => done(null))
  const { key: _, cert: __, pfx: ___, passphrase: ____, ...common } = contextOptions(tls)
  const contexts = new Map<string, SecureContext>()
  for (const [name, own] of Object.entries(sni)) contexts.set(name.toLowerCase(), createSecureContext({ ...common, ...own }))
  return (name, done) => done(null, contexts.get(name) ?? contexts.get(`*${name.slice(name.indexOf('.'))}`))
}

/** A record of the certificate that a client has presented, which may be kept. @returns null if the client has presented none */
function readClientCertificate(socket: TLSSocket): ClientCertificate | null {
  // Null after the socket has closed, and an empty object if there is no certificate. Node's types include neither.
  const shown = socket.getPeerCertificate() as Partial<PeerCertificate> | null
  if (!shown?.raw) return null
  const { subject, issuer, subjectaltname, serialNumber, valid_from, valid_to, fingerprint256, raw } = shown as PeerCertificate
  const error: unknown = socket.authorizationError
  return Object.freeze({
    authorized: socket.authorized,
    authorizationError: socket.authorized ? null : error instanceof Error ? error.message : String(error),
    subject: nameOf(subject),
    issuer: nameOf(issuer),
    subjectAltName: subjectaltname ?? null,
    serialNumber,
    validFrom: new Date(valid_from),
    validTo: new Date(valid_to),
    fingerprint256,
    raw: new Uint8Array(raw),
  })
}

function nameOf(name: object): CertificateName {
  return Object.freeze(Object.assign(Object.create(null), name)) as CertificateName
}
