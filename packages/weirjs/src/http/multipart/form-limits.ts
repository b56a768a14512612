// The limits of a form and of its parts.

import { limitOf } from '../../base/options.ts'
import { DEFAULT_MULTIPART_LIMITS, type MultipartLimits } from '../../formats/multipart-limits.ts'

/** Limits of a form, and of each of its parts in bytes. */
export interface FormLimits extends MultipartLimits {
  readonly maxFileBytes: number
  readonly maxFieldBytes: number
}

/** The sizes of files and fields are limited only by the size of the body. */
export const DEFAULT_FORM_LIMITS: FormLimits = {
  ...DEFAULT_MULTIPART_LIMITS,
  maxFileBytes: Number.POSITIVE_INFINITY,
  maxFieldBytes: Number.POSITIVE_INFINITY,
}

/** @throws WEIR_OPTION_INVALID for a value that is not a number of parts or bytes */
export function formLimits(
  member: string,
  given: Partial<Pick<FormLimits, 'maxParts' | 'maxFileBytes' | 'maxFieldBytes'>>,
  byDefault: FormLimits,
): FormLimits {
  return {
    ...byDefault,
    maxParts: limitOf(member, 'maxParts', given.maxParts, byDefault.maxParts),
    maxFileBytes: limitOf(member, 'maxFileBytes', given.maxFileBytes, byDefault.maxFileBytes),
    maxFieldBytes: limitOf(member, 'maxFieldBytes', given.maxFieldBytes, byDefault.maxFieldBytes),
  }
}
