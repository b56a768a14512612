// What a module may see and change of a response beyond `HttpResponse`, just before it is sent. It hides the engine, so that the engine can change.

import type { ByteSource } from '../../http/response/byte-source.ts'
import type { Problem } from '../../http/response/problem.ts'
import { type HttpResponse, outgoingOf } from '../../http/response/response.ts'
import type { ResponseContent } from '../../http/response/response-content.ts'

/**
 * A response, as modules see it: what a handler replaces or deletes on it has no effect here. All that changes it throws `WEIR_RESPONSE_SENT` once
 * it is sent.
 */
export interface ResponseHandle {
  readonly statusCode: number
  /** The reason phrase that the handler has set; empty for the registered one. */
  readonly reasonPhrase: string
  /** Content-Type; null for none. */
  readonly type: string | null
  /** Name, value, name, value: what is set by now, without Content-Type and what the server sets. Null for none. */
  readonly fields: readonly string[] | null
  /** The content: text, bytes, a stream, a file or nothing. */
  readonly content: ResponseContent
  /** The length that was declared for a stream, in bytes; -1 if none was. */
  readonly declaredLength: number
  /** The content in other codings, as far as a module such as a cache keeps them; null if none does. Add what you have made. */
  readonly codedForms: {
    get(coding: string): Uint8Array | Promise<Uint8Array> | undefined
    set(coding: string, form: Uint8Array | Promise<Uint8Array>): void
  } | null
  /**
   * Ends a response that lasts as long as its client stays, such as a stream of events: called when the client has signed out. Null for one that ends
   * by itself. Set it after the content, with which it is dropped. It must not throw.
   */
  onSignOut: (() => void) | null
  /** Whether it is being sent, so that it can no longer be changed. */
  readonly isTaken: boolean
  /** Fields that follow the body: whether Trailer announces them, and whether a stream adds others. Null without any. */
  readonly trailers: { readonly areAnnounced: boolean; readonly areUnannounced: boolean } | null
  /**
   * Sends fields after the body that Trailer does not announce; over HTTP/2, to every client. Fields that may not follow a body are left out.
   * @param fields returns name, value, name, value. It is called when the body is complete
   */
  followWith(fields: () => readonly string[]): void
  /** The first value of a field; null if it is not set. */
  getHeader(name: string): string | null
  /** All values of a field whose value is a list, joined; null if it is not set. */
  listHeader(name: string): string | null
  header(name: string, value: string | number): unknown
  appendHeader(name: string, value: string | number): unknown
  vary(...names: readonly string[]): unknown
  /** Sets those fields that are not set yet. @param fields name, value, name, value */
  addMissing(fields: readonly string[]): void
  /**
   * Sends the content in a content coding. Sets Content-Encoding, turns ETag into the tag of the coding (`"v1~gzip"`, which still matches `"v1"`),
   * and removes what described the bytes. @param encoded null: it is not read, because the request is HEAD. A stream that takes its place is closed
   */
  encodeAs(coding: string, encoded: Uint8Array | ByteSource | null): unknown
  /** Passes the same content on in another way, such as a stream that has been read. What describes it stays. */
  deliver(body: Uint8Array | ByteSource): void
  /** Sends a problem document (RFC 9457) with its status, made by `problemFor`. */
  sendProblem(problem: Problem): unknown
}

/** What a module may see and change of a response. Costs nothing. */
export function responseHandle(response: HttpResponse): ResponseHandle {
  return outgoingOf(response)
}
