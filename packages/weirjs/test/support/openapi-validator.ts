// The validator of OpenAPI documents.

import { Validator } from '@seriousme/openapi-schema-validator'

/** It compiles the schema of each version of OpenAPI once. */
const validator = new Validator()

/** What is wrong with a document; null if it is valid. */
export async function validated(document: object): Promise<string | null> {
  const { valid, errors } = await validator.validate(structuredClone(document) as Record<string, unknown>)
  return valid ? null : JSON.stringify(errors, null, 2)
}
