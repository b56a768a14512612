// The fields of an interim response `103 Early Hints` (RFC 8297).

import { isFieldValue, isToken } from '../../base/ascii.ts'
import { unsendableField, WeirError } from '../../base/errors.ts'
import { flag } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { FRAMING } from './field-list.ts'

/**
 * @example
 * const options: EarlyHintsOptions = { overHttp1: true }
 * response.earlyHints({ link: '</style.css>; rel=preload; as=style' }, options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/files-and-streams.md
 */
export interface EarlyHintsOptions {
  /** Whether to send them over HTTP/1.1 too. Set it only if you know every proxy on the way. Default false. */
  readonly overHttp1?: boolean
}

/** @internal */
export const EARLY_HINTS_RULES = rules<EarlyHintsOptions>('earlyHints()')({ overHttp1: flag(false) })

/** @throws WEIR_OPTION_INVALID */
export function checkedOverHttp1(options: EarlyHintsOptions): boolean {
  return EARLY_HINTS_RULES.read(options).overHttp1
}

/** A recipient that takes the interim response for the final one must not see a body in it. */
const OF_A_BODY = /^content-(?:length|encoding|range|type)$/i

/** @returns name, value, name, value @throws WEIR_RESPONSE_HEADER_SYNTAX */
export function hintFields(fields: Readonly<Record<string, string | readonly string[]>>): string[] {
  const list: string[] = []
  for (const [name, values] of Object.entries(fields)) {
    for (const value of Array.isArray(values) ? (values as readonly unknown[]) : [values]) {
      if (typeof value !== 'string' || !isToken(name) || !isFieldValue(value)) throw unsendableField(name, value)
      if (FRAMING.test(name) || OF_A_BODY.test(name))
        throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', `${name} in an interim response: set it on the response itself`)
      list.push(name, value)
    }
  }
  return list
}
