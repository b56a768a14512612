// The limits of a form and of its parts.

import { alias, count, size } from '../../base/option-kinds.ts'
import type { Rule } from '../../base/option-rules.ts'
import type { Size } from '../../base/size.ts'
import { DEFAULT_MULTIPART_LIMITS, type MultipartLimits } from '../../formats/multipart-limits.ts'

/** Limits of a form, and of each of its parts in bytes. */
export interface FormLimits extends MultipartLimits {
  readonly maxFileSize: number
  readonly maxFieldSize: number
}

/** The sizes of files and fields are limited only by the size of the body. */
export const DEFAULT_FORM_LIMITS: FormLimits = {
  ...DEFAULT_MULTIPART_LIMITS,
  maxFileSize: Number.POSITIVE_INFINITY,
  maxFieldSize: Number.POSITIVE_INFINITY,
}

/** The options that two functions share; only their defaults differ. */
export function formRules(byDefault: FormLimits) {
  const bytes = (most: number): Rule<Size, number> => size().also(Number.POSITIVE_INFINITY).or(most)
  return {
    maxParts: count().also(Number.POSITIVE_INFINITY).or(byDefault.maxParts),
    maxFileSize: bytes(byDefault.maxFileSize),
    maxFileBytes: alias('maxFileSize'),
    maxFieldSize: bytes(byDefault.maxFieldSize),
    maxFieldBytes: alias('maxFieldSize'),
  }
}
