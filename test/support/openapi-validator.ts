// The validator of OpenAPI documents.

import { Validator } from '@seriousme/openapi-schema-validator'

/** What is wrong with a document; null if it is valid. */
export async function validated(document: object): Promise<string | null> {
  const validator = new Validator()
  const { valid, errors } = await validator.validate(structuredClone(document) as Record<string, unknown>)
  return valid ? null : JSON.stringify(errors, null, 2)
}
