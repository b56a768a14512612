// How an event travels over a relay.

import { kindOf } from '../../base/kind-of.ts'
import { jsonTextOf } from '../../http/json-engine.ts'
import { EncodedEvent, encodeEvent } from './event.ts'

/** An event for the clients of all machines. The relay gives it its id. */
export interface RelayEvent {
  /** The data. A string is sent as text, anything else as JSON. Without data, clients dispatch no event. */
  readonly data?: unknown
  /** The type of the event. Without it, clients use `message`. Must not contain CR, LF or NUL. */
  readonly event?: string
}

const VERSION = 1

/** @throws WEIR_RESULT_UNSENDABLE for an event that cannot be sent */
export function encodeEnvelope({ data, event }: RelayEvent): string {
  const text = data === undefined || typeof data === 'string' ? data : jsonTextOf(data, JSON.stringify)
  encodeEvent({ ...(event === undefined ? {} : { event }), ...(text === undefined ? {} : { data: text }) })
  return JSON.stringify({ v: VERSION, event, data: text })
}

/**
 * The message may come from any program that reaches the relay.
 *
 * @throws Error that states what is wrong
 */
export function decodeEnvelope(message: string, id: string | null): EncodedEvent {
  const { v, event, data } = parse(message)
  if (v !== VERSION) throw new Error(`"v" is ${typeof v === 'number' ? v : kindOf(v)}, not ${VERSION}`)
  for (const [name, value] of Object.entries({ event, data }))
    if (value !== undefined && typeof value !== 'string') throw new Error(`"${name}" is ${kindOf(value)}`)
  return new EncodedEvent({
    ...(id === null ? {} : { id }),
    ...(event === undefined ? {} : { event: event as string }),
    ...(data === undefined ? {} : { data }),
  })
}

function parse(message: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(message)) as Record<string, unknown>
  } catch {
    throw new Error('it is not JSON') // the original error quotes the message, which may be secret
  }
}
