// The messages by which processes share a resumable stream: the log of one key, which all of them read in the same order.

import { jsonTextOf } from '../../http/json-engine.ts'
import { encodeEvent } from './event.ts'
import type { RelayEvent } from './event-envelope.ts'

/** Why a stream has ended. */
export type EndReason = 'done' | 'failed' | 'cancelled' | 'interrupted'

/** An event as it is stored: its data is text. */
interface StoredEvent {
  readonly data?: string
  readonly event?: string
}

interface OfRun {
  /** Names one run of the work, until its end. Each run of a key has another one. */
  readonly run: string
}

interface OfWorker extends OfRun {
  /** Counts the processes that have done the work of this key, over all runs. What a process sends after another has claimed is ignored. */
  readonly epoch: number
}

/** A process begins or continues the work. */
export interface Claim extends OfWorker {
  readonly kind: 'claim'
  /** The id of the process. */
  readonly by: string
  /** How many events there were. */
  readonly from: number
}

interface OfAttempt extends OfWorker {
  /** Counts how often the worker has begun to send again what may be missing. */
  readonly attempt: number
}

export interface Said extends OfAttempt, StoredEvent {
  readonly kind: 'event'
  /** Of the event in its run, from 0. */
  readonly n: number
}

export interface End extends OfAttempt {
  readonly kind: 'end'
  /** How many events there are. */
  readonly n: number
  readonly reason: EndReason
  /** A problem document, as JSON. */
  readonly problem?: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** A process that stops leaves the work to others. */
interface Release extends OfWorker {
  readonly kind: 'release'
}

/** Ends whatever run there is. */
interface Cancel {
  readonly kind: 'cancel'
  readonly at: number
}

export type RunMessage = Claim | Said | End | Release | Cancel

const VERSION = 1
const KINDS: Readonly<Record<RunMessage['kind'], readonly [texts: readonly string[], numbers: readonly string[]]>> = {
  claim: [
    ['run', 'by'],
    ['epoch', 'from'],
  ],
  event: [['run'], ['epoch', 'n', 'attempt']],
  end: [
    ['run', 'reason'],
    ['epoch', 'n', 'attempt', 'at'],
  ],
  release: [['run'], ['epoch']],
  cancel: [[], ['at']],
}
const OPTIONAL = ['data', 'event', 'problem']

export function encodeMessage(message: RunMessage): string {
  return JSON.stringify({ v: VERSION, ...message })
}

/** The message may come from any program that reaches the relay. @returns null if it is not a message of a stream */
export function decodeMessage(text: string): RunMessage | null {
  let message: Readonly<Record<string, unknown>>
  try {
    message = Object(JSON.parse(text)) as Readonly<Record<string, unknown>>
  } catch {
    return null
  }
  const { v, kind } = message
  if (v !== VERSION || typeof kind !== 'string' || !Object.hasOwn(KINDS, kind)) return null
  const [texts, numbers] = KINDS[kind as RunMessage['kind']]
  if (!texts.every((name) => typeof message[name] === 'string') || !numbers.every((name) => Number.isSafeInteger(message[name])))
    return null
  if (!OPTIONAL.every((name) => message[name] === undefined || typeof message[name] === 'string')) return null
  const found = message as unknown as RunMessage
  // Both are sent as they are: a line end would begin another field.
  if (/[\r\n\0]/.test(`${'run' in found ? found.run : ''}${'event' in found ? found.event : ''}`)) return null
  return found
}

/** @throws WEIR_RESULT_UNSENDABLE for an event that cannot be sent */
export function storedEvent({ data, event }: RelayEvent): StoredEvent {
  const text = data === undefined || typeof data === 'string' ? data : jsonTextOf(data, JSON.stringify)
  const stored = { ...(event === undefined ? {} : { event }), ...(text === undefined ? {} : { data: text }) }
  encodeEvent(stored)
  return stored
}
