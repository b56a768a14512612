// A response body that the host program produces in pieces: how it is read and closed.

import { AsyncResource } from 'node:async_hooks'
import { Buffer } from 'node:buffer'
import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'

/**
 * An asynchronous sequence of bytes, or of text that is sent as UTF-8. Node's `Readable` and Web `ReadableStream` are byte sources.
 * @example
 * async function* numbers(): ByteSource {
 *   for (let i = 0; i < 3; i++) yield `${i}\n`
 * }
 * server.mapGet('/numbers', (_, { response }) => response.stream(numbers(), 'text/plain'))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/files-and-streams.md
 */
export type ByteSource = AsyncIterable<Uint8Array | string>

/** The body of a response to HEAD. It is never read. */
export const UNREAD: ByteSource = {
  async *[Symbol.asyncIterator]() {},
}

/** A piece without bytes: a source yields it to have the head of the response sent before its first bytes. */
export const HEAD_ONLY: Uint8Array = Buffer.alloc(0)

/** A source of known bytes. @param piece null for none */
export function onePiece(piece: Uint8Array | null): ByteSource {
  return {
    async *[Symbol.asyncIterator]() {
      if (piece !== null) yield piece
    },
  }
}

const TYPED_ARRAY: object = Object.getPrototypeOf(Uint8Array.prototype)
const bufferOf = getterOf('buffer')
const offsetOf = getterOf('byteOffset')
const lengthOf = getterOf('byteLength')

/**
 * A private view of the same memory. A program may define its own `length` on its bytes, which would be sent as Content-Length, so that the
 * client would read the excess bytes as another response.
 */
export function ownView(bytes: Uint8Array): Uint8Array {
  const buffer = Reflect.apply(bufferOf, bytes, []) as ArrayBuffer
  return Buffer.from(buffer, Reflect.apply(offsetOf, bytes, []) as number, Reflect.apply(lengthOf, bytes, []) as number)
}

function getterOf(name: string): () => unknown {
  return Object.getOwnPropertyDescriptor(TYPED_ARRAY, name)!.get!
}

/** Converts a piece of a source to bytes. @throws WEIR_RESULT_UNSENDABLE for anything but bytes and text */
export function bytesOf(piece: unknown): Uint8Array {
  if (typeof piece === 'string') return Buffer.from(piece)
  if (piece instanceof Uint8Array) return ownView(piece)
  if (piece instanceof ArrayBuffer) return new Uint8Array(piece)
  throw new WeirError('WEIR_RESULT_UNSENDABLE', `a stream yielded ${kindOf(piece)}, not bytes or text`)
}

/** For a source that yielded more or less than its Content-Length. @param rest how many bytes are missing, negative for too many */
export function lengthError(promised: number, rest: number): WeirError {
  return new WeirError(
    'WEIR_RESPONSE_LENGTH',
    `${promised} bytes were declared, ${rest < 0 ? 'but the body has more' : `${rest} are missing`}`,
  )
}

/** A source that can choose the size of its pieces, and use their memory again. */
export const LEND_PIECE: unique symbol = Symbol('weir.lendPiece')

interface LendingSource {
  /** Like `next` of its iterator. The piece has at most `mostBytes`, and the pieces before it are not read any more. */
  [LEND_PIECE](mostBytes: number): Promise<IteratorResult<Uint8Array>>
}

/** What a source yields: a piece, or its end. */
export interface SourceResult {
  readonly done?: boolean | undefined
  readonly value?: unknown
}

/** Reads a source once. */
export interface SourceReader {
  /**
   * @param mostBytes if it is given, the pieces before this one are not read any more, and this one need not be larger. Not every source makes
   * use of that
   */
  next(mostBytes?: number): Promise<SourceResult>
  /** Stops reading and releases the source. May be called at any time, even while `next` is pending, and more than once. */
  close(): void
}

