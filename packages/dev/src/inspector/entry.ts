// The data that the inspector keeps for one exchange: text without secrets.

import type { ExchangeRecord, Outcome, RecordKind } from 'weirjs'

import { MESSAGES_BYTES, type SocketMessages } from './socket-messages.ts'

/** Part of a body. */
export interface KeptBody {
  /** Text, or base64 of bytes that are not UTF-8. */
  readonly text: string
  readonly isBase64: boolean
  /** In bytes; null if it is not known. */
  readonly length: number | null
  /** Why it is not complete: `large`, `stream` if it was not read to its end, or `coded`; null if it is. */
  readonly cut: 'large' | 'stream' | 'coded' | null
}

/** Milliseconds that each stage of an exchange took; null if it was not reached. */
export interface Stages {
  /** From the end of the head to the first middleware: gates, and the body if it is buffered. */
  readonly waitMs: number | null
  /** Middleware and handler. */
  readonly handlerMs: number | null
  /** From there to the first byte of the response. */
  readonly sendMs: number | null
  /** From the first byte of the response to the last one. */
  readonly bodyMs: number | null
}

/** A thrown error with its causes. */
export interface KeptError {
  /** Name and message of each, the outermost first, without secrets of the request. */
  readonly texts: readonly string[]
  /** For the frames of its stack. */
  readonly thrown: unknown
}

/** A line of the list. */
export interface Summary {
  readonly number: number
  readonly kind: RecordKind
  readonly method: string | null
  readonly url: string | null
  readonly route: string | null
  /** The module that has answered in place of a route; null for none. */
  readonly answeredBy: string | null
  readonly status: number | null
  readonly outcome: Outcome
  readonly code: string | null
  /** The status that the client of a remote procedure call receives, as its protocol writes it; null without a call. */
  readonly rpcStatus: string | null
  readonly startedAt: number
  readonly durationMs: number
  readonly bytesIn: number
  readonly bytesOut: number
}

export interface Entry extends Summary {
  readonly requestId: string | null
  readonly connectionId: string | null
  readonly protocol: string | null
  readonly clientAddress: string
  readonly isSecure: boolean
  /** The other end of the socket, which may be a proxy; null if there was no request. */
  readonly peer: { readonly address: string; readonly isSecure: boolean } | null
  readonly endpoint: string | null
  /** The head as sent, without secrets; the first bytes of a refused head. */
  readonly requestHead: string
  readonly requestBody: KeptBody | null
  /** As far as the application has set it. */
  readonly responseHead: string | null
  readonly responseBody: KeptBody | null
  readonly stages: Stages
  /** Of the WebSocket that the request has opened; null for another one. It grows while that is open. */
  readonly messages: SocketMessages | null
  /** Null without an error. */
  readonly error: KeptError | null
  readonly firstByteMs: ExchangeRecord['firstByteMs']
  /** What was logged under its request id. */
  readonly lines: string[]
  /** Removes the secrets of the exchange from a line. */
  readonly hide: (line: string) => string
  /** The size of these secrets. */
  readonly hiddenChars: number
}

export function summaryOf(entry: Entry): Summary {
  const { number, kind, method, url, route, answeredBy, status, outcome, code, rpcStatus, startedAt, durationMs, bytesIn, bytesOut } = entry
  return { number, kind, method, url, route, answeredBy, status, outcome, code, rpcStatus, startedAt, durationMs, bytesIn, bytesOut }
}

/** About how much memory it takes, or may take. */
export function sizeOf({ requestHead, requestBody, responseHead, responseBody, messages, lines, url, hiddenChars }: Entry): number {
  const texts = [requestHead, requestBody?.text, responseHead, responseBody?.text, url, ...lines]
  const others = 1_000 + 2 * hiddenChars + (messages === null ? 0 : MESSAGES_BYTES)
  return texts.reduce((sum, text) => sum + (text?.length ?? 0) * 2, others)
}
