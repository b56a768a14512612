/** What a handler may know of the connection that its request came on. */
export interface ConnectionInfo {
  /** Address of the client's end of the socket, empty when it is gone or has none (Unix socket, `inject`). */
  readonly clientAddress: string
  /** Port of the client's end, 0 when it has none. */
  readonly clientPort: number
  /** Whether the bytes came through TLS. */
  readonly isSecure: boolean
  /** Unique among the connections of this process. */
  readonly connectionId: string
}
