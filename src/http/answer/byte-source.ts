// A body that comes in pieces from the host program, and how it is read and closed.

import { AsyncResource } from 'node:async_hooks'
import { Buffer } from 'node:buffer'
import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'

/** Bytes, or text that is sent as UTF-8, as they come. A Node `Readable` and a Web `ReadableStream` are such. */
export type ByteSource = AsyncIterable<Uint8Array | string>

/** The body of an answer to HEAD: it is never asked for. */
export const UNREAD: ByteSource = {
  async *[Symbol.asyncIterator]() {},
}

const TYPED_ARRAY: object = Object.getPrototypeOf(Uint8Array.prototype)
const bufferOf = getterOf('buffer')
const offsetOf = getterOf('byteOffset')
const lengthOf = getterOf('byteLength')

/**
 * The same memory, seen through an object that nobody else has: a `length` that a program defines on its own bytes would be sent as
 * Content-Length, and what follows would be read as another response.
 */
export function ownView(bytes: Uint8Array): Uint8Array {
  const buffer = Reflect.apply(bufferOf, bytes, []) as ArrayBuffer
  return Buffer.from(buffer, Reflect.apply(offsetOf, bytes, []) as number, Reflect.apply(lengthOf, bytes, []) as number)
}

function getterOf(name: string): () => unknown {
  return Object.getOwnPropertyDescriptor(TYPED_ARRAY, name)!.get!
}

/** A piece of a source as bytes. @throws WEIR_RESULT_UNSENDABLE for what a source may not give */
export function bytesOf(piece: unknown): Uint8Array {
  if (typeof piece === 'string') return Buffer.from(piece)
  if (piece instanceof Uint8Array) return ownView(piece)
  if (piece instanceof ArrayBuffer) return new Uint8Array(piece)
  throw new WeirError('WEIR_RESULT_UNSENDABLE', `a stream gave ${kindOf(piece)}, not bytes or text`)
}

/** A source that gave more or less than its Content-Length promised. @param rest how many bytes were still to come, below zero for too many */
export function lengthError(promised: number, rest: number): WeirError {
  return new WeirError('WEIR_RESPONSE_LENGTH', `${promised} bytes were promised, ${rest < 0 ? 'more came' : `${rest} are missing`}`)
}

/** Reads a source once. */
export interface SourceReader {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>
  /** Nobody reads further. May be called at any time, also while `next` is pending, and more than once. */
  close(): void
}

/** A source as an answer has it. The same may be given to several. */
export interface GivenSource {
  readonly source: ByteSource
  /**
   * The context in which it runs: the socket that has room reads it, but its AsyncLocalStorage is that of the code that passed it in.
   * Null for streams, which keep a context of their own.
   */
  readonly giver: AsyncResource | null
}

/** Takes a source in, to be read later. A stream that fails before anybody reads it, or when nobody is going to, must not end the process. */
export function takeSource(source: ByteSource): GivenSource {
  if (isNodeStream(source)) source.on('error', ignore)
  else if (!isWebStream(source)) return { source, giver: new AsyncResource('weir.source') }
  return { source, giver: null }
}

/**
 * Begins to read.
 * @throws TypeError for a Web stream that has another reader
 */
export function openSource({ source, giver }: GivenSource): SourceReader {
  if (isWebStream(source)) {
    // Its own iterator closes only between two pieces: a stream that has nothing to say would never hear of it.
    const reader = source.getReader()
    return { next: async () => reader.read(), close: () => void cancel(reader).catch(ignore) }
  }
  const inItsName = <T>(act: () => T): T => (giver === null ? act() : giver.runInAsyncScope(act))
  const iterator = inItsName(() => source[Symbol.asyncIterator]())
  return {
    next: async () => inItsName(() => iterator.next()),
    close: () => void inItsName(() => end(source, iterator)).catch(ignore),
  }
}

/** Closes a source that nobody is going to read: a HEAD request, or an answer that was replaced. */
export function closeSource(given: GivenSource): void {
  try {
    openSource(given).close()
  } catch {
    // It has a reader already, who will close it.
  }
}

function isNodeStream(source: ByteSource): source is ByteSource & NodeJS.EventEmitter {
  return 'destroy' in source && 'on' in source && typeof source.on === 'function'
}

/** Asked by its method: touching the global `ReadableStream` would load all of Node's Web streams. */
function isWebStream(source: ByteSource): source is ByteSource & ReadableStream<unknown> {
  return 'getReader' in source && typeof source.getReader === 'function'
}

/** What it throws or rejects with, and whether it gives a promise at all, is no longer of interest. */
async function end(source: ByteSource, iterator: AsyncIterator<unknown>): Promise<void> {
  if ('destroy' in source && typeof source.destroy === 'function') source.destroy()
  else await iterator.return?.()
}

async function cancel(reader: ReadableStreamDefaultReader<unknown>): Promise<void> {
  await reader.cancel()
}

function ignore(): void {}
