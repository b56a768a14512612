// What `weirjs/idempotency` states about a route.

import type { RouteListing } from 'weirjs'

interface IdempotencyDescription {
  /** Name of the field with the key. */
  readonly idempotencyHeader: string
  readonly isRequired: boolean
  /** The methods to which it applies. */
  readonly methods: readonly string[]
}

/** Null if it is not used on the route. */
export function idempotencyOf({ method, policies }: RouteListing): IdempotencyDescription | null {
  const known = policies.find(({ description }) => isIdempotency(description))
  const description = (known?.description ?? null) as IdempotencyDescription | null
  return description === null || (method !== null && !description.methods.includes(method)) ? null : description
}

function isIdempotency(description: unknown): description is IdempotencyDescription {
  return (
    typeof description === 'object' &&
    description !== null &&
    'idempotencyHeader' in description &&
    'isRequired' in description &&
    'methods' in description
  )
}
