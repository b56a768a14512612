// A message that has arrived compressed, as the handler gets it.

import { type Buffer, isUtf8 } from 'node:buffer'

import { workTurns } from '../../http/work-turns.ts'
import { INVALID_PAYLOAD, TOO_LARGE } from '../../wire/websocket/frame-types.ts'
import type { WebSocketData } from './data.ts'
import { INFLATES_TOO_LARGE, NOT_DEFLATE, type PerMessageDeflate } from './deflate.ts'

export interface Inflated {
  /** The code to close the connection with; 0 for none. */
  readonly code: number
  readonly data: WebSocketData
}

export function inflate(deflate: PerMessageDeflate, payload: Buffer, isText: boolean, most: number): Inflated {
  const message = deflate.inflate(payload, most)
  workTurns.spend(deflate.work)
  if (message === INFLATES_TOO_LARGE) return { code: TOO_LARGE, data: '' }
  if (message === NOT_DEFLATE || (isText && !isUtf8(message))) return { code: INVALID_PAYLOAD, data: '' }
  return { code: 0, data: isText ? message.toString() : message }
}
