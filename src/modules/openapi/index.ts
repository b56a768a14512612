// The public API of weir/openapi.

export type { OpenApiInfo, OpenApiServer } from './document.ts'
export { type OpenApiOptions, openapi } from './openapi.ts'
