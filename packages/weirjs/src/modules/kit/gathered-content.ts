// Collects the body of a response that may be kept, without holding more than may be kept, and without delaying a slow stream.

import { PieceList } from '../../http/body/piece-list.ts'
import { bytesOf, lengthError, openSource, type SourceReader, type SourceResult } from '../../http/response/byte-source.ts'

import type { ResponseHandle } from './response.ts'

type Gathered = { readonly whole: Uint8Array | null } | { readonly later: Promise<Uint8Array | null> } | null

/** How many turns of the event loop a stream without a length may take before its client gets the first part. */
const PATIENCE = 16

/** See `KeptResponse.gather`. */
export async function gatherContent(response: ResponseHandle, mostBytes: number, mayCollect: () => boolean): Promise<Gathered> {
  const { content, declaredLength } = response
  if (content.kind !== 'stream') {
    const whole = copyBody(response, mostBytes)
    return whole === undefined ? null : { whole }
  }
  if (declaredLength > mostBytes) return null
  return read(response, openSource(content), declaredLength, mostBytes, mayCollect)
}

/**
 * A copy of the body, which may be a view of memory that is used again; null for a response without one.
 *
 * @returns undefined for a body that is not in memory, or has more than `mostBytes`
 */
function copyBody({ content }: ResponseHandle, mostBytes: number): Uint8Array | null | undefined {
  if (content.kind === 'none') return null
  if (content.kind !== 'text' && content.kind !== 'bytes') return undefined
  if (content.kind === 'bytes') return content.bytes.length <= mostBytes ? Uint8Array.prototype.slice.call(content.bytes) : undefined
  if (content.text.length > mostBytes) return undefined // at least one byte each
  const bytes = new TextEncoder().encode(content.text)
  return bytes.length <= mostBytes ? bytes : undefined
}

async function read(
  response: ResponseHandle,
  reader: SourceReader,
  length: number,
  mostBytes: number,
  mayCollect: () => boolean,
): Promise<Gathered> {
  const pieces = new PieceList()
  try {
    for (;;) {
      const reading = reader.next()
      const result = length === -1 ? await soon(reading) : await reading
      if (result === null) {
        const rest = new Rest(reader, pieces, reading, mayCollect() ? mostBytes - pieces.size : -1)
        response.deliver(rest)
        return { later: rest.whole }
      }
      if (result.done === true) break
      pieces.add(bytesOf(result.value), true) // the source may use its memory again
      const total = pieces.size
      if (length !== -1 && total > length) throw lengthError(length, length - total)
      if (total > mostBytes) {
        response.deliver(new Rest(reader, pieces, null, -1))
        return null
      }
    }
    if (length > pieces.size) throw lengthError(length, length - pieces.size)
  } catch (error) {
    reader.close()
    throw error
  }
  const whole = pieces.takeWhole()
  response.deliver(whole)
  return { whole }
}

/** Null if the piece does not arrive within a few turns of the event loop. */
function soon(reading: Promise<SourceResult>): Promise<SourceResult | null> {
  return new Promise((resolve, reject) => {
    let turns = 0
    let isOver = false
    const turn = (): void => {
      if (isOver) return
      if (++turns < PATIENCE) setImmediate(turn)
      else resolve(null)
    }
    const end = (): void => {
      isOver = true
    }
    reading.then(resolve, reject)
    reading.then(end, end)
    setImmediate(turn)
  })
}

/** A source that yields what has been read already, and then the rest, no faster than the client reads. */
class Rest implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #reader: SourceReader
  readonly #first: Uint8Array[]
  #reading: Promise<SourceResult> | null
  #kept: PieceList | null
  #room: number
  #keep: (whole: Uint8Array | null) => void = () => {}
  /** Null if it is not complete, or too large. */
  readonly whole: Promise<Uint8Array | null>

  /** @param room how many bytes more may be kept; -1 to keep nothing */
  constructor(reader: SourceReader, first: PieceList, reading: Promise<SourceResult> | null, room: number) {
    this.#reader = reader
    this.#first = [...first.blocks]
    this.#kept = room < 0 ? null : first
    this.#reading = reading
    this.#room = room
    this.whole = new Promise((resolve) => {
      this.#keep = resolve
    })
    if (room < 0) this.#keep(null)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const known = this.#first.shift()
    if (known !== undefined) return { done: false, value: known }
    const reading = this.#reading ?? this.#reader.next()
    this.#reading = null
    try {
      const { done, value } = await reading
      if (done === true) {
        this.#keep(this.#kept === null ? null : this.#kept.takeWhole())
        return { done: true, value: undefined }
      }
      const piece = bytesOf(value)
      this.#collect(piece)
      return { done: false, value: piece }
    } catch (error) {
      this.#giveUp()
      throw error
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#giveUp()
    this.#reader.close()
    return { done: true, value: undefined }
  }

  #collect(piece: Uint8Array): void {
    if (this.#kept === null) return
    this.#room -= piece.length
    if (this.#room < 0) this.#giveUp()
    else this.#kept.add(piece, true)
  }

  #giveUp(): void {
    this.#kept = null
    this.#keep(null)
  }
}
