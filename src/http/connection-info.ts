/** A distinguished name in a certificate, by attribute: `CN`, `O`, `OU` and so on. A repeated attribute has an array of values. */
export type CertificateName = Readonly<Record<string, string | readonly string[]>>

/** The certificate that a client presented. Frozen. You may keep it after the request. */
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

/** What a handler may know about the connection on which its request arrived. */
export interface ConnectionInfo {
  /** IP address of the peer. Empty when the socket is gone or has no address (Unix socket, `inject`). */
  readonly clientAddress: string
  /** Port of the peer; 0 when it has none. */
  readonly clientPort: number
  /** Whether the connection uses TLS. */
  readonly isSecure: boolean
  /** Null when the client presented none. */
  readonly clientCertificate: ClientCertificate | null
  /** Unique among the connections of this process. */
  readonly connectionId: string
}
