// Divides what one connection receives and sends into exchanges.

import { Buffer } from 'node:buffer'
import { createHash, type Hash } from 'node:crypto'
import { GatheredBytes } from '../../http/body/gathered-bytes.ts'
import { PieceList } from '../../http/body/piece-list.ts'

import type { Head } from '../../wire/head/head.ts'
import type { ConnectionTap } from '../connections/tap.ts'
import { type ResponseHead, ResponseReader } from './response-reader.ts'

/** An exchange with the bytes that an HTTP/1.1 connection carried, secrets included. */
export interface RawExchange {
  readonly isSecure: boolean
  /** Name of the endpoint; null if it has none. */
  readonly endpoint: string | null
  readonly recordedAt: number
  /** Empty if there was no valid head. */
  readonly method: string
  readonly target: string
  readonly pieces: readonly { readonly atMs: number; readonly bytes: Buffer }[]
  readonly endedAtMs: number | null
  readonly response: {
    readonly head: ResponseHead
    /** As sent, without chunks; null if it was larger than is kept. */
    readonly body: Buffer | null
    readonly length: number
    readonly trailers: Headers
    readonly sha256: string
    readonly isWhole: boolean
    readonly firstByteMs: number
    readonly endMs: number
  }
}

/** Receives the exchanges. Its methods must not throw. */
export interface ExchangeTap {
  /** The largest request, and the largest response body, that is kept. */
  readonly maxBytes: number
  /** Whether to keep an exchange. Asked when its head is complete. */
  wants(method: string, target: string): boolean
  keep(exchange: RawExchange): void
  /** An exchange is left out. */
  skip(why: 'size' | 'incomplete'): void
}

interface Request {
  readonly recordedAt: number
  readonly startedAt: number
  method: string
  target: string
  isWanted: boolean
  isTooLarge: boolean
  /** Whether all of it has arrived. */
  isComplete: boolean
  pieces: { atMs: number; bytes: Buffer }[]
  /** Small pieces after them, which form one piece together. */
  readonly gathered: GatheredBytes
  gatheredAtMs: number
  /** Of all pieces. */
  size: number
  endedAtMs: number | null
}

interface Response {
  readonly head: ResponseHead
  readonly pieces: PieceList
  readonly hash: Hash
  readonly firstByteMs: number
  length: number
  endMs: number
  isWhole: boolean
}

/** How many pieces of a request are kept as they have arrived: each costs more than a hundred bytes, and a client decides how many there are. */
const MOST_PIECES = 1_000
/** After these, shorter pieces are gathered. */
const SMALL_BYTES = 4 * 1024
const GATHERED_BYTES = 64 * 1024

export class RecordedConnection implements ConnectionTap {
  readonly #owner: ExchangeTap
  readonly #origin: Pick<RawExchange, 'isSecure' | 'endpoint'>
  readonly #onClosed: (connection: RecordedConnection) => void
  readonly #reader = new ResponseReader()
  /** Requests without a complete response, the oldest first. The last one may not be complete. */
  readonly #requests: Request[] = []
  /** The response to the oldest request. */
  #response: Response | null = null
  /** Whether the connection speaks another protocol, or is no longer recorded. */
  #isOver = false

  constructor(owner: ExchangeTap, origin: Pick<RawExchange, 'isSecure' | 'endpoint'>, onClosed: (connection: RecordedConnection) => void) {
    this.#owner = owner
    this.#origin = origin
    this.#onClosed = onClosed
  }

  received(bytes: Buffer, length: number): void {
    if (this.#isOver || length === 0) return
    let request = this.#requests.at(-1)
    if (request === undefined || request.isComplete) {
      request = newRequest()
      this.#requests.push(request)
    }
    this.#add(request, bytes.subarray(0, length), true, performance.now())
  }

  /** @param isLent whether the memory of `bytes` may change */
  #add(request: Request, bytes: Buffer, isLent: boolean, now: number): void {
    const atMs = Math.round(now - request.startedAt)
    request.size += bytes.length
    if (request.pieces.length >= MOST_PIECES && bytes.length < SMALL_BYTES) {
      if (request.gathered.size === 0) request.gatheredAtMs = atMs
      request.gathered.add(bytes, 0, bytes.length)
      if (request.gathered.size < GATHERED_BYTES) return
      flush(request)
    } else {
      flush(request)
      request.pieces.push({ atMs, bytes: isLent ? Buffer.from(bytes) : bytes })
    }
    while (request.size > this.#owner.maxBytes) {
      request.isTooLarge = true
      if (request.pieces.length === 1) break
      request.size -= request.pieces.shift()!.bytes.length
    }
  }

