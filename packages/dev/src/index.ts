// The public API of @weirjs/dev.

export { type Inspector, type InspectorOptions, inspector } from './inspector/inspector.ts'
