// Describes the frames of a client in words: by weir's reader, and by a slow and simple second one that receives all bytes at once.

import { Http2Error } from '../../src/wire/http2/errors.ts'
import { FrameReader, NEED_DATA, STREAM_FAULT, UNKNOWN } from '../../src/wire/http2/frames/frame-reader.ts'
import {
  DATA,
  GOAWAY,
  HEADERS,
  PING,
  PREFACE,
  PRIORITY,
  PRIORITY_UPDATE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from '../../src/wire/http2/frames/frame-types.ts'

export interface FrameOptions {
  readonly maxBlockBytes: number
  readonly maxFrameBytes: number
  /** Whether the caller stops after each event, and reuses its buffer. */
  readonly holds?: boolean
}

export const FRAME_OPTIONS: FrameOptions = { maxBlockBytes: 100_000, maxFrameBytes: 16_384 }

const POISON = 0xdd

/** The words, and the most bytes that were kept between two parts. Consecutive pieces of DATA of a stream are joined. */
export interface FrameReading {
  readonly words: readonly string[]
  readonly mostHeldBytes: number
}

/** One word for each event, and for each run of DATA. */
class Words {
  readonly list: string[] = []
  #data: { readonly stream: number; text: string; flowBytes: number } | null = null

  add(word: string): void {
    this.#endData()
    this.list.push(word)
  }

  addData(stream: number, flowBytes: number, isEnd: boolean, data: Buffer): void {
    if (this.#data?.stream !== stream) this.#endData()
    this.#data ??= { stream, text: '', flowBytes: 0 }
    this.#data.text += data.toString('latin1')
    this.#data.flowBytes += flowBytes
    if (isEnd) this.add(`end ${stream}`)
  }

  #endData(): void {
    if (this.#data === null) return
    const { stream, flowBytes, text } = this.#data
    this.#data = null
    this.list.push(`DATA ${stream} ${flowBytes} ${text}`)
  }

  finish(): string[] {
    this.#endData()
    return this.list
  }
}

/** Reads bytes that arrive in parts. All parts use the same memory, which is overwritten after each. */
export function readFrames(parts: readonly Buffer[], { maxBlockBytes, maxFrameBytes, holds = false }: FrameOptions): FrameReading {
  const reader = new FrameReader(maxBlockBytes, maxFrameBytes)
  const lent = Buffer.alloc(Math.max(1, ...parts.map(({ length }) => length)))
  const words = new Words()
  let mostHeldBytes = 0
  try {
    for (const part of parts) {
      part.copy(lent)
      reader.receive(lent, part.length)
      for (let event = reader.next(); event !== NEED_DATA; event = reader.next()) {
        note(words, reader, event)
        if (!holds) continue
        reader.hold()
        lent.fill(POISON)
      }
      lent.fill(POISON)
      mostHeldBytes = Math.max(mostHeldBytes, reader.heldBytes)
    }
  } catch (error) {
    if (!(error instanceof Http2Error)) throw error
    words.add(error.fault)
  }
  return { words: words.finish(), mostHeldBytes }
}

function note(words: Words, reader: FrameReader, event: number): void {
  const { stream, isEnd, isAck, code, value } = reader
  const payload = reader.buffer.subarray(reader.start, reader.end)
  const text = payload.toString('latin1')
  if (event === DATA) words.addData(stream, reader.flowBytes, isEnd, payload)
  else if (event === HEADERS) words.add(`HEADERS ${stream}${isEnd ? ' end' : ''} ${text}`)
  else if (event === PRIORITY) words.add(`PRIORITY ${stream}`)
  else if (event === RST_STREAM) words.add(`RST_STREAM ${stream} ${code}`)
  else if (event === SETTINGS) words.add(isAck ? 'SETTINGS ack' : `SETTINGS ${text}`)
  else if (event === PING) words.add(`PING${isAck ? ' ack' : ''} ${text}`)
  else if (event === GOAWAY) words.add(`GOAWAY ${value} ${code} ${text}`)
  else if (event === WINDOW_UPDATE) words.add(`WINDOW_UPDATE ${stream} ${value}`)
  else if (event === PRIORITY_UPDATE) words.add(`PRIORITY_UPDATE ${stream} ${text}`)
  else if (event === STREAM_FAULT) words.add(`${reader.fault} ${stream}`)
  else if (event === UNKNOWN) words.add('unknown')
  else throw new Error(`event ${event}`)
}

/** RFC 9113 §4 and §6, frame by frame. */
export function readFramesPlainly(bytes: Buffer, options: FrameOptions): readonly string[] {
  const words = new Words()
  const refusal = plainly(bytes, options, words)
  if (refusal !== null) words.add(refusal)
  return words.finish()
}

function plainly(bytes: Buffer, { maxBlockBytes, maxFrameBytes }: FrameOptions, words: Words): string | null {
  if (!Buffer.from(PREFACE).subarray(0, bytes.length).equals(bytes.subarray(0, PREFACE.length))) return 'PREFACE'
  let at = PREFACE.length
  let block: { readonly stream: number; readonly isEnd: boolean; text: string; cost: number } | null = null
  for (let isFirst = true; bytes.length - at >= 9; isFirst = false) {
    const [length, type, flags, stream] = [bytes.readUIntBE(at, 3), bytes[at + 3]!, bytes[at + 4]!, bytes.readUInt32BE(at + 5) % 2 ** 31]
    const has = (flag: number): boolean => Math.floor(flags / flag) % 2 === 1
    const payload = bytes.subarray(at + 9, at + 9 + length)
    const isWhole = payload.length === length
    at += 9 + length
    if (isFirst && (type !== 4 || has(1))) return 'PREFACE_SETTINGS'
    if (length > maxFrameBytes) return 'FRAME_TOO_LARGE'
    if (block !== null && (type !== 9 || stream !== block.stream)) return 'BLOCK_INTERRUPTED'
    const onStream = [0, 1, 2, 3, 9].includes(type)
    if (onStream && stream === 0) return 'STREAM_MISSING'
    if ([4, 6, 7, 16].includes(type) && stream !== 0) return 'STREAM_UNWANTED'
    const least = type > 1 ? 0 : (has(8) ? 1 : 0) + (type === 1 && has(32) ? 5 : 0)
    if (length < least || (type === 7 && length < 8) || (type === 16 && length < 4)) return 'FRAME_TOO_SMALL'
    const exact: number | undefined = ({ 3: 4, 6: 8, 8: 4 } as Record<number, number>)[type]
    if (exact !== undefined && length !== exact) return 'FRAME_LENGTH'
    if (type === 4 && has(1) && length > 0) return 'SETTINGS_ACK_LENGTH'
    if (type === 4 && length % 6 !== 0) return 'FRAME_LENGTH'
    if (type === 5) return 'PUSH'
    if (type === 9 && block === null) return 'BLOCK_MISSING'
    if (type === 1 && length > maxBlockBytes) return 'BLOCK_TOO_LARGE'
    if (type === 9 && (block!.cost += 9 + length) > maxBlockBytes) return 'BLOCK_TOO_LARGE'
    if (type === 0) {
      if (has(8) && payload.length > 0 && payload[0]! > length - 1) return 'PADDING'
      const from = has(8) ? 1 : 0
      const to = has(8) && payload.length > 0 ? length - payload[0]! : length
      const isCut = payload.length < (has(8) && payload.length === 0 ? 1 : 0) || (length > 0 && payload.length <= from && !isWhole)
      if (!isCut) words.addData(stream, payload.length, isWhole && has(1), payload.subarray(from, to))
      continue
    }
    if (!isWhole) return null
    const text = payload.toString('latin1')
    if (type === 1) {
      const to = has(8) ? length - payload[0]! : length
      if (to < least) return 'PADDING'
      block = { stream, isEnd: has(1), text: text.slice(least, to), cost: length }
    } else if (type === 9) block!.text += text
    if (type === 1 || type === 9) {
      if (!has(4)) continue
      words.add(`HEADERS ${stream}${block!.isEnd ? ' end' : ''} ${block!.text}`)
      block = null
    } else if (type === 2) words.add(length === 5 ? `PRIORITY ${stream}` : `PRIORITY_LENGTH ${stream}`)
    else if (type === 3) words.add(`RST_STREAM ${stream} ${payload.readUInt32BE(0)}`)
    else if (type === 4) words.add(has(1) ? 'SETTINGS ack' : `SETTINGS ${text}`)
    else if (type === 6) words.add(`PING${has(1) ? ' ack' : ''} ${text}`)
    else if (type === 7) words.add(`GOAWAY ${payload.readUInt32BE(0) % 2 ** 31} ${payload.readUInt32BE(4)} ${text.slice(8)}`)
    else if (type === 8) {
      const increment = payload.readUInt32BE(0) % 2 ** 31
      if (increment > 0) words.add(`WINDOW_UPDATE ${stream} ${increment}`)
      else if (stream === 0) return 'WINDOW_INCREMENT_CONNECTION'
      else words.add(`WINDOW_INCREMENT ${stream}`)
    } else if (type === 16) {
      const prioritized = payload.readUInt32BE(0) % 2 ** 31
      if (prioritized === 0) return 'PRIORITY_UPDATE_STREAM'
      words.add(`PRIORITY_UPDATE ${prioritized} ${text.slice(4)}`)
    } else words.add('unknown')
  }
  return null
}
