// The body of a request as a Web stream, which claims it when it is first read.

import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import type { BodySink, RequestBody } from '../body/body.ts'
import { GatheredBytes } from '../body/gathered-bytes.ts'
import { COPIED, GATHERED, PieceKeeper } from '../body/piece-keeper.ts'

const BOM = 0xfeff

/** How many bytes may wait in the stream until they are read. */
const HIGH_WATER_BYTES = 64 * 1024

export class WebBody implements BodySink {
  readonly keepsBytes = true
  readonly stream: ReadableStream<Uint8Array>
  readonly #body: RequestBody
  #controller!: ReadableStreamDefaultController<Uint8Array>
  /** Small pieces that arrived behind one that has not been read yet. */
  readonly #small = new GatheredBytes()
  readonly #keeper = new PieceKeeper()
  #isTaken = false
  #isCancelled = false
  /** A copy of all of it, if one was made before the request expired. */
  #kept: UnsharedBytes | null = null

  constructor(body: RequestBody) {
    this.#body = body
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => this.#pull(),
        cancel: () => this.#cancel(),
      },
      { highWaterMark: 0, size: (piece) => piece.length },
    )
  }

  /** Whether the stream has no reader yet, and the request has not expired. */
  get isUntouched(): boolean {
    return !this.#isTaken && !this.#isCancelled && this.#kept === null && !this.#body.isExpired && !this.stream.locked
  }

  /** Reads all of an untouched body. Its stream can no longer be read. */
  gather(): Promise<WholeBody> {
    this.#isTaken = true
    void this.stream.getReader()
    return wholeBody(this.#body)
  }

  /** The request is about to expire. A body that is still arriving will never be complete, so its stream fails. */
  keep(): void {
    if (!this.#isTaken && !this.#isCancelled && this.#body.isWhole) this.#kept = this.#body.copy('toWeb()')
  }

  /** What it throws becomes the error of the stream. */
  #pull(): void {
    if (this.#isTaken) {
      this.#flush() // everything before has been read
      this.#body.demand()
      return
    }
    this.#isTaken = true
    if (this.#kept === null && !this.#body.isWhole) this.#body.take('toWeb()', this)
    else {
      const bytes = this.#kept ?? this.#body.copy('toWeb()')
      this.#kept = null
      if (bytes.length > 0) this.#controller.enqueue(bytes)
      this.#controller.close()
    }
  }

  #cancel(): void {
    this.#isCancelled = true
    if (this.#isTaken) this.#body.demand()
  }

  data(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean {
    if (this.#isCancelled) return true // discarded, so that the connection can continue
    const piece = new Uint8Array(buffer.buffer, buffer.byteOffset + start, end - start)
    const way = this.#keeper.wayOf(piece, this.#controller.desiredSize! < 0, borrowed)
    if (way === GATHERED) this.#small.add(buffer, start, end)
    else {
      this.#flush()
      this.#controller.enqueue(way === COPIED ? piece.slice() : piece)
    }
    return this.#controller.desiredSize! - this.#small.size > -HIGH_WATER_BYTES
  }

  #flush(): void {
    if (this.#small.size > 0) this.#controller.enqueue(this.#small.takeBytes())
  }

  end(): void {
    if (this.#isCancelled) return
    this.#flush()
    this.#controller.close()
  }

  fail(error: Error): void {
    this.#controller.error(error)
  }
}

/** Claims a body, and reads all of it without a stream. @throws (rejects) what ends it early; BodyAlreadyReadError */
export function wholeBody(body: RequestBody): Promise<WholeBody> {
  return new Promise((resolve, reject) => {
    const whole = new WholeBody(resolve, reject)
    body.take('toWeb()', whole) // what it throws rejects the promise
  })
}

/** All bytes of a body, to be taken once. */
export class WholeBody implements BodySink {
  readonly #bytes = new GatheredBytes()
  readonly #resolve: (whole: WholeBody) => void
  readonly #reject: (error: Error) => void

  constructor(resolve: (whole: WholeBody) => void, reject: (error: Error) => void) {
    this.#resolve = resolve
    this.#reject = reject
  }

  data(buffer: Buffer, start: number, end: number): boolean {
    this.#bytes.add(buffer, start, end)
    return true
  }

  end(): void {
    this.#resolve(this)
  }

  fail(error: Error): void {
    this.#reject(error)
  }

  /** As UTF-8, without a BOM. */
  text(): string {
    const text = this.#bytes.takeText('utf-8')
    return text.charCodeAt(0) === BOM ? text.slice(1) : text
  }

  buffer(): ArrayBuffer {
    return this.#bytes.takeBytes().buffer
  }
}
