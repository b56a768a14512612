// Every way in which a client can break HTTP/2, declared once: the code that the client is sent (RFC 9113 §7), and whether its stream or its
// connection ends.
//
// There are two exits. An error of the connection is thrown as an Http2Error: nothing that follows on the connection can be trusted. An error of
// a stream resets it, which is an event, and reading continues. A request that is malformed in its meaning, and not in its frames, is refused by
// head.ts, and gets a response.

// The codes that this server sends. `CODE_NAMES` has all.
export const NO_ERROR = 0
const PROTOCOL_ERROR = 1
export const INTERNAL_ERROR = 2
const FLOW_CONTROL_ERROR = 3
export const SETTINGS_TIMEOUT = 4
const STREAM_CLOSED = 5
const FRAME_SIZE_ERROR = 6
export const REFUSED_STREAM = 7
export const CANCEL = 8
const COMPRESSION_ERROR = 9
export const ENHANCE_YOUR_CALM = 11

export const CODE_NAMES = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
] as const

interface Http2Fault {
  /** The error code that the client is sent, in GOAWAY or RST_STREAM. */
  readonly code: number
  /** Whether the connection ends, or its stream alone. */
  readonly endsConnection: boolean
  readonly text: string
  /** Where the rule comes from. */
  readonly see: string
}

const specOf =
  (endsConnection: boolean) =>
  (code: number, text: string, see: string): Http2Fault => ({ code, endsConnection, text, see })
const connection = specOf(true)
const stream = specOf(false)

