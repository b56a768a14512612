// The parts of the API of OpenTelemetry that this module's own declarations mention. Spelt out, so that they compile without the package.

/** A value of an attribute. */
export type SpanAttributeValue =
  | string
  | number
  | boolean
  | (string | null | undefined)[]
  | (number | null | undefined)[]
  | (boolean | null | undefined)[]

/** Values by name. */
export interface SpanAttributes {
  [name: string]: SpanAttributeValue | undefined
}

/** The span of a request: the `Span` of `@opentelemetry/api`. Do not end it: it ends with the response. */
export interface RequestSpan {
  spanContext(): { traceId: string; spanId: string; traceFlags: number; isRemote?: boolean }
  setAttribute(name: string, value: SpanAttributeValue): this
  setAttributes(attributes: SpanAttributes): this
  addEvent(
    name: string,
    attributesOrStartTime?: SpanAttributes | number | Date | [number, number],
    startTime?: number | Date | [number, number],
  ): this
  addLink(link: { context: { traceId: string; spanId: string; traceFlags: number }; attributes?: SpanAttributes }): this
  addLinks(links: { context: { traceId: string; spanId: string; traceFlags: number }; attributes?: SpanAttributes }[]): this
  setStatus(status: { code: number; message?: string }): this
  updateName(name: string): this
  end(endTime?: number | Date | [number, number]): void
  isRecording(): boolean
  recordException(exception: Error | string, time?: number | Date | [number, number]): void
}

/** What creates tracers: the `TracerProvider` of an SDK. */
export interface Tracers {
  getTracer(name: string, version?: string, options?: { schemaUrl?: string }): object
}

/** What creates meters: the `MeterProvider` of an SDK. */
export interface Meters {
  getMeter(name: string, version?: string, options?: { schemaUrl?: string }): object
}
