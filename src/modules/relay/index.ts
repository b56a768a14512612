// The public API of weir/relay.

export type { RedisSubscribingClient } from '../redis/redis-subscriber.ts'
export type { Relay, RelayMessage, RelayPublishOptions, RelaySubscribeOptions, RelaySubscription } from '../relay-option.ts'
export type { RelayEvent } from './event-envelope.ts'
export { type MemoryRelayOptions, memoryRelay } from './memory-relay.ts'
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
export type { RedisMessengerOptions } from './redis-messenger.ts'
export { type RedisRelayOptions, redisRelay } from './redis-relay.ts'
export { type RedisStreamRelayOptions, redisStreamRelay } from './redis-stream-relay.ts'
export { type RelayChannel, type RelayChannelOptions, relayChannel } from './relay-channel.ts'
