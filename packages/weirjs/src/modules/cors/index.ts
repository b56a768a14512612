// The public API of weirjs/cors.

export { type CorsOptions, cors } from './cors.ts'
export { type OriginPredicate, predicateOf } from './origins.ts'
