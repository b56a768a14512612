// The public API of weir/relay.

export type { Relay, RelayMessage, RelaySubscribeOptions, RelaySubscription } from '../relay-option.ts'
export { type MemoryRelayOptions, memoryRelay } from './memory-relay.ts'
