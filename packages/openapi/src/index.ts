// The public API of @weirjs/openapi.

export type { OpenApiInfo, OpenApiServer } from './document.ts'
export { type OpenApiOptions, openapi } from './openapi.ts'
