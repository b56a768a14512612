// SETTINGS: what an endpoint allows its peer to do (RFC 9113 §6.5).

import { Http2Error } from '../errors.ts'
import { DEFAULT_FRAME_BYTES, MOST_31_BITS, MOST_FRAME_BYTES, SETTING_BYTES } from './frame-types.ts'

export const HEADER_TABLE_SIZE = 1
export const ENABLE_PUSH = 2
export const MAX_CONCURRENT_STREAMS = 3
export const INITIAL_WINDOW_SIZE = 4
export const MAX_FRAME_SIZE = 5
export const MAX_HEADER_LIST_SIZE = 6
/** RFC 8441 §3. */
export const ENABLE_CONNECT_PROTOCOL = 8
/** RFC 9218 §2.1. */
export const NO_RFC7540_PRIORITIES = 9

export const DEFAULT_WINDOW_BYTES = 65_535

/** The settings of a peer that matter to us, at first with their default values. Others are only checked. */
export class PeerSettings {
  /** HEADER_TABLE_SIZE: size of the table that our blocks may use. */
  headerTableBytes = 4096
  /** INITIAL_WINDOW_SIZE: of each stream that we send on. A change counts for streams that are open too. */
  initialWindowBytes: number = DEFAULT_WINDOW_BYTES

  /**
   * Reads the payload of a SETTINGS frame, whose length has been checked. The last of several values counts, and unknown settings are ignored.
   * @throws Http2Error for a value that the setting cannot have
   */
  read(payload: Buffer, from: number, to: number): void {
    for (let at = from; at < to; at += SETTING_BYTES) {
      this.#set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2))
    }
  }

  #set(id: number, value: number): void {
    switch (id) {
      case HEADER_TABLE_SIZE:
        this.headerTableBytes = value
        break
      case ENABLE_PUSH:
        if (value > 1) throw new Http2Error('SETTING_PUSH')
        break
      case INITIAL_WINDOW_SIZE:
        if (value > MOST_31_BITS) throw new Http2Error('SETTING_WINDOW')
        this.initialWindowBytes = value
        break
      case MAX_FRAME_SIZE: // our frames are never larger than the smallest value
        if (value < DEFAULT_FRAME_BYTES || value > MOST_FRAME_BYTES) throw new Http2Error('SETTING_FRAME_SIZE')
        break
      case ENABLE_CONNECT_PROTOCOL:
        if (value > 1) throw new Http2Error('SETTING_CONNECT')
        break
      case NO_RFC7540_PRIORITIES:
        if (value > 1) throw new Http2Error('SETTING_PRIORITIES')
    }
  }
}
