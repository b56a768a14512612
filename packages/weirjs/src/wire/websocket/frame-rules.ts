// The rules that the head of a frame must follow (RFC 6455 §5.2, §5.4, §5.5; RFC 7692 §6).

import {
  BINARY,
  CLOSE,
  COMPRESSED,
  CONTINUATION,
  CONTROL,
  FIN,
  MASKED,
  MOST_CONTROL_BYTES,
  PONG,
  RESERVED_BITS,
  TEXT,
} from './frame-types.ts'

/** A length of 16 bits follows. */
export const LENGTH_16 = 126
/** A length of 63 bits follows. */
export const LENGTH_64 = 127

/** @param second the second byte of a frame @returns how many bytes of the length follow it */
export function lengthBytes(second: number): number {
  const short = second & 0x7f
  return short < LENGTH_16 ? 0 : short === LENGTH_16 ? 2 : 8
}

/**
 * Checks the first two bytes of a client's frame.
 * @param isInMessage whether a message has begun, and not ended
 * @returns what is wrong; null if nothing is
 */
export function checkStart(first: number, second: number, compresses: boolean, isInMessage: boolean): string | null {
  const opcode = first & 0x0f
  const reserved = first & RESERVED_BITS
  if (reserved !== 0 && !(reserved === COMPRESSED && compresses && (opcode === TEXT || opcode === BINARY))) return 'a reserved bit is set'
  if ((opcode & CONTROL) !== 0) {
    if (opcode > PONG) return 'the opcode is unknown'
    if ((first & FIN) === 0) return 'a control frame is fragmented'
    if ((second & 0x7f) > MOST_CONTROL_BYTES) return 'a control frame is too long'
    if (opcode === CLOSE && (second & 0x7f) === 1) return 'a close frame with one byte'
  } else if (opcode > BINARY) return 'the opcode is unknown'
  else if ((opcode === CONTINUATION) !== isInMessage) return isInMessage ? 'a message begins inside another' : 'nothing is to be continued'
  return (second & MASKED) === 0 ? 'a frame is not masked' : null
}

/**
 * Checks a length that has its own bytes.
 * @param first the first of them
 * @returns what is wrong; null if nothing is
 */
export function checkLength(isLong: boolean, first: number, length: number): string | null {
  if (isLong && first >= 0x80) return 'the highest bit of a length is set'
  return length < (isLong ? 2 ** 16 : LENGTH_16) ? 'a length is not in its shortest form' : null
}
