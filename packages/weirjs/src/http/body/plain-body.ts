// Bodies that a handler gets as text or bytes, and declared responses of these kinds, some of which clients read as they arrive.

import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import { BYTES_TYPE, mediaRange } from '../../formats/media-type.ts'
import { type AnySchema, isSchema, type OutputOf } from '../../schema/standard.ts'
import { TypedBody } from './typed-body.ts'

/** What a client may send where bytes are declared. */
type BytesInput = Blob | ArrayBuffer | UnsharedBytes | ReadableStream<Uint8Array>

class PlainBody<T, Input> extends TypedBody<T, Input> {
  /** Without content, it is an empty string, or no bytes. */
  override get isOptional(): boolean {
    return true
  }
}

/**
 * A string, sent in UTF-8, or in windows-1252, ISO-8859-1 or US-ASCII if its content type names that. Empty without content. Bytes that are
 * not valid UTF-8: 400.
 * @param types accepted content types, or ranges such as `text/*`. Default `text/plain`
 * @throws WEIR_OPTION_INVALID if one of them is not a media type
 * @example
 * server.mapPost('/notes', { body: text('text/plain', 'text/markdown') }, ({ body }) => body.length)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/typed-bodies.md
 */
export function text(...types: readonly string[]): TypedBody<string, string> {
  return new PlainBody('text', rangesOf('text()', types, 'text/plain'), null)
}

/**
 * The bytes, which the handler may keep. Empty without content.
 * @param types accepted content types, or ranges such as `image/*`. Default `application/octet-stream`, which includes requests without a
 * content type
 * @throws WEIR_OPTION_INVALID if one of them is not a media type
 * @example
 * server.mapPut('/photo', { body: bytes('image/png') }, ({ body }) => body.length)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/typed-bodies.md
 */
export function bytes(...types: readonly string[]): TypedBody<Uint8Array, BytesInput> {
  return new PlainBody('bytes', rangesOf('bytes()', types, BYTES_TYPE), null)
}

/** The Content-Type of an event stream. */
const EVENT_STREAM = 'text/event-stream'

/** The data of events: one schema for all of them, or one for each name of an event. */
type EventData = AnySchema | { readonly [event: string]: AnySchema }

/** A declared response that is a stream of events. Made by `events`. */
export class EventsBody<E = null> extends PlainBody<string, never> {
  /** Never set: it only carries the type of the data. */
  declare readonly event?: E
  /** How a client of a contract gets it. */
  readonly delivery: 'events' | 'json-events'
  /** The schemas of the data, for documents; null for text. */
  readonly data: EventData | null

  /** @internal */
  constructor(data: EventData | null) {
    super('text', [EVENT_STREAM], null)
    this.delivery = data === null ? 'events' : 'json-events'
    this.data = data
  }
}

/** A declared response of bytes that clients read as they arrive. Made by `stream`. */
export class StreamBody extends PlainBody<Uint8Array, never> {
  /** How a client of a contract gets it. */
  readonly delivery = 'stream'
}

/**
 * For `answers`: a stream of events, which the handler returns with `sse` of `weirjs/sse`. A client of a contract gets an async iterable.
 * @param data a schema for the data of all events, or schemas by the names of the events: `{ price: Price, halt: Halt }`. The data is JSON
 * then, so it must not be a string. Without schemas, it is text. The
 * events that are sent are checked in tests and with `debug`, and not in production.
 * @throws WEIR_OPTION_INVALID for anything else
 * @example
 * const Price = t.object({ cents: t.int })
 * server.mapGet('/prices', { answers: { 200: events(Price) } }, (_, session) => sse(session, prices()))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/events.md
 */
export function events(): EventsBody
export function events<const E extends EventData>(data: E & JsonData<E>): EventsBody<E>
export function events(data?: EventData): EventsBody<EventData | null> {
  if (data === undefined) return new EventsBody(null)
  if (typeof data !== 'function' && (typeof data !== 'object' || data === null)) throw invalid('events()', `${shown(data)} is not a schema`)
  for (const one of isSchema(data) ? [] : Object.values<unknown>(data))
    if (!isSchema(one)) throw invalid('events()', `${shown(one)} is not a schema`)
  return new EventsBody(data)
}

/** `unknown` unless the data of an event is a string, which `sse` sends as text and not as JSON. */
type JsonData<E> = E extends AnySchema
  ? [OutputOf<E>] extends [string]
    ? 'events with text as their data have no schema: write events(), or make the data an object with the text'
    : unknown
  : { readonly [K in keyof E]: E[K] extends AnySchema ? JsonData<E[K]> : never }

/**
 * For `answers`: bytes, as with `bytes`. A client of a contract reads them as they arrive, and does not gather them in memory.
 * @param types content types, or ranges such as `video/*`. Default `application/octet-stream`
 * @throws WEIR_OPTION_INVALID if one of them is not a media type
 * @example
 * const api = contract({ video: get('/video', { answers: { 200: stream('video/mp4') } }) })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/contracts.md
 */
export function stream(...types: readonly string[]): StreamBody {
  return new StreamBody('bytes', rangesOf('stream()', types, BYTES_TYPE), null)
}

function rangesOf(owner: string, types: readonly unknown[], byDefault: string): readonly string[] {
  return types.length === 0 ? [byDefault] : types.map((type) => rangeOf(owner, type))
}

/** @throws WEIR_OPTION_INVALID */
export function rangeOf(owner: string, type: unknown): string {
  const range = typeof type === 'string' ? mediaRange(type) : null
  if (range === null)
    throw invalid(owner, `${shown(type)} is not a media type or range without parameters, such as "text/plain" or "image/*"`)
  return range
}
