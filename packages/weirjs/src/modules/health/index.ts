// The public API of weirjs/health.

export type { HealthCheck } from './check.ts'
export { type HealthOptions, health } from './health.ts'
