// The numbers of RFC 6455: opcodes (§5.2), bits of a frame, and the codes with which a connection is closed (§7.4).

export const CONTINUATION = 0
export const TEXT = 1
export const BINARY = 2
export const CLOSE = 8
export const PING = 9
export const PONG = 10

/** Bits of the first byte. */
export const FIN = 0x80
/** Set in the first frame of a message that is compressed (RFC 7692 §6). */
export const COMPRESSED = 0x40
export const RESERVED_BITS = 0x70
/** Opcodes with this bit belong to control frames. */
export const CONTROL = 0x08
/** Bit of the second byte. */
export const MASKED = 0x80
/** The payload of a control frame is not longer (§5.5). */
export const MOST_CONTROL_BYTES = 125
export const MASK_BYTES = 4
/** Two bytes, the longest length and a mask. */
export const LONGEST_HEAD = 14

export const NORMAL = 1000
export const GOING_AWAY = 1001
export const PROTOCOL_ERROR = 1002
/** Data of a kind that is not accepted, such as bytes where text is expected. */
export const UNSUPPORTED = 1003
/** Never sent: the peer has sent no code. */
export const NO_STATUS = 1005
/** Never sent: the connection has ended without a closing handshake. */
export const ABNORMAL = 1006
export const INVALID_PAYLOAD = 1007
export const POLICY_VIOLATION = 1008
export const TOO_LARGE = 1009
export const INTERNAL_ERROR = 1011
/** The client reads too slowly and may connect again later (registry: Try Again Later). */
export const TRY_LATER = 1013

/** Whether a close frame may have this code (§7.4.1 and the registry; §7.4.2 for codes of libraries and programs). */
export function isCloseCode(code: number): boolean {
  if (code >= 3000) return code <= 4999
  return code >= 1000 && code <= 1014 && code !== 1004 && code !== NO_STATUS && code !== ABNORMAL
}
