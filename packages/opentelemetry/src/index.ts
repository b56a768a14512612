// The public API of @weirjs/opentelemetry.

export type { Meters, RequestSpan, SpanAttributes, SpanAttributeValue, Tracers } from './api-types.ts'
export { type OpenTelemetryOptions, opentelemetry, spanOf } from './opentelemetry.ts'