/** A source as a response holds it. One source may be given to several responses. */
export interface GivenSource {
  readonly source: ByteSource
  /**
   * The asynchronous context in which the source is read and closed. Events of the connection drive that, which serves other requests too, but
   * the source must see the AsyncLocalStorage of the code that passed it in.
   */
  readonly giver: AsyncResource
  /** Called with each piece that is read. It must not throw, and copies what it keeps. */
  readonly watcher?: (piece: unknown) => void
}

/** Accepts a source, to be read later. A stream that fails before it is read, or that is never read, must not end the process. */
export function takeSource(source: ByteSource): GivenSource {
  if (isNodeStream(source)) source.on('error', ignore)
  return { source, giver: new AsyncResource('weir.source') }
}

/**
 * Starts reading.
 * @throws TypeError for a Web stream that already has a reader
 */
export function openSource(given: GivenSource): SourceReader {
  const reader = readerOf(given)
  const { watcher } = given
  return watcher === undefined ? reader : watched(reader, watcher)
}

function watched(reader: SourceReader, watcher: (piece: unknown) => void): SourceReader {
  return {
    next: async (mostBytes) => {
      const result = await reader.next(mostBytes)
      if (result.done !== true) watcher(result.value)
      return result
    },
    close: () => reader.close(),
  }
}

function readerOf({ source, giver }: GivenSource): SourceReader {
  if (isWebStream(source)) {
    // The stream's own iterator can be closed only between two pieces, so a silent stream would never be cancelled.
    const reader = source.getReader()
    return {
      next: () => giver.runInAsyncScope(reader.read, reader),
      close: () => void giver.runInAsyncScope(cancel, null, reader).catch(ignore),
    }
  }
  return new IteratorReader(source, giver)
}

/** Reads an iterator in the context of the code that passed it in. It is a single object, because many streams wait at the same time. */
class IteratorReader implements SourceReader {
  readonly #source: ByteSource
  readonly #giver: AsyncResource
  readonly #iterator: AsyncIterator<unknown>

  constructor(source: ByteSource, giver: AsyncResource) {
    this.#source = source
    this.#giver = giver
    this.#iterator = giver.runInAsyncScope(() => source[Symbol.asyncIterator]())
  }

  next(mostBytes?: number): Promise<SourceResult> {
    return this.#giver.runInAsyncScope(this.#read, this, mostBytes)
  }

  /**
   * What `next` of a program's own iterator returns or throws, as a promise. An async function would do the same, but passes a promise on
   * three turns of the microtask queue later, for each piece.
   */
  #read(mostBytes: number | undefined): Promise<SourceResult> {
    try {
      const source = this.#source
      const isLent = mostBytes !== undefined && LEND_PIECE in source
      const result = isLent ? (source as ByteSource & LendingSource)[LEND_PIECE](mostBytes) : this.#iterator.next()
      return result instanceof Promise ? result : Promise.resolve(result)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  close(): void {
    this.#giver.runInAsyncScope(end, null, this.#source, this.#iterator).catch(ignore)
  }
}

/** Closes a source that will not be read, because the request is HEAD or the response was replaced. */
export function closeSource(given: GivenSource): void {
  try {
    openSource(given).close()
  } catch {
    // It already has a reader, which will close it.
  }
}

function isNodeStream(source: ByteSource): source is ByteSource & NodeJS.EventEmitter {
  return 'destroy' in source && 'on' in source && typeof source.on === 'function'
}

/** Checks for a method, because touching the global `ReadableStream` would load all of Node's Web streams. */
function isWebStream(source: ByteSource): source is ByteSource & ReadableStream<unknown> {
  return 'getReader' in source && typeof source.getReader === 'function'
}

/** Asynchronous so that the caller can ignore whatever it throws or rejects with. */
async function end(source: ByteSource, iterator: AsyncIterator<unknown>): Promise<void> {
  if ('destroy' in source && typeof source.destroy === 'function') source.destroy()
  else await iterator.return?.()
}

async function cancel(reader: ReadableStreamDefaultReader<unknown>): Promise<void> {
  await reader.cancel()
}

function ignore(): void {}
