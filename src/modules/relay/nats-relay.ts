// natsRelay: its options, and which of the two relays they ask for.

import { type Clock, systemClock } from '../../base/clock.ts'
import { type Duration, millisecondsOf } from '../../base/duration.ts'
import { checkNames, checkText, invalid, namesOf, wholeNumber } from '../../base/options.ts'
import { errorListener } from '../error-listener.ts'
import type { Relay } from '../relay-option.ts'
import { checkConnection, checkJetStream, type NatsConnection, type NatsJetStream } from './nats-client.ts'
import { PlainNatsRelay } from './nats-plain-relay.ts'
import { DEFAULT_AGE_MS } from './nats-stream.ts'
import { NatsStreamRelay } from './nats-stream-relay.ts'

export interface NatsRelayOptions {
  /**
   * Keeps messages in JetStream: what `jetstream(connection)` of the package `@nats-io/jetstream` (3) returns. Default: nothing is kept, messages
   * have no ids, and a process misses what is published while it has no connection.
   */
  readonly jetstream?: NatsJetStream
  /** Name of the stream in JetStream: letters, digits, `-` and `_`. It is made if there is none, and never changed. Default: `prefix`, with `_` for `.`. */
  readonly stream?: string
  /** How many messages of each channel a stream keeps that is made here. Default 1,000. */
  readonly maxLength?: number
  /** How long messages are kept in a stream that is made here. Default `'1d'`. */
  readonly maxAge?: Duration
  /** Bytes that may wait until JetStream has confirmed them, each message with 200 more. `publish` rejects beyond that. Default 16 MiB. */
  readonly maxQueuedBytes?: number
  /**
   * How long `publish` waits for a confirmation. Over JetStream, a message is sent again for so long, and stored once. Default 500 ms, or 10
   * seconds with `jetstream`.
   */
  readonly timeout?: Duration
  /** Begins the subjects: one or more words of letters, digits, `-` and `_`, with dots between them. Default `weir`. */
  readonly prefix?: string
  /** Called with what a listener has thrown. Default: it becomes a warning of the process. */
  readonly onError?: (error: unknown) => void
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock
}

const OWNER = 'natsRelay()'
const OPTION_NAMES = namesOf<NatsRelayOptions>()([
  'jetstream',
  'stream',
  'maxLength',
  'maxAge',
  'maxQueuedBytes',
  'timeout',
  'prefix',
  'onError',
  'clock',
])
const OF_STREAMS = ['stream', 'maxLength', 'maxAge', 'maxQueuedBytes'] as const
const PREFIX = /^[\w-]+(?:\.[\w-]+)*$/
const STREAM = /^[\w-]+$/
const LONGEST_NAME = 100

/**
 * Returns a relay over NATS 2.9 or later. With `jetstream`, messages are kept and subscriptions can go on after an id, the sequence of a message
 * in the stream; ids of clients are checked. Channels may have any name. The connection stays yours: it is never closed, and reconnects as you
 * have configured it.
 *
 * @param connection what `connect()` of the package `@nats-io/transport-node` (3) returns
 * @throws WEIR_OPTION_INVALID
 */
export function natsRelay(connection: NatsConnection, options: NatsRelayOptions = {}): Relay {
  checkConnection(OWNER, connection)
  checkNames(OWNER, options, OPTION_NAMES)
  const { clock = systemClock, jetstream, maxAge, maxLength, prefix = 'weir' } = options
  const onError = errorListener(OWNER, options.onError ?? warn)
  const timeoutMs = millisecondsOf(OWNER, 'timeout', options.timeout ?? (jetstream === undefined ? 500 : '10s'))
  checkName('prefix', prefix, PREFIX)
  if (jetstream === undefined) {
    for (const name of OF_STREAMS) if (options[name] !== undefined) throw invalid(OWNER, `${name} needs jetstream`)
    return new PlainNatsRelay({ owner: OWNER, connection, prefix, timeoutMs, onError })
  }
  checkJetStream(OWNER, jetstream)
  const stream = options.stream ?? prefix.replaceAll('.', '_')
  checkName('stream', stream, STREAM)
  const maxAgeMs = maxAge === undefined ? undefined : millisecondsOf(OWNER, 'maxAge', maxAge)
  if ((maxAgeMs ?? DEFAULT_AGE_MS) < timeoutMs)
    throw invalid(
      OWNER,
      `maxAge (${maxAgeMs ?? DEFAULT_AGE_MS} ms) is less than timeout (${timeoutMs} ms): a message that is sent again could be stored twice`,
    )
  return new NatsStreamRelay({
    owner: OWNER,
    connection,
    jetstream,
    prefix,
    stream,
    maxLength: maxLength === undefined ? undefined : wholeNumber(OWNER, 'maxLength', maxLength, 1),
    maxAgeMs,
    clock,
    maxQueuedBytes: wholeNumber(OWNER, 'maxQueuedBytes', options.maxQueuedBytes ?? 16 * 1024 * 1024, 1),
    timeoutMs,
    onError,
  })
}

function checkName(option: string, value: string, syntax: RegExp): void {
  checkText(OWNER, option, value)
  if (!syntax.test(value) || value.length > LONGEST_NAME)
    throw invalid(
      OWNER,
      `${option} is ${JSON.stringify(value)}, not words of letters, digits, "-" and "_", of at most ${LONGEST_NAME} characters`,
    )
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : `a listener of a relay threw ${String(error)}`)
}
