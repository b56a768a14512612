// Encodes a server-sent event (WHATWG HTML §9.2.5 and §9.2.6).

import { Buffer } from 'node:buffer'
import type { Duration } from '../../base/duration.ts'
import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { duration } from '../../base/option-kinds.ts'
import { invalid } from '../../base/options.ts'
import { jsonTextOf } from '../../http/json-engine.ts'

/** An event. Every member is optional. */
export interface SseEvent {
  /**
   * The data. A string is sent as text: each CRLF, CR and LF in it reaches the client as LF. Anything else is sent as JSON. Without data,
   * clients dispatch no event.
   */
  readonly data?: unknown
  /** The type of the event. Without it, clients use `message`. Must not contain CR, LF or NUL. */
  readonly event?: string
  /** What a client that reconnects sends in Last-Event-ID. An empty string resets it. Must not contain CR, LF or NUL. */
  readonly id?: string
  /** How long a client waits before it reconnects. */
  readonly retry?: Duration
  /** Text that clients ignore, for people who look at the wire. */
  readonly comment?: string
}

/** An event that is encoded once and sent to many clients. */
export class EncodedEvent {
  readonly bytes: Uint8Array
  readonly id: string | null

  constructor(event: SseEvent | string) {
    this.bytes = Buffer.from(encodeEvent(event))
    this.id = (typeof event === 'string' ? undefined : event.id) ?? null
  }
}

/** What a function of the program has made. @throws WEIR_OPTION_INVALID for anything but an async iterable, such as a promise of one */
export function madeEvents<Events extends AsyncIterable<unknown>>(owner: string, made: Events): Events {
  if (typeof made?.[Symbol.asyncIterator] === 'function') return made
  throw invalid(owner, `the function must return an async iterable, not ${kindOf(made)}: write async function*`)
}

/** What an event costs in a queue in addition to its bytes, which all queues share. */
const ENTRY_BYTES = 64

/** How much of `maxQueuedSize` an event takes. */
export function costOf({ bytes }: EncodedEvent): number {
  return bytes.length + ENTRY_BYTES
}

const RETRY = duration({ least: 0, most: Number.MAX_SAFE_INTEGER })
const LINE_END = /\r\n|\r|\n/

/**
 * @param event a string is the data of an event
 * @throws WEIR_RESULT_UNSENDABLE for an event that cannot be sent, or that would be read as something else
 */
export function encodeEvent(event: SseEvent | string): string {
  if (typeof event === 'string') return `${lines('data', event)}\n`
  if (typeof event !== 'object' || event === null) throw unsendable('event', event)
  const { comment, retry, id, event: type, data } = event
  let text = ''
  if (comment !== undefined) text += lines('', comment)
  if (retry !== undefined) text += `retry: ${wholeMs(retry)}\n`
  if (id !== undefined) text += `id: ${oneLine('id', id)}\n`
  if (type !== undefined) text += `event: ${oneLine('event', type)}\n`
  if (data !== undefined) text += lines('data', typeof data === 'string' ? data : jsonTextOf(data, JSON.stringify))
  return `${text}\n`
}

/** Writes one field for each line: a line end inside would end the field, and the rest would be read as another one. */
function lines(name: string, text: string): string {
  if (typeof text !== 'string') throw unsendable(name || 'comment', text)
  return text
    .split(LINE_END)
    .map((line) => `${name}: ${line}\n`)
    .join('')
}

function oneLine(name: string, text: string): string {
  if (typeof text !== 'string') throw unsendable(name, text)
  if (/[\r\n\0]/.test(text)) throw new WeirError('WEIR_RESULT_UNSENDABLE', `"${name}" of an event contains a line end or NUL`)
  return text
}

function wholeMs(time: Duration): number {
  try {
    return RETRY.read(time, { owner: 'an event', option: 'retry' })
  } catch (error) {
    throw new WeirError('WEIR_RESULT_UNSENDABLE', '"retry" of an event is not a time', { cause: error })
  }
}

function unsendable(name: string, value: unknown): WeirError {
  return new WeirError('WEIR_RESULT_UNSENDABLE', `"${name}" of an event is ${kindOf(value)}`)
}
