// What the Autobahn suite does not ask: lengths, masks, what comes after a fault, and compressed messages that are cut or bad.

import { constants, deflateRawSync } from 'node:zlib'

import { frame as anyFrame } from '../../support/websocket-client.ts'
import {
  BINARY,
  CLOSED,
  closing,
  fine,
  frame,
  heardBytes,
  heardPong,
  heardText,
  last,
  NOT_UTF8,
  PING,
  part,
  REFUSED,
  type SocketCase,
  TEXT,
} from './step.ts'

/** A compressed case offers the extension, and keeps no window. */
export interface BeyondCase extends SocketCase {
  readonly offer?: string
}

const OFFER = 'permessage-deflate; client_no_context_takeover; server_no_context_takeover'
const HELLO = 'Hello Hello Hello'
const raw = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex')

function deflated(text: string | Uint8Array, level = 6): Buffer {
  return deflateRawSync(text, { level, finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
}

const compressed = (opcode: number, payload: Uint8Array, fin = true): Buffer => frame(opcode, payload, { compressed: true, fin })
const refused = (id: string, title: string, sent: readonly Buffer[], heard = REFUSED): BeyondCase => ({ id, title, sent, heard: [heard] })
const offering = (one: SocketCase): BeyondCase => ({ ...one, offer: OFFER })

const STORED = deflated('plain bytes', 0)
const FINAL = deflateRawSync(HELLO)
const FLOOD = Array.from({ length: 200 }, (_, i) => `${i}`)

export const BEYOND_CASES: readonly BeyondCase[] = [
  refused('mask.1', 'text without a mask', [anyFrame(TEXT, 'A', { mask: false })]),
  refused('mask.2', 'an empty text without a mask', [raw('81 00')]),
  refused('mask.3', 'a close without a mask', [raw('88 00')]),
  refused('length.1', 'nothing, in 16 bits', [raw('81 fe 00 00')]),
  refused('length.2', '125, in 16 bits', [raw('82 fe 00 7d')]),
  refused('length.3', '65,535, in 64 bits', [raw('82 ff 00 00 00 00 00 00 ff ff')]),
  refused('length.4', 'the highest bit', [raw('82 ff 80 00 00 00 00 00 00 00')]),
  refused('length.5', 'the largest', [raw('82 ff 7f ff ff ff ff ff ff ff')], 'close 1009'),
  refused('length.6', 'a ping in 16 bits', [raw('89 fe')]),
  refused('length.7', 'a close in 64 bits', [raw('88 ff')]),
  refused('length.8', 'a close that will have one byte', [raw('88 81')]),
  { ...refused('after.1', 'more after a fault', [frame(3), ...new Array<Buffer>(20).fill(Buffer.alloc(65_536, 1))]), isLarge: true },
  { ...refused('after.2', 'more after a close', [closing(1000), Buffer.alloc(300_000, 0xff)], CLOSED), isLarge: true },
  fine(
    'flood.1',
    '200 pings at once',
    [Buffer.concat(FLOOD.map((text) => frame(PING, text)))],
    FLOOD.map((text) => heardPong(text)),
  ),
  ...[
    fine('deflate.1', 'a stored block', [compressed(BINARY, STORED)], [heardBytes('plain bytes')]),
    refused('deflate.2', 'a stored block, cut', [compressed(BINARY, STORED.subarray(0, -8))], NOT_UTF8),
    refused('deflate.3', 'a stored block that lacks what the tail has', [compressed(BINARY, STORED.subarray(0, -1 - 4))], NOT_UTF8),
    refused('deflate.4', 'a block of Huffman codes, cut', [compressed(TEXT, deflated(HELLO).subarray(0, -2))], NOT_UTF8),
    refused('deflate.5', 'an unknown type of block', [compressed(TEXT, raw('07'))], NOT_UTF8),
    refused('deflate.6', 'a reference to what was not sent', [compressed(TEXT, raw('02 13 00 00'))], NOT_UTF8),
    refused('deflate.7', 'compressed text that is not UTF-8', [compressed(TEXT, deflated(raw('ff fe')))], NOT_UTF8),
    refused('deflate.8', 'RSV1 on a continuation', [compressed(TEXT, deflated(HELLO), false), compressed(0, raw('00'))]),
    refused('deflate.9', 'RSV1 on a ping', [compressed(PING, raw('00'))]),
    { ...refused('deflate.10', 'a bomb', [compressed(BINARY, deflated(Buffer.alloc(16 * 1024 * 1024 + 1)))], 'close 1009'), isLarge: true },
    fine(
      'deflate.11',
      'a stream that ends, and another',
      [compressed(TEXT, Buffer.concat([FINAL, raw('00')])), compressed(TEXT, deflated(HELLO))],
      [heardText(HELLO), heardText(HELLO)],
    ),
    refused('deflate.12', 'bytes behind the end of a stream', [compressed(TEXT, Buffer.concat([FINAL, raw('ff fe 01')]))], NOT_UTF8),
    fine(
      'deflate.13',
      'a ping between compressed fragments',
      [compressed(TEXT, deflated(HELLO).subarray(0, 3), false), frame(PING, 'p'), part(0), last(deflated(HELLO).subarray(3))],
      [heardPong('p'), heardText(HELLO)],
    ),
  ].map(offering),
]
