// weir/cors: the public face.

export type { AllowedOrigin, OriginPredicate, Origins } from '../origins.ts'
export { type CorsOptions, cors } from './cors.ts'
