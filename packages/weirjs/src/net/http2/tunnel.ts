// The socket that another protocol receives over HTTP/2: a Duplex over one stream, which the client has opened with extended CONNECT (RFC 8441).
//
// Its bytes are DATA in both directions, END_STREAM ends one of them, and RST_STREAM is a reset. What is written first is the head of the
// response, as in HTTP/1.1: see switch-head.ts. A write is complete when the client's windows have taken it.

import { Buffer } from 'node:buffer'
import { Duplex } from 'node:stream'
import { PieceQueue } from '../../http/body/piece-queue.ts'
import type { UpgradedDuplex } from '../../http/response/response-content.ts'
import type { Http2WireConnection } from '../../wire/http2/connection.ts'
import { CANCEL } from '../../wire/http2/errors.ts'
import type { Http2Stream } from '../../wire/http2/stream.ts'

import type { OtherProtocol } from '../observe/upgrade-record.ts'
import { SmallWrites } from '../transport/small-writes.ts'
import { type SwitchHead, SwitchHeadReader } from './switch-head.ts'

type Done = (error?: Error | null) => void

/** The exchange that has been answered with a tunnel. */
export interface TunnelOwner {
  /** The tunnel is being read: held bytes may be passed on. */
  onRead(): void
  /** Frames have been made, or wait for the client. */
  onWritten(): void
}

/** What happens on a stream that speaks another protocol. */
export interface StreamEvents {
  /** Bytes of the client. */
  onData(buffer: Buffer, start: number, end: number, isBorrowed: boolean): void
  /** The client has ended its side. */
  onEnd(): void
  /** The stream is closed. */
  onClose(): void
  /** Frames have been made. @returns whether a write waits for more of them */
  settle(): boolean
}

export const STREAM_EVENTS = ['onData', 'onEnd', 'onClose', 'settle'] as const

/** Another protocol on a stream, as the exchange sees it. */
export interface StreamUser extends StreamEvents, OtherProtocol {}

export class Tunnel<T> extends Duplex implements UpgradedDuplex, StreamUser {
  readonly #wire: Http2WireConnection<T>
  readonly #stream: Http2Stream<T>
  readonly #owner: TunnelOwner
  readonly #pieces = new PieceQueue(this)
  readonly #writes = new SmallWrites(this)
  /** Null once the head has been sent. */
  #head: SwitchHeadReader | null = new SwitchHeadReader()
  readonly #date: string
  receivedBytes = 0
  writtenBytes = 0
  #wasClosed = false
  onActivity: (() => void) | null = null
  /** The callback of a write that is waiting for the client. */
  #onTaken: Done | null = null

  /** @param date for the response */
  constructor(wire: Http2WireConnection<T>, stream: Http2Stream<T>, owner: TunnelOwner, date: string) {
    super({ autoDestroy: false })
    this.#wire = wire
    this.#stream = stream
    this.#owner = owner
    this.#date = date
    if (!stream.isReceiving) this.onEnd()
  }

  // Events of the stream.

  onData(buffer: Buffer, start: number, end: number, isBorrowed: boolean): void {
    this.receivedBytes += end - start
    this.onActivity?.()
    if (!this.#pieces.push(buffer, start, end, isBorrowed)) this.#wire.bodies.pauseBody(this.#stream)
  }

  /** The client has ended its side. */
  onEnd(): void {
    this.#wasClosed = true
    this.#pieces.end()
    this.read(0) // emits the end even if nothing reads
  }

  /** The stream is closed. */
  onClose(): void {
    if (this.destroyed) this.#wasClosed = true // by the program
    this.destroy()
  }

  get wasClosed(): boolean {
    return this.#wasClosed
  }

  /** Frames have been made. @returns whether a write waits for more of them */
  settle(): boolean {
    if (this.#stream.queuedBytes > 0) return this.#onTaken !== null
    const onTaken = this.#onTaken
    this.#onTaken = null
    onTaken?.()
    return this.#onTaken !== null
  }

  // Called by the Duplex.

  override _read(): void {
    this.#wire.bodies.resumeBody(this.#stream)
    this.#owner.onRead()
  }

  override write(chunk: unknown, encoding?: BufferEncoding | Done, done?: Done): boolean {
    const hasEncoding = typeof encoding === 'string'
    const callback = this.#writes.callback(hasEncoding ? done : (encoding ?? done))
    return this.#writes.count(super.write(chunk, hasEncoding ? encoding : undefined!, callback))
  }

  override _write(bytes: Buffer, _encoding: string, done: Done): void {
    try {
      this.#send(bytes)
    } catch (error) {
      this.destroy(error as Error)
      done(error as Error)
      return
    }
    if (this.#stream.queuedBytes > 0) this.#onTaken = done
    else done()
    this.#owner.onWritten()
  }

  override _writev(pieces: readonly { readonly chunk: Buffer }[], done: Done): void {
    this._write(Buffer.concat(pieces.map(({ chunk }) => chunk)), '', done)
  }

  /** @throws WEIR_RESPONSE_HEADER_SYNTAX */
  #send(bytes: Buffer): void {
    let data = bytes
    if (this.#head !== null) {
      const head = this.#head.push(bytes)
      if (head === null) return
      this.#sendHead(head)
      data = head.rest
    }
    if (data.length === 0) return
    this.writtenBytes += data.length
    this.onActivity?.()
    this.#wire.sender.sendData(this.#stream, data, false)
  }

  #sendHead({ status, fields }: SwitchHead): void {
    this.#head = null
    this.#wire.sender.sendHead(this.#stream, status, null, fields, -1, this.#date, false)
  }

  override _final(done: Done): void {
    this.#wasClosed = true
    // Without a head, there is nothing to end.
    if (this.#head === null) this.#wire.sender.sendEnd(this.#stream)
    else this.#wire.sender.reset(this.#stream, CANCEL)
    done()
    this.#owner.onWritten()
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#wire.sender.reset(this.#stream, CANCEL)
    // Otherwise whatever waits for this write, or for a later one, would never learn that it has failed.
    const onTaken = this.#onTaken
    this.#onTaken = null
    onTaken?.(error ?? new Error('the socket was closed before all of it was written'))
    done(error)
    this.#owner.onWritten()
  }
}
