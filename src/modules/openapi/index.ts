// The public API of weir/openapi.

export type { OpenApiDocument, OpenApiInfo, OpenApiServer } from './document.ts'
export { type OpenApiOptions, openapi } from './openapi.ts'