export const FAULTS = {
  // The connection preface
  PREFACE: connection(PROTOCOL_ERROR, 'these bytes are not the preface of HTTP/2', 'RFC 9113 §3.4'),
  PREFACE_SETTINGS: connection(PROTOCOL_ERROR, 'the first frame is not SETTINGS', 'RFC 9113 §3.4'),

  // Frames
  FRAME_TOO_LARGE: connection(FRAME_SIZE_ERROR, 'a frame is larger than SETTINGS_MAX_FRAME_SIZE allows', 'RFC 9113 §4.2'),
  FRAME_TOO_SMALL: connection(FRAME_SIZE_ERROR, 'a frame is too small for the fields that its flags announce', 'RFC 9113 §4.2'),
  FRAME_LENGTH: connection(FRAME_SIZE_ERROR, 'a frame does not have the length of its type', 'RFC 9113 §4.2'),
  PADDING: connection(PROTOCOL_ERROR, 'padding is as long as the payload or longer', 'RFC 9113 §6.1'),
  STREAM_MISSING: connection(PROTOCOL_ERROR, 'a frame that belongs to a stream is on stream 0', 'RFC 9113 §6'),
  STREAM_UNWANTED: connection(PROTOCOL_ERROR, 'a frame that concerns the connection is on a stream', 'RFC 9113 §6'),
  PUSH: connection(PROTOCOL_ERROR, 'a client cannot push', 'RFC 9113 §8.4'),
  PRIORITY_LENGTH: stream(FRAME_SIZE_ERROR, 'PRIORITY does not have 5 bytes', 'RFC 9113 §6.3'),
  PRIORITY_UPDATE_STREAM: connection(PROTOCOL_ERROR, 'PRIORITY_UPDATE names stream 0', 'RFC 9218 §7.1'),
  PRIORITY_UPDATE_PUSH: connection(PROTOCOL_ERROR, 'PRIORITY_UPDATE names a pushed stream, and none was pushed', 'RFC 9218 §7.1'),

  // Streams
  STREAM_ID: connection(PROTOCOL_ERROR, 'a client opens streams with odd numbers that rise', 'RFC 9113 §5.1.1'),
  STREAM_IDLE: connection(PROTOCOL_ERROR, 'a frame is on a stream that was never opened', 'RFC 9113 §5.1'),
  STREAM_ENDED: stream(STREAM_CLOSED, 'a frame came after the end of its request', 'RFC 9113 §5.1'),
  STREAM_GONE: connection(STREAM_CLOSED, 'a frame is on a stream that is closed', 'RFC 9113 §5.1'),
  TRAILERS_OPEN: stream(PROTOCOL_ERROR, 'trailers do not end their stream', 'RFC 9113 §8.1'),
  TRAILERS_FIELDS: stream(PROTOCOL_ERROR, 'trailers have a field that is not allowed, or too many', 'RFC 9113 §8.1'),
  BODY_LENGTH: stream(PROTOCOL_ERROR, 'the body does not have the length that Content-Length states', 'RFC 9113 §8.1.1'),

  // Field blocks
  BLOCK_INTERRUPTED: connection(PROTOCOL_ERROR, 'a frame came where only CONTINUATION may come', 'RFC 9113 §4.3'),
  BLOCK_MISSING: connection(PROTOCOL_ERROR, 'CONTINUATION continues nothing', 'RFC 9113 §6.10'),
  BLOCK_TOO_LARGE: connection(ENHANCE_YOUR_CALM, 'a field block is larger than this server gathers', 'RFC 9113 §10.5.1'),

  // HPACK
  HPACK_INTEGER: connection(COMPRESSION_ERROR, 'an integer is too large, or written with too many bytes', 'RFC 7541 §5.1'),
  HPACK_TRUNCATED: connection(COMPRESSION_ERROR, 'a field block ends inside of a field', 'RFC 7541 §6'),
  HPACK_INDEX: connection(COMPRESSION_ERROR, 'an index is not in the tables', 'RFC 7541 §2.3.3'),
  HPACK_HUFFMAN: connection(
    COMPRESSION_ERROR,
    'Huffman-coded text has EOS in it, or padding that is not the beginning of EOS',
    'RFC 7541 §5.2',
  ),
  HPACK_SIZE_UPDATE: connection(COMPRESSION_ERROR, 'the size of the table changes after a field', 'RFC 7541 §4.2'),
  HPACK_SIZE: connection(COMPRESSION_ERROR, 'the table is larger than SETTINGS_HEADER_TABLE_SIZE allows', 'RFC 7541 §6.3'),
  HPACK_SIZE_MISSING: connection(COMPRESSION_ERROR, 'SETTINGS_HEADER_TABLE_SIZE was lowered, and the table was not', 'RFC 7541 §4.2'),

  // Settings
  SETTINGS_ACK_LENGTH: connection(FRAME_SIZE_ERROR, 'SETTINGS with ACK has a payload', 'RFC 9113 §6.5'),
  SETTING_PUSH: connection(PROTOCOL_ERROR, 'SETTINGS_ENABLE_PUSH is neither 0 nor 1', 'RFC 9113 §6.5.2'),
  SETTING_WINDOW: connection(FLOW_CONTROL_ERROR, 'SETTINGS_INITIAL_WINDOW_SIZE is above 2^31 - 1', 'RFC 9113 §6.5.2'),
  SETTING_FRAME_SIZE: connection(PROTOCOL_ERROR, 'SETTINGS_MAX_FRAME_SIZE is not from 2^14 to 2^24 - 1', 'RFC 9113 §6.5.2'),
  SETTING_CONNECT: connection(PROTOCOL_ERROR, 'SETTINGS_ENABLE_CONNECT_PROTOCOL is neither 0 nor 1', 'RFC 8441 §3'),
  SETTING_PRIORITIES: connection(PROTOCOL_ERROR, 'SETTINGS_NO_RFC7540_PRIORITIES is neither 0 nor 1', 'RFC 9218 §2.1'),

  // Flow control
  WINDOW_INCREMENT: stream(PROTOCOL_ERROR, 'WINDOW_UPDATE adds nothing to the window of a stream', 'RFC 9113 §6.9'),
  WINDOW_INCREMENT_CONNECTION: connection(PROTOCOL_ERROR, 'WINDOW_UPDATE adds nothing to the window of the connection', 'RFC 9113 §6.9'),
  WINDOW_OVERFLOW: stream(FLOW_CONTROL_ERROR, 'the window of a stream grows above 2^31 - 1', 'RFC 9113 §6.9.1'),
  WINDOW_OVERFLOW_CONNECTION: connection(FLOW_CONTROL_ERROR, 'the window of the connection grows above 2^31 - 1', 'RFC 9113 §6.9.1'),
  WINDOW_OVERFLOW_SETTINGS: connection(
    FLOW_CONTROL_ERROR,
    'SETTINGS_INITIAL_WINDOW_SIZE makes the window of a stream larger than 2^31 - 1',
    'RFC 9113 §6.9.2',
  ),
  WINDOW_EXCEEDED: stream(FLOW_CONTROL_ERROR, 'DATA is larger than the window of its stream', 'RFC 9113 §6.9.1'),
  WINDOW_EXCEEDED_CONNECTION: connection(FLOW_CONTROL_ERROR, 'DATA is larger than the window of the connection', 'RFC 9113 §6.9.1'),

  // Floods: what a client may do, but not endlessly (allowances.ts)
  FLOOD_RESETS: connection(ENHANCE_YOUR_CALM, 'too many requests were cancelled', 'CVE-2023-44487'),
  FLOOD_REFUSALS: connection(ENHANCE_YOUR_CALM, 'too many streams were opened above SETTINGS_MAX_CONCURRENT_STREAMS', 'RFC 9113 §10.5'),
  FLOOD_FAULTS: connection(ENHANCE_YOUR_CALM, 'too many streams had to be reset', 'CVE-2025-8671'),
  FLOOD_SETTINGS: connection(ENHANCE_YOUR_CALM, 'too many SETTINGS', 'CVE-2019-9515'),
  FLOOD_PINGS: connection(ENHANCE_YOUR_CALM, 'too many PINGs', 'CVE-2019-9512'),
  FLOOD_PRIORITIES: connection(ENHANCE_YOUR_CALM, 'too many changes of priorities', 'CVE-2019-9513'),
  FLOOD_EMPTY: connection(ENHANCE_YOUR_CALM, 'too many frames without content', 'CVE-2019-9518'),
  FLOOD_WINDOWS: connection(ENHANCE_YOUR_CALM, 'too many WINDOW_UPDATEs for what was sent', 'CVE-2019-9511'),
  FLOOD_LATE: connection(ENHANCE_YOUR_CALM, 'too many frames on streams that were reset', 'RFC 9113 §5.1'),
  FLOOD_HEAD_BYTES: connection(ENHANCE_YOUR_CALM, 'too many bytes of fields by reference', 'RFC 9113 §10.5.1'),
} as const satisfies Record<string, Http2Fault>

export type FaultName = keyof typeof FAULTS

/** The connection ends: GOAWAY with `code`, and nothing more is read. */
export class Http2Error extends Error {
  override readonly name = 'Http2Error'
  readonly fault: FaultName

  constructor(fault: FaultName) {
    super(`${FAULTS[fault].text} (${FAULTS[fault].see})`)
    this.fault = fault
  }

  get code(): number {
    return FAULTS[this.fault].code
  }
}
