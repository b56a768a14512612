// The public API of weir/health.

export type { HealthCheck } from './check.ts'
export { type HealthCheckOptions, type HealthChecks, type HealthOptions, health } from './health.ts'
