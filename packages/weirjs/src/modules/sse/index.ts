// The public API of weirjs/sse.

export { SseChannel, type SseChannelOptions } from './channel.ts'
export { SseChannels } from './channels.ts'
export type { SseEvent } from './event.ts'
export type { SseFeed } from './feed.ts'
export { openStreams } from './open-streams.ts'
export { type ResumableOptions, ResumableStreams } from './resumable-streams.ts'
export { lastEventId, type SseOptions, type SseSource, sse } from './sse.ts'
