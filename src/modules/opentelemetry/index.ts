// The public API of weir/opentelemetry.

export { type OpenTelemetryOptions, opentelemetry, spanOf } from './opentelemetry.ts'
