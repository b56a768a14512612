// Describes values that do not fit for the client. It hides values that are secret by their name, even if they were not declared secret.

import type { BindingFailure } from '../../base/errors.ts'
import { masked, valueSecrets } from '../../formats/masking/ranges.ts'
import { USUAL_SECRETS } from '../../formats/masking/secret-words.ts'
import { hide, NOT_SHOWN } from '../../schema/mismatch.ts'

export function shownFailures(failures: readonly BindingFailure[]): readonly BindingFailure[] {
  return failures.map(shownFailure)
}

function shownFailure(failure: BindingFailure): BindingFailure {
  const { name, in: place, actual } = failure
  if (actual === undefined) return failure
  const isSecret = name.split(/[.[\]]+/).some((word) => (place === 'query' ? USUAL_SECRETS.hasInQuery(word) : USUAL_SECRETS.has(word)))
  if (!isSecret) return { ...failure, actual: masked(actual, valueSecrets(actual, USUAL_SECRETS), () => NOT_SHOWN) }
  return { ...failure, expected: hide(failure.expected, actual)[0], actual: NOT_SHOWN }
}
