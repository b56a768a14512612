// Sends a Web `Response`: copies its head, and reads its body in the cheapest way that Node offers.
//
// A native Response keeps its body as a stream, even when it was created from text. Two things make that cheaper. Node 20 and 22 keep the text
// or the bytes from which it was created in a property, found here by trying it out; Node 24 keeps them in a private field. And most bodies
// are complete when they are first read, within a few microtasks: they are sent in one piece, with their length.

import { Buffer } from 'node:buffer'
import { WeirError } from '../../base/errors.ts'
import { type ByteSource, bytesOf, HEAD_ONLY, UNREAD } from './byte-source.ts'
import { FRAMING } from './field-list.ts'
import type { OutgoingResponse } from './outgoing-response.ts'

type BodyReader = ReadableStreamDefaultReader<Uint8Array>
type BodyResult = Awaited<ReturnType<BodyReader['read']>>

/** A stream that was created from text or bytes has been read to its end within this number of microtasks. Node 20 to 26 need 2 or 3. */
const MOST_TICKS = 6

/** Statuses whose response has no content, to no method. */
const NEVER_WITH_CONTENT: ReadonlySet<number> = new Set([204, 205, 304])

/** Checks the tag, because reading the global `Response` would load Node's whole fetch. */
export function isWebResponse(result: object): result is Response {
  return Object.prototype.toString.call(result) === '[object Response]' && 'headers' in result && 'body' in result
}

/**
 * It replaces the response that was set: body, status and the fields that describe them. What it does not set, such as a type, is not added.
 * @param isHead whether the request is HEAD, so that its body is not read
 * @param mayBeText whether text may be sent as text, and not as bytes, of which no part could be left out
 * @returns a promise only if the body has to be read to know whether it is complete
 * @throws WEIR_RESULT_UNSENDABLE if its body has already been read, because a Response can be sent only once, and for `Response.error()`
 */
export function copyWebResponse(
  response: OutgoingResponse,
  web: Response,
  isHead: boolean,
  mayBeText: boolean,
): OutgoingResponse | Promise<OutgoingResponse> {
  const { body } = web
  if (web.bodyUsed || body?.locked === true) throw new WeirError('WEIR_RESULT_UNSENDABLE', 'the body of the Response has already been read')
  if (web.type === 'error')
    throw new WeirError('WEIR_RESULT_UNSENDABLE', 'Response.error() is the result of a failed fetch: make one with a status')
  try {
    response.clearRepresentation()
    response.status(web.status, web.statusText)
    const declared = copyFields(response, web.headers)
    const hasType = response.type !== null
    // A response to HEAD has no body, which does not mean that the response to GET is empty.
    if (body === null) return isHead && !NEVER_WITH_CONTENT.has(web.status) ? streamed(response, UNREAD, declared, hasType) : response
    if (isHead) return streamed(response, body as unknown as ByteSource, declared, hasType)
    const source = sourceOf(web)
    const reader = body.getReader() // from now on, other code cannot read it, or send it again
    if (source === null) return sendBody(response, reader, declared, hasType)
    if (typeof source !== 'string') return typed(response.body(source), hasType)
    return typed(mayBeText ? response.text(source) : response.body(Buffer.from(source)), hasType)
  } catch (error) {
    if (body?.locked === false) body.cancel(error).catch(ignore)
    throw error
  }
}

/** @returns its Content-Length, if that describes the body: a proxied body may have been decoded, and then has another length */
function copyFields(response: OutgoingResponse, headers: Headers): string | null {
  let declared: string | null = null
  let isCoded = false
  for (const [name, value] of headers) {
    if (name === 'set-cookie') response.appendHeader(name, value)
    else if (name === 'content-length') declared = value
    else if (!FRAMING.test(name)) {
      isCoded ||= name === 'content-encoding'
      response.header(name, value)
    }
  }
  return isCoded ? null : declared
}

/** weir adds a type to bytes and streams. A Response has the type that it says, or none. */
function typed(response: OutgoingResponse, hasType: boolean): OutgoingResponse {
  return hasType ? response : response.removeHeader('Content-Type')
}

