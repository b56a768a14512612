// The public API of weirjs/relay.

export type { RelayEvent } from './event-envelope.ts'
export { type MemoryRelayOptions, memoryRelay } from './memory-relay.ts'
export { ONCE_MS, onceName, onceOf } from './publish-once.ts'
export { type RelayChannel, type RelayChannelOptions, relayChannel } from './relay-channel.ts'
export type { Relay, RelayMessage, RelayPublishOptions, RelaySubscribeOptions, RelaySubscription } from './relay-option.ts'
export { BEFORE_FIRST, SUBSCRIBE_RULES } from './relay-option.ts'
