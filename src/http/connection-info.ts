import type { ProxiedTls } from '../formats/proxy-protocol.ts'
import type { Head } from '../wire/head/head.ts'

/** Who a name in a certificate stands for: `CN`, `O`, `OU` and so on; an attribute that repeats has several values. */
export type CertificateName = Readonly<Record<string, string | readonly string[]>>

/** The certificate that a client has shown. Frozen; it may be kept. */
export interface ClientCertificate {
  /** Whether a CA that the server trusts vouches for it, and it is within its time. Always true unless `tls.rejectUnauthorized` is false. */
  readonly authorized: boolean
  /** Why not, as OpenSSL says: `DEPTH_ZERO_SELF_SIGNED_CERT`. Null when it is authorized. */
  readonly authorizationError: string | null
  readonly subject: CertificateName
  readonly issuer: CertificateName
  /** `DNS:example.org, email:…`; null without one. */
  readonly subjectAltName: string | null
  /** Hexadecimal, in upper case. */
  readonly serialNumber: string
  readonly validFrom: Date
  readonly validTo: Date
  /** SHA-256 of `raw`: 32 bytes in upper-case hexadecimal, with colons. */
  readonly fingerprint256: string
  /** The certificate itself, DER. */
  readonly raw: Uint8Array
}

/** The other end of a socket: the client, or the last proxy. */
export interface SocketPeer {
  /** IP address; empty when the peer is gone or has none (Unix socket, `inject`). */
  readonly address: string
  /** 0 when it has none. */
  readonly port: number
  /** Whether the socket speaks TLS. */
  readonly isSecure: boolean
  /** Whether `proxies.trust` lists it. */
  readonly isTrusted: boolean
  /** What its PROXY header (version 2) states about the TLS between the client and the proxy; null where it says nothing. */
  readonly clientTls: ProxiedTls | null
}

/** What a handler may know of the connection that its request came on. */
export interface ConnectionInfo {
  /**
   * Address of the client: of the other end of the socket, or whom its PROXY header names. Empty when it is gone or has none (Unix socket,
   * `inject`).
   */
  readonly clientAddress: string
  /** Port of the client, 0 when it has none. */
  readonly clientPort: number
  /** Whether the bytes came through TLS, here or to the proxy that says so in its PROXY header. */
  readonly isSecure: boolean
  /** Null when the client has shown none. */
  readonly clientCertificate: ClientCertificate | null
  /** Unique among the connections of this process. */
  readonly connectionId: string
  /** Name of the endpoint at which it came, null where it has none. */
  readonly endpointName: string | null
  /** Reads in which fields the peer speaks for its clients; null where it may not. */
  readonly forwarding: Forwarding | null
  describePeer(): SocketPeer
}

/** For whom a proxy has forwarded a request. */
export interface ForwardedClient extends Pick<ConnectionInfo, 'clientAddress' | 'clientPort' | 'isSecure'> {
  /** The host that the client asked for, null where the request itself says it. */
  readonly host: string | null
}

/** Reads the fields in which a trusted proxy speaks for its clients. */
export interface Forwarding {
  /** @param proxy what counts for a request that the proxy sends on its own account */
  clientOf(head: Head, proxy: Omit<ForwardedClient, 'host'>): ForwardedClient
}