async function sendBody(
  response: OutgoingResponse,
  reader: BodyReader,
  declared: string | null,
  hasType: boolean,
): Promise<OutgoingResponse> {
  const start = new BodyStart(reader, isEventStream(response))
  for (let ticks = 0; ticks < MOST_TICKS && !start.isKnown; ticks++) await null
  try {
    if (!start.isWhole) return streamed(response, start, declared, hasType)
    return start.piece === null ? response : typed(response.body(bytesOf(start.piece)), hasType)
  } catch (error) {
    reader.cancel(error).catch(ignore) // another response has been sent, because time was over
    throw error
  }
}

function streamed(response: OutgoingResponse, source: ByteSource, declared: string | null, hasType: boolean): OutgoingResponse {
  response.stream(source)
  if (declared !== null) response.header('Content-Length', declared)
  return typed(response, hasType)
}

/** The head of an event stream is sent before its first event, so that browsers report it as open. */
function isEventStream({ type }: OutgoingResponse): boolean {
  return type?.startsWith('text/event-stream') === true
}

const HEAD_FIRST: Promise<BodyResult> = Promise.resolve({ done: false, value: HEAD_ONLY as Uint8Array<ArrayBuffer> })

/** The first two reads of a body, and a source that continues after them. */
class BodyStart {
  readonly #reader: BodyReader
  /** Whether the head is sent before the first piece has been read. */
  readonly #sendsHead: boolean
  readonly #first: Promise<BodyResult>
  #second: Promise<BodyResult> | null = null
  #reads = 0
  /** The first piece; null if there is none. */
  piece: Uint8Array | null = null
  /** Whether the first piece is all of it. */
  isWhole = false
  /** Whether waiting longer is of no use: it is complete, has a second piece, or has failed. */
  isKnown = false

  constructor(reader: BodyReader, sendsHead: boolean) {
    this.#reader = reader
    this.#sendsHead = sendsHead
    this.#first = reader.read()
    this.#first.then((result) => this.#onFirst(result), this.#onFailure)
  }

  #onFirst({ done, value }: BodyResult): void {
    if (done) this.isWhole = this.isKnown = true
    else {
      this.piece = value
      this.#second = this.#reader.read()
      this.#second.then((result) => {
        this.isKnown = true
        this.isWhole = result.done
      }, this.#onFailure)
    }
  }

  readonly #onFailure = (): void => {
    this.isKnown = true
  }

  /** As a Web stream, which is closed while a read is pending. */
  getReader(): Pick<BodyReader, 'read' | 'cancel'> {
    let isFirst = this.#sendsHead && this.piece === null
    return {
      read: () => {
        if (isFirst) {
          isFirst = false
          return HEAD_FIRST
        }
        this.#reads++
        return this.#reads === 1 ? this.#first : this.#reads === 2 && this.#second !== null ? this.#second : this.#reader.read()
      },
      cancel: (reason) => this.#reader.cancel(reason),
    }
  }

  /** What makes it a source. It is read by `getReader`. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const reader = this.getReader()
    for (let result = await reader.read(); !result.done; result = await reader.read()) yield result.value
  }
}

interface InnerState {
  readonly body?: { readonly source?: unknown } | null
}

/** Where a Response keeps what its body was created from; null if that is out of reach. Undefined: not yet known. */
let stateKey: symbol | null | undefined

/** What its body was created from, if that was text or bytes; null if it is not known. */
function sourceOf(web: Response): Uint8Array | string | null {
  if (stateKey === undefined) stateKey = findStateKey(web)
  if (stateKey === null) return null
  const source = (web as unknown as Record<symbol, InnerState | undefined>)[stateKey]?.body?.source
  return typeof source === 'string' || source instanceof Uint8Array ? source : null
}

/** Tries it with text and with bytes. A Response of another implementation is read as a stream. */
function findStateKey(web: Response): symbol | null {
  const Native = globalThis.Response
  if (!(web instanceof Native)) return null
  const text = 'weir'
  const bytes = new Uint8Array([1, 2])
  const sourceAt = (key: symbol, made: Response): unknown => (made as unknown as Record<symbol, InnerState | undefined>)[key]?.body?.source
  const isRight = (key: symbol): boolean => {
    const copy = sourceAt(key, new Native(bytes))
    return sourceAt(key, new Native(text)) === text && copy instanceof Uint8Array && copy.length === 2 && copy[1] === 2
  }
  return Object.getOwnPropertySymbols(new Native(text)).find(isRight) ?? null
}

function ignore(): void {}
