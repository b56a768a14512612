// The public API of @weirjs/nats.

export type {
  NatsConnection,
  NatsJetStream,
  NatsJetStreamManager,
  NatsMessage,
  NatsStatus,
  NatsStreamConfig,
  NatsStreamInfo,
} from './nats-client.ts'
export { type NatsRelayOptions, natsRelay } from './nats-relay.ts'
