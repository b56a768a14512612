// The public API of weirjs/relay.

export type { RelayEvent } from './event-envelope.ts'
export { type MemoryRelayOptions, memoryRelay } from './memory-relay.ts'
export { type RelayChannel, type RelayChannelOptions, relayChannel } from './relay-channel.ts'
export type { Relay, RelayMessage, RelayPublishOptions, RelaySubscribeOptions, RelaySubscription } from './relay-option.ts'
