// The packages of NATS, typed by what weir and its tests need: their own declarations do not compile with exactOptionalPropertyTypes.
// test/docs.test.ts compiles the guide with them.

import { createRequire } from 'node:module'

import type { NatsConnection, NatsJetStream, NatsStreamConfig, NatsStreamInfo } from '../../../nats/src/index.ts'

/** A connection that its program may close. */
export interface OwnNatsConnection extends NatsConnection {
  close(): Promise<void>
  publish(subject: string, data: string, options?: { readonly headers?: OwnNatsHeaders }): void
}

export interface OwnNatsHeaders {
  set(name: string, value: string): void
}

export interface NatsConnectOptions {
  readonly servers?: string
  readonly port?: number
  readonly user?: string
  readonly pass?: string
  readonly waitOnFirstConnect?: boolean
  readonly maxReconnectAttempts?: number
  readonly reconnectTimeWait?: number
}

/** Manages the streams of a server. */
export interface StreamManager {
  readonly streams: {
    add(config: Partial<NatsStreamConfig>): Promise<NatsStreamInfo>
    info(stream: string): Promise<NatsStreamInfo>
    delete(stream: string): Promise<boolean>
  }
}

const require = createRequire(import.meta.url)

export const { connect, headers } = require('@nats-io/transport-node') as {
  readonly headers: () => OwnNatsHeaders
  readonly connect: (options: NatsConnectOptions) => Promise<OwnNatsConnection>
}

export const { jetstream, jetstreamManager } = require('@nats-io/jetstream') as {
  readonly jetstream: (connection: NatsConnection) => NatsJetStream
  readonly jetstreamManager: (connection: NatsConnection) => Promise<StreamManager>
}
