// The public API of weirjs/cors.

export type { AllowedOrigin, OriginPredicate, Origins } from '../origins.ts'
export { type CorsOptions, cors } from './cors.ts'
