// The body of a request without its coding. It takes the place of the body that the engine fills, and reads that one on demand, so that
// back-pressure reaches the socket: reader, decoder, engine.

import { Buffer } from 'node:buffer'

import { networkOf } from '../../formats/client-network.ts'
import { type FieldList, FORM, RequestBody, STREAMED } from '../../http/body/body.ts'
import { BYTES_OF_WORK, workTurns } from '../../http/work-turns.ts'

/** The end of a smaller body does not wait for a turn: parsing it takes no longer than the rest of its request. */
const LARGE_BYTES = 4 * 1024

/** Decodes a body, for `decodeBody` of an exchange. Its members are called until it has finished or failed, and `release` is called in any case. */
export interface BodyDecoder {
  /** The reader needs (more) bytes. The first time, call `take` of the body. */
  demand(): void
  /**
   * Bytes as they arrived. @param borrowed whether their memory is used again as soon as this returns: copy what is needed later
   * @returns false to be given nothing more before it calls `demand` of the body
   */
  data(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean
  /** All bytes have arrived. */
  end(): void
  /** The rest will not arrive: pass the error on to `fail`. */
  fail(error: Error): void
  /** The exchange is over. */
  release(): void
  /** Whether it keeps bytes after `data`. */
  readonly keepsBytes: boolean
}

/** The body that a decoder reads from and writes to: see `decodeBody` of `ExchangeHandle`. */
export interface CodedBody {
  /** Begins to read the bytes as they arrive. May throw. */
  take(): void
  /** Asks for more bytes. */
  demand(): void
  /** The rest is no longer needed. */
  refuse(error: Error): void
  /** Passes decoded bytes on, which do not change any more. @returns false to wait for `demand` of the decoder */
  push(bytes: Uint8Array): boolean
  /** All decoded bytes have been passed on. */
  finish(): void
  fail(error: Error): void
}

export class DecodedBody extends RequestBody {
  readonly #received: RequestBody
  readonly #decoder: BodyDecoder
  #pushedBytes = 0

  /**
   * @param owner who reads the bytes, for errors
   * @param client its address
   */
  constructor(owner: string, client: string, received: RequestBody, make: (body: CodedBody) => BodyDecoder) {
    // Gates have let the request pass before it is decoded.
    const engine = { isGating: false, demand: (): void => this.#decoder.demand() }
    super(-1, engine, received.mode === FORM ? FORM : STREAMED)
    this.#received = received
    this.#decoder = make({
      take: () => received.take(owner, this.#decoder),
      demand: () => received.demand(),
      refuse: (error) => received.fail(error),
      push: (bytes) => {
        this.#pushedBytes += bytes.length
        return this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length, false)
      },
      finish: () => this.#finishInTurn(client, received.trailers(owner)),
      fail: (error) => this.fail(error),
    })
  }

  override get isDecoded(): boolean {
    return true
  }

  /**
   * Waits for a turn, because a body is parsed as a whole at its end, and the bodies of many clients may be complete in the same turn of the event
   * loop.
   */
  #finishInTurn(client: string, trailers: FieldList): void {
    const finish = (): void => {
      workTurns.spend(Math.floor(this.#pushedBytes / BYTES_OF_WORK))
      this.finish(trailers)
    }
    if (this.#pushedBytes < LARGE_BYTES) finish()
    else workTurns.run(networkOf(client), finish)
  }

  /** Nothing is overwritten, because the engine does not know that a response may be a view of this memory. */
  override expire(route: string, poison: boolean): void {
    super.expire(route, false)
    this.#decoder.release()
    this.#received.expire(route, poison)
  }
}