  receivedEnd(): void {
    const request = this.#requests.at(-1)
    if (request !== undefined) request.endedAtMs = Math.round(performance.now() - request.startedAt)
  }

  requestBegun(head: Head): void {
    const request = this.#requests.at(-1)
    if (this.#isOver || request === undefined) return
    request.method = head.method
    request.target = head.target
    request.isWanted = this.#owner.wants(head.method, head.target)
  }

  requestEnded(waiting: number): void {
    const request = this.#requests.at(-1)
    if (this.#isOver || request === undefined || request.isComplete) return
    request.isComplete = true
    const rest = takeLast(request, waiting)
    if (rest.length > 0) {
      const next = newRequest()
      for (const bytes of rest) this.#add(next, bytes, false, next.startedAt)
      this.#requests.push(next)
    }
    if (this.#response?.isWhole === true) this.#finish()
  }

  sent(bytes: Uint8Array): void {
    if (this.#isOver) return
    this.#reader.push(Buffer.from(bytes))
    try {
      while (this.#read());
    } catch {
      this.#isOver = true // not HTTP: something else has taken over
    }
  }

  /** @returns whether there may be more to read */
  #read(): boolean {
    const request = this.#requests[0]
    if (request === undefined) return false
    const now = performance.now() - request.startedAt
    if (this.#response === null) {
      const head = this.#reader.takeHead(request.method === 'HEAD')
      if (head === null) return false
      if (head.status < 200 && head.status !== 101) return true
      this.#response = {
        head,
        pieces: new PieceList(),
        hash: createHash('sha256'),
        firstByteMs: now,
        endMs: now,
        length: 0,
        isWhole: false,
      }
    }
    const response = this.#response
    for (let piece = this.#reader.takePiece(); piece !== null; piece = this.#reader.takePiece()) {
      response.length += piece.length
      response.hash.update(piece)
      if (response.length <= this.#owner.maxBytes) response.pieces.add(piece, false)
    }
    response.endMs = now
    if (!this.#reader.isWhole) return false
    response.isWhole = true
    const isUpgrade = response.head.status === 101
    if (request.isComplete || isUpgrade) this.#finish()
    if (isUpgrade) this.#isOver = true
    return request.isComplete && !isUpgrade
  }

  closed(): void {
    this.#onClosed(this)
    if (this.#isOver) return
    if (this.#response !== null) {
      this.#reader.end()
      this.#read()
      if (this.#response !== null) this.#finish()
    }
    this.#isOver = true
    for (const { isWanted, size } of this.#requests) if (isWanted && size > 0) this.#owner.skip('incomplete')
  }

  /** The oldest request and its response are over. */
  #finish(): void {
    const request = this.#requests.shift()!
    flush(request)
    const { head, pieces, hash, length, isWhole, firstByteMs, endMs } = this.#response!
    this.#response = null
    if (!request.isWanted) return
    if (request.isTooLarge) {
      this.#owner.skip('size')
      return
    }
    const { recordedAt, method, target, endedAtMs } = request
    this.#owner.keep({
      ...this.#origin,
      recordedAt,
      method,
      target,
      endedAtMs,
      pieces: request.pieces,
      response: {
        head,
        body: length > this.#owner.maxBytes ? null : pieces.takeWhole(),
        length,
        trailers: this.#reader.trailers,
        sha256: hash.digest('hex'),
        isWhole,
        firstByteMs: Math.round(firstByteMs),
        endMs: Math.round(endMs),
      },
    })
  }
}

function newRequest(): Request {
  return {
    recordedAt: Date.now(),
    startedAt: performance.now(),
    method: '',
    target: '',
    isWanted: true, // a head that is refused is never known
    isTooLarge: false,
    isComplete: false,
    pieces: [],
    gathered: new GatheredBytes(),
    gatheredAtMs: 0,
    size: 0,
    endedAtMs: null,
  }
}

/** Makes a piece of what was gathered. */
function flush({ pieces, gathered, gatheredAtMs }: Request): void {
  if (gathered.size > 0) pieces.push({ atMs: gatheredAtMs, bytes: gathered.takeMemory() })
}

/** Takes the last `count` bytes of a request: they belong to the next one. */
function takeLast(request: Request, count: number): Buffer[] {
  flush(request)
  const taken: Buffer[] = []
  for (let rest = count; rest > 0; ) {
    const last = request.pieces.pop()
    if (last === undefined) break
    const at = Math.max(0, last.bytes.length - rest)
    if (at > 0) request.pieces.push({ atMs: last.atMs, bytes: last.bytes.subarray(0, at) })
    taken.unshift(last.bytes.subarray(at))
    rest -= last.bytes.length - at
  }
  request.size -= taken.reduce((sum, { length }) => sum + length, 0)
  return taken
}
