// One case of the table for WebSockets: the frames that a client sends, and what it hears until the server has ended the connection.
//
// Numbers are those of the Autobahn test suite, so that a result can be looked up there. Its server echoes every message. Where Autobahn accepts
// more than one behaviour, the table names ours: a rule is checked at the first byte that breaks it.

import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { frame as withoutMask } from '../../support/websocket-client.ts'

export interface SocketCase {
  readonly id: string
  readonly title: string
  readonly sent: readonly Buffer[]
  /** What the server sends, as `lineOf` writes it; its close comes last. */
  readonly heard: readonly string[]
  /** Each case whose bytes are few is also sent byte by byte. */
  readonly isLarge?: boolean
}

export const TEXT = 1
export const BINARY = 2
export const CLOSE = 8
export const PING = 9
export const PONG = 10

export const REFUSED = 'close 1002'
export const NOT_UTF8 = 'close 1007'
export const CLOSED = 'close 1000'

export type Payload = string | Uint8Array

const MASK = [0x9a, 0x01, 0xf0, 0x7c]

/** A frame as a client sends it, with a mask that is not zero. */
export function frame(
  opcode: number,
  payload: Payload = '',
  shape: { readonly fin?: boolean; readonly compressed?: boolean } = {},
): Buffer {
  const bytes = withoutMask(opcode, payload, shape)
  const start = bytes.length - Buffer.byteLength(payload)
  for (let i = 0; i < 4; i++) bytes[start - 4 + i] = MASK[i]!
  for (let i = start; i < bytes.length; i++) bytes[i] = bytes[i]! ^ MASK[(i - start) & 3]!
  return bytes
}

/** A frame that is not the last of its message. */
export const part = (opcode: number, payload: Payload = ''): Buffer => frame(opcode, payload, { fin: false })
/** The last frame of a message that has begun. */
export const last = (payload: Payload = ''): Buffer => frame(0, payload)

/** A frame with these reserved bits. */
export function reserved(bits: number, opcode: number, payload: Payload = ''): Buffer {
  const bytes = frame(opcode, payload)
  bytes[0] = bytes[0]! | (bits << 4)
  return bytes
}

/** A close frame. */
export function closing(code: number, reason: Payload = ''): Buffer {
  const text = new Uint8Array(Buffer.from(reason as string))
  return frame(CLOSE, new Uint8Array([code >> 8, code & 0xff, ...text]))
}

/** The frames of a message in fragments of this size. */
export function fragments(opcode: number, bytes: Uint8Array, size: number): Buffer[] {
  const frames: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size)
    frames.push(frame(at === 0 ? opcode : 0, bytes.subarray(at, at + size), { fin: at + size >= bytes.length }))
  return frames
}

/** A frame as a line: short payloads as text, long ones by their size and a checksum. */
export function lineOf(opcode: number, payload: Uint8Array): string {
  if (opcode === CLOSE) {
    if (payload.length === 0) return 'close'
    const bytes = Buffer.from(payload)
    return `close ${bytes.readUInt16BE()} ${bytes.toString('utf8', 2)}`.trimEnd()
  }
  const name = { [TEXT]: 'text', [BINARY]: 'binary', [PING]: 'ping', [PONG]: 'pong' }[opcode] ?? `opcode ${opcode}`
  if (payload.length > 200) return `${name} of ${payload.length}, ${checksum(payload)}`
  return `${name} ${Buffer.from(payload).toString('hex')}`.trimEnd()
}

function checksum(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('hex').slice(0, 8)
}

export const heardText = (payload: Payload = ''): string => lineOf(TEXT, Buffer.from(payload as string))
export const heardBytes = (payload: Payload = ''): string => lineOf(BINARY, Buffer.from(payload as string))
export const heardPong = (payload: Payload = ''): string => lineOf(PONG, Buffer.from(payload as string))

/** A case in which everything is right, and the client closes at last. */
export function fine(id: string, title: string, sent: readonly Buffer[], heard: readonly string[], isLarge = false): SocketCase {
  return { id, title, sent: [...sent, closing(1000)], heard: [...heard, CLOSED], isLarge }
}
