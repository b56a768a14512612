// The multipart form of one request, read whole into memory, once.

import { BodyAlreadyReadError, WeirError } from '../../base/errors.ts'
import type { RequestBody } from '../body/body.ts'
import { DEFAULT_FORM_LIMITS, type FormLimits } from './form-limits.ts'
import { MemoryParts, type MultipartFormData, type MultipartOptions, memoryLimits } from './multipart-form.ts'
import { readMultipart } from './multipart-reading.ts'

export class MemoryForm {
  #form: Promise<MultipartFormData | null> | null = null
  #isFileTaken = false

  /** `request.bodyMultipart()`. @param isExpired an expired request throws, even when the form was read before */
  async read(
    contentType: string | null,
    body: RequestBody,
    isExpired: boolean,
    options: MultipartOptions | undefined,
  ): Promise<MultipartFormData | null> {
    // Checked even when the form was read before and they have no effect.
    const limits = options === undefined ? DEFAULT_FORM_LIMITS : memoryLimits(options)
    if (this.#form === null || isExpired) this.#form = readForm('bodyMultipart()', contentType, body, limits)
    return this.#form
  }

  /** `request.bodyFile()` */
  async takeFile(contentType: string | null, body: RequestBody): Promise<MultipartFormData> {
    if (this.#isFileTaken) throw new BodyAlreadyReadError('bodyFile()', 'keep what the first call returned')
    this.#isFileTaken = true
    const form = await readForm('bodyFile()', contentType, body, DEFAULT_FORM_LIMITS)
    if (form === null) throw new WeirError('WEIR_MULTIPART_INVALID')
    return form
  }
}

async function readForm(
  member: string,
  contentType: string | null,
  body: RequestBody,
  limits: FormLimits,
): Promise<MultipartFormData | null> {
  const parts = new MemoryParts(limits)
  const isValid = await readMultipart(contentType, body, member, limits, () => parts)
  return isValid ? parts.form : null
}
