// `natsRelay`: its options, which select one of the two relays.

import type { Duration, Size } from 'weirjs'
import { type Clock, invalid, isInstance, option, rules, systemClock } from 'weirjs/kit'
import type { Relay } from 'weirjs/relay'
import { checkConnection, checkJetStream, type NatsConnection, type NatsJetStream } from './nats-client.ts'
import { PlainNatsRelay } from './nats-plain-relay.ts'
import { DEFAULT_AGE_MS } from './nats-stream.ts'
import { NatsStreamRelay } from './nats-stream-relay.ts'

const { count, duration, forTests, listener, readBy, size, text } = option

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
  /** How many bytes of messages may wait for NATS. Each message counts 200 more. When exceeded, `publish` rejects. Default 16 MiB. */
  readonly maxQueuedSize?: Size
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
const LONGEST_NAME = 100
const words = (syntax: RegExp): option.Rule<string, option.Same> =>
  text(
    `words of letters, digits, "-" and "_", of at most ${LONGEST_NAME} characters`,
    (name) => syntax.test(name) && name.length <= LONGEST_NAME,
  )
/** @internal */
export const NATS_RELAY_RULES = rules<NatsRelayOptions>(OWNER)(
  {
    jetstream: readBy((jetstream: NatsJetStream, owner) => {
      checkJetStream(owner, jetstream)
      return jetstream
    }).optional('nothing is kept'),
    stream: words(/^[\w-]+$/).optional('prefix, with _ for .'),
    maxLength: count({ least: 1 }).optional('1,000'),
    maxAge: duration({ leastNumber: 1_000 }).optional("'1d'"),
    maxQueuedSize: size({ least: 1 }).or('16MiB'),
    timeout: duration().optional("'10s', or 500 ms without JetStream"),
    prefix: words(/^[\w-]+(?:\.[\w-]+)*$/).or('weir'),
    onError: listener().or(warn, 'a warning of the process'),
    clock: forTests(),
  },
  { needs: { stream: 'jetstream', maxLength: 'jetstream', maxAge: 'jetstream' } },
)

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
  const {
    jetstream,
    prefix,
    onError,
    maxLength,
    maxAge: maxAgeMs,
    maxQueuedSize,
    clock = systemClock,
    ...given
  } = NATS_RELAY_RULES.read(options)
  const { timeout: timeoutMs = jetstream === undefined ? 500 : 10_000, stream = prefix.replaceAll('.', '_') } = given
  if (jetstream === undefined) {
    return new PlainNatsRelay({ owner: OWNER, connection, prefix, maxQueuedSize, timeoutMs, onError })
  }
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
    maxLength,
    maxAgeMs,
    clock,
    maxQueuedSize,
    timeoutMs,
    onError,
  })
}

function warn(error: unknown): void {
  process.emitWarning(isInstance(error, Error) ? error : `a listener of a relay threw ${String(error)}`)
}
