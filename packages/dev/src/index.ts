// The public API of @weirjs/dev.

export { type Inspector, type InspectorOptions, inspector } from './inspector/inspector.ts'
export type { CompareOptions, Difference } from './recording/comparison.ts'
export { type Recording, type RecordOptions, type RecordReport, record } from './recording/record.ts'
export { type ReplayDifference, type ReplayOptions, type ReplayReport, replay } from './recording/replay.ts'
