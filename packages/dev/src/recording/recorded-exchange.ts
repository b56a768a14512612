// A recorded exchange, as its file has it.

/** Bytes as they arrived together. */
interface RecordedPiece {
  /** Milliseconds after the first piece. */
  readonly atMs: number
  /** One character for each byte. In the file, they may be divided into lines, or be base64. */
  readonly bytes: string
}

export interface RecordedBody {
  /** In bytes, without any content coding. */
  readonly length: number
  /** One character for each byte; null if the body was too large to be kept. */
  readonly bytes: string | null
  /** SHA-256, in hexadecimal, if the bytes were not kept. */
  readonly sha256: string | null
}

export interface RecordedResponse {
  readonly status: number
  /** Names in lower case. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly body: RecordedBody
  /** The fields after the body. Names in lower case. */
  readonly trailers: readonly (readonly [name: string, value: string])[]
  /** Whether it was sent to its end: a stream of events is not. */
  readonly isWhole: boolean
  /** Milliseconds after the first piece of the request. */
  readonly firstByteMs: number
  readonly endMs: number
}

export interface RecordedExchange {
  /** When its first byte arrived. */
  readonly recordedAt: string
  readonly method: string
  /** The request target as sent, without secrets. */
  readonly target: string
  readonly isSecure: boolean
  /** Name of the endpoint that received it. */
  readonly endpoint: string | null
  /** The request, without secrets: its bytes, their cuts and their timing. */
  readonly pieces: readonly RecordedPiece[]
  /** When the client ended its side, in milliseconds after the first piece; null if it did not. */
  readonly endedAtMs: number | null
  readonly response: RecordedResponse
}
