// The public API of weir/inspector.

export { type Inspector, type InspectorOptions, inspector } from './inspector.ts'
