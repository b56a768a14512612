// The public API of weirjs/idempotency.

export { type Idempotency, type IdempotencyOptions, idempotency } from './idempotency.ts'
export type { Attempt, Begun, IdempotencyStore } from './idempotency-store.ts'
export { type MemoryIdempotencyOptions, memoryIdempotency } from './memory-idempotency.ts'
export type { Owner as AttemptOwner } from './shares.ts'
