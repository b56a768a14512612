// Entity tags (RFC 9110 §8.8.3).

import { WeirError } from '../base/errors.ts'

// etagc: %x21, %x23-7E and obs-text.
const OPAQUE = /^[\x21\x23-\x7e\x80-\xff]*$/
const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/

/**
 * The field value for `opaque`: `"opaque"`, or `W/"opaque"` if two responses that carry it may differ in their bytes.
 *
 * @throws WEIR_RESPONSE_HEADER_SYNTAX if `opaque` contains a quote, a blank or a control character
 */
export function entityTag(opaque: string, weak: boolean = false): string {
  if (!OPAQUE.test(opaque)) throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', `${JSON.stringify(opaque)} cannot be an entity tag`)
  return weak ? `W/"${opaque}"` : `"${opaque}"`
}

/** The same for a text that may be an entity tag already: `v7`, `"v7"`, `W/"v7"`. @throws WEIR_RESPONSE_HEADER_SYNTAX */
export function asEntityTag(text: string): string {
  return ENTITY_TAG.test(text) ? text : entityTag(text)
}
