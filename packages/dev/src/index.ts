// The public API of @weirjs/dev.

export { ChaosError, type ChaosOptions, type ChaosReport, chaos } from './chaos/chaos.ts'
export type { ChaosRequest } from './chaos/chaos-run.ts'
export { type Inspector, type InspectorOptions, inspector } from './inspector/inspector.ts'
export type { CompareOptions, Difference } from './recording/comparison.ts'
export { type Recording, type RecordOptions, type RecordReport, record } from './recording/record.ts'
export { type ReplayDifference, type ReplayOptions, type ReplayReport, replay } from './recording/replay.ts'
