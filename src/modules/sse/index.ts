// The public API of weir/sse.

export { type FullQueuePolicy, SseChannel, type SseChannelOptions } from './channel.ts'
export type { SseEvent } from './event.ts'
export { lastEventId, type SseOptions, type SseSource, sse } from './sse.ts'
