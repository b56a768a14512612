import type { Clock } from '../base/clock.ts'
import type { ProxiedTls } from '../formats/proxy-protocol.ts'
import type { Head } from '../wire/head/head.ts'

/** A distinguished name in a certificate, by attribute: `CN`, `O`, `OU` and so on. A repeated attribute has an array of values. */
export type CertificateName = Readonly<Record<string, string | readonly string[]>>

/**
 * The certificate that a client presented. Frozen. You may keep it after the request.
 * @example
 * const named = (certificate: ClientCertificate | null) => certificate?.authorized === true
 * server.mapGet('/', ({}, session) => named(session.clientCertificate))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/tls.md
 */
export interface ClientCertificate {
  /** Whether a CA that the server trusts has signed it and it has not expired. Always true unless `tls.rejectUnauthorized` is false. */
  readonly authorized: boolean
  /** Why it is not authorized: OpenSSL's code, such as `DEPTH_ZERO_SELF_SIGNED_CERT`. Null when it is authorized. */
  readonly authorizationError: string | null
  readonly subject: CertificateName
  readonly issuer: CertificateName
  /** Alternative names as text: `DNS:example.org, email:…`. Null when the certificate has none. */
  readonly subjectAltName: string | null
  /** Hexadecimal, in upper case. */
  readonly serialNumber: string
  readonly validFrom: Date
  readonly validTo: Date
  /** SHA-256 of `raw`: 32 bytes in upper-case hexadecimal, separated by colons. */
  readonly fingerprint256: string
  /** The certificate itself, DER-encoded. */
  readonly raw: Uint8Array
}

/**
 * The other end of a socket: the client, or the last proxy.
 * @example
 * const shown = (peer: SocketPeer) => peer.address
 * server.mapGet('/', (_, session) => shown(session.peer))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/proxies.md
 */
export interface SocketPeer {
  /** IP address; empty when the peer is gone or has none (Unix socket, `inject`). */
  readonly address: string
  /** 0 when it has none. */
  readonly port: number
  /** Whether the socket speaks TLS. */
  readonly isSecure: boolean
  /** Whether `proxies.trust` lists it. */
  readonly isTrusted: boolean
  /** What its PROXY header (version 2) states about the TLS between the client and the proxy; null if it states nothing. */
  readonly clientTls: ProxiedTls | null
}

/** Which hosts the server answers at the endpoint of a request. */
export interface HostRule {
  /** The hosts that are answered, in words: `the names of this machine`. */
  readonly answered: string
  /** @param host as in Host, with an optional port; empty without one */
  serves(host: string): boolean
}

/** What a handler may know about the connection on which its request arrived. */
export interface ConnectionInfo {
  /** IP address of the client: the peer's, or the address in its PROXY header. Empty without an IP socket (Unix socket, `inject`). */
  readonly clientAddress: string
  /** Port of the client; 0 when it has none. */
  readonly clientPort: number
  /** Whether the connection uses TLS, here or, according to its PROXY header, up to the proxy. */
  readonly isSecure: boolean
  /** Null when the client presented none. */
  readonly clientCertificate: ClientCertificate | null
  /** Unique among the connections of this process. */
  readonly connectionId: string
  /** Name of the endpoint at which it was accepted; null if the endpoint has none. */
  readonly endpointName: string | null
  /** Whether the client is a test: `inject`, or one of `weirjs/testing`. */
  readonly isTest: boolean
  /** The principal that a test has given its client; null for every other client. */
  readonly testPrincipal: object | null
  /** The server's source of time: modules take it from here, so that a test client can move it. */
  readonly clock: Clock
  /** Reads the fields in which the peer states who its clients are; null if it may not. */
  readonly forwarding: Forwarding | null
  /** Null without a socket: then the host is not checked. */
  readonly hosts: HostRule | null
  describePeer(): SocketPeer
  /** Asks the system whether it still knows the other end of the socket. True without one. */
  readonly isConnected: boolean
}

/** The client for which a proxy has forwarded a request. */
export interface ForwardedClient extends Pick<ConnectionInfo, 'clientAddress' | 'clientPort' | 'isSecure'> {
  /** The host that the client requested; null if the request itself states it. */
  readonly host: string | null
}

/** Reads the fields in which a trusted proxy states who its clients are. */
export interface Forwarding {
  /** @param proxy the values for a request that the proxy sends on its own behalf */
  clientOf(head: Head, proxy: Omit<ForwardedClient, 'host'>): ForwardedClient
}
