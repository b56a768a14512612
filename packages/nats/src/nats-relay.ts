// natsRelay: its options, and which of the two relays they ask for.

import type { Clock, Duration } from 'weirjs/kit'
import { checkNames, checkText, invalid, isInstance, millisecondsOf, namesOf, rule, systemClock, wholeNumber } from 'weirjs/kit'
import type { Relay } from 'weirjs/relay'
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
  /** The name of the stream: letters, digits, `-` and `_`. The relay creates it if there is none, and never changes it. Default: `prefix`, with `_` for `.`. */
  readonly stream?: string
  /** How many messages of each channel a stream keeps, if the relay creates it. Default 1,000. */
  readonly maxLength?: number
  /** How long a stream keeps messages, if the relay creates it. Default `'1d'`. */
  readonly maxAge?: Duration
  /** How many bytes of messages may wait for JetStream. Each message counts 200 more. When exceeded, `publish` rejects. Default 16 MiB. */
  readonly maxQueuedBytes?: number
  /**
   * How long `publish` waits for a confirmation. With `jetstream`, it sends the message again in that time, and the stream stores it once.
   * Default 500 ms, or 10 seconds with `jetstream`.
   */
  readonly timeout?: Duration
  /** The beginning of all subjects: one or more words of letters, digits, `-` and `_`, with dots between them. Default `weir`. */
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
 * Returns a relay over NATS 2.9 or later. With `jetstream`, messages are kept, and a subscription can resume after an id. The id is the sequence
 * of the message in the stream. Ids of clients are checked. Channels may have any name. The connection stays yours: the relay never closes it,
 * and it reconnects as you have configured it.
 *
 * @param connection what `connect()` of the package `@nats-io/transport-node` (3) returns
 * @throws WEIR_OPTION_INVALID
 */
export function natsRelay(connection: NatsConnection, options: NatsRelayOptions = {}): Relay {
  checkConnection(OWNER, connection)
  checkNames(OWNER, options, OPTION_NAMES)
  const { clock = systemClock, jetstream, maxAge, maxLength, prefix = 'weir' } = options
  const onError = rule.listener().read(options.onError ?? warn, { owner: OWNER, option: 'onError' })
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
  process.emitWarning(isInstance(error, Error) ? error : `a listener of a relay threw ${String(error)}`)
}
