// The clients of NATS that weir can use, without importing their types. They are your program's: it connects, authenticates, reconnects and
// closes them.

import { Buffer } from 'node:buffer'
import { WeirError } from 'weirjs'
import { invalid, kindOf } from 'weirjs/kit'

/** What weir reads of a message. */
export interface NatsMessage {
  readonly headers?: { get(name: string): string } | undefined
  string(): string
}

/** What weir reads of an event of a connection. */
export interface NatsStatus {
  readonly type: string
}

/**
 * A connection of your program: what `connect()` of the package `@nats-io/transport-node` (3) returns. weir publishes and subscribes with it. It
 * never closes it.
 */
export interface NatsConnection {
  publish(subject: string, data: string): void
  subscribe(subject: string, options: { callback: (error: Error | null, message: NatsMessage) => void }): { unsubscribe(): void }
  flush(): Promise<void>
  status(): AsyncIterable<NatsStatus>
  isClosed(): boolean
  /** The information of the server about itself. */
  readonly info?: { readonly max_payload: number } | undefined
}

/** How a stream is configured: the names of NATS, times in nanoseconds, -1 or 0 for no limit. */
export interface NatsStreamConfig {
  readonly name: string
  readonly subjects: string[]
  readonly max_msgs_per_subject: number
  readonly max_age: number
  readonly duplicate_window: number
  readonly republish?: { readonly src: string; readonly dest: string; readonly headers_only?: boolean }
  readonly retention?: string
}

/** A stream as the server describes it. */
export interface NatsStreamInfo {
  readonly config: NatsStreamConfig
  readonly created: string
  readonly state: {
    readonly first_seq: number
    readonly last_seq: number
    readonly subjects?: { readonly [subject: string]: number } | undefined
  }
}

/** What weir needs of the manager of JetStream. */
export interface NatsJetStreamManager {
  readonly streams: {
    info(stream: string, options?: { readonly subjects_filter: string }): Promise<NatsStreamInfo>
    add(config: {
      name: string
      subjects: string[]
      max_msgs_per_subject: number
      max_age: number
      duplicate_window: number
      republish: { src: string; dest: string }
    }): Promise<NatsStreamInfo>
    getMessage(stream: string, query: { seq: number; next_by_subj: string }): Promise<{ readonly seq: number; string(): string } | null>
  }
}

/** A client of JetStream of your program: what `jetstream(connection)` of the package `@nats-io/jetstream` (3) returns. */
export interface NatsJetStream {
  publish(subject: string, data: string, options: { msgID: string; timeout: number }): Promise<{ readonly seq: number }>
  jetstreamManager(checkAPI: boolean): Promise<NatsJetStreamManager>
}

/** @throws WEIR_OPTION_INVALID */
export function checkConnection(owner: string, connection: NatsConnection): void {
  checkFunctions(
    owner,
    'connection',
    connection,
    ['publish', 'subscribe', 'flush', 'status', 'isClosed'],
    'a connection of @nats-io/transport-node',
  )
}

/** @throws WEIR_OPTION_INVALID */
export function checkJetStream(owner: string, jetstream: NatsJetStream): void {
  checkFunctions(owner, 'jetstream', jetstream, ['publish', 'jetstreamManager'], 'what jetstream(connection) of @nats-io/jetstream returns')
}

/** @throws WEIR_OPTION_INVALID for data that is not a string; WEIR_RELAY_UNAVAILABLE for more than the server accepts */
export function checkData({ connection, owner }: { readonly connection: NatsConnection; readonly owner: string }, data: string): void {
  if (typeof data !== 'string') throw invalid(owner, `publish: the data is ${kindOf(data)}, not a string`)
  const most = connection.info?.max_payload ?? Number.POSITIVE_INFINITY
  // UTF-8 has at most 3 bytes for each UTF-16 unit.
  if (data.length * 3 <= most) return
  const bytes = Buffer.byteLength(data)
  if (bytes > most)
    throw new WeirError('WEIR_RELAY_UNAVAILABLE', `max_payload of the NATS server is ${most} bytes, the message has ${bytes}`)
}

function checkFunctions(owner: string, option: string, given: unknown, names: readonly string[], meant: string): void {
  if (given instanceof Promise) throw invalid(owner, `${option} is a promise: await it`)
  for (const name of names)
    if (typeof Object(given)[name] !== 'function') throw invalid(owner, `${option} is ${kindOf(given)} without ${name}(), not ${meant}`)
}
