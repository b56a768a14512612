// The public API of weirjs/inspector.

export { type Inspector, type InspectorOptions, inspector } from './inspector.ts'
