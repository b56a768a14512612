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

/** What a handler may know of the connection that its request came on. */
export interface ConnectionInfo {
  /** Address of the client's end of the socket, empty when it is gone or has none (Unix socket, `inject`). */
  readonly clientAddress: string
  /** Port of the client's end, 0 when it has none. */
  readonly clientPort: number
  /** Whether the bytes came through TLS. */
  readonly isSecure: boolean
  /** Null when the client has shown none. */
  readonly clientCertificate: ClientCertificate | null
  /** Unique among the connections of this process. */
  readonly connectionId: string
}

/** For whom a proxy has forwarded a request. */
export interface ForwardedClient {
  readonly address: string
  readonly port: number
  readonly isSecure: boolean
  /** The host that the client asked for, null where Host says it. */
  readonly host: string | null
}

/** Reads the fields in which a trusted proxy speaks for its clients. */
export interface Forwarding {
  /** The arguments after `head` are of the proxy, for what it asks on its own account. */
  clientOf(head: Head, address: string, port: number, isSecure: boolean): ForwardedClient
}
