// The public API of weirjs/relay.

export type { RelayEvent } from '../sse/event-envelope.ts'
export { type RelayChannel, type RelayChannelOptions, relayChannel } from '../sse/relay-channel.ts'
export { type RelayChannels, relayChannels } from '../sse/relay-channels.ts'
export { type MemoryRelayOptions, memoryRelay } from './memory-relay.ts'
export { onceName, onceOf } from './publish-once.ts'
export type { Relay, RelayMessage, RelayPublishOptions, RelaySubscribeOptions, RelaySubscription } from './relay-option.ts'
export { BEFORE_FIRST, checkedRelay, checkSubscribe } from './relay-option.ts'
export { readyOrLate } from './relay-ready.ts'
