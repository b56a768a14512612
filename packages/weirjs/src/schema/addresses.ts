// Email addresses and URLs. Both stay text, as they were sent.

import { MAX_AUTHORITY_CHARACTERS } from '../base/host-name.ts'

import { CheckedTextSchema } from './checked-text.ts'
import type { JsonSchema } from './json-keywords.ts'
import type { Presence } from './schema.ts'

/**
 * An email address in the grammar of HTML (https://html.spec.whatwg.org/#valid-e-mail-address), which `<input type=email>` uses: a local part of
 * letters, digits and ``.!#$%&'*+/=?^_`{|}~-``, an `@`, and labels of up to 63 letters, digits and inner hyphens, separated by dots. Quoted local
 * parts, comments, addresses in brackets and characters outside ASCII are refused; a domain without a dot is accepted. At most 254 characters,
 * because SMTP does not deliver longer ones (RFC 5321 §4.5.3.1.3 counts the angle brackets).
 */
export class EmailSchema<T = string, Input = string> extends CheckedTextSchema<T, Input> {
  override describe(): string {
    return 'an email address'
  }

  protected override fits(text: string): boolean {
    return text.length <= MAX_EMAIL_CHARACTERS && EMAIL.test(text)
  }

  protected override again(presence: Presence): EmailSchema<unknown> {
    return new EmailSchema(presence)
  }

  protected override keywords(): JsonSchema {
    return { type: 'string', format: 'email', maxLength: MAX_EMAIL_CHARACTERS }
  }
}

const MAX_EMAIL_CHARACTERS = 254
const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
const EMAIL = new RegExp(`^[a-zA-Z0-9.!#$%&'*+/=?^_\`{|}~-]+@${LABEL}(?:\\.${LABEL})*$`)

/**
 * An absolute `http:` or `https:` URL that the WHATWG URL parser accepts without repairs: no blanks, control characters or backslashes, and two
 * slashes after the scheme. A user name or password is refused, because it can make a URL look like another one (RFC 9110 §4.2.4). At most
 * 8,000 characters, the length that RFC 9110 §4.1 recommends every server to support, 261 of them in the host and port.
 */
export class UrlSchema<T = string, Input = string> extends CheckedTextSchema<T, Input> {
  override describe(): string {
    return 'a URL like https://example.com/path'
  }

  protected override fits(text: string): boolean {
    return text.length <= MAX_URL_CHARACTERS && URL_START.test(text) && !REPAIRED.test(text) && URL.canParse(text)
  }

  protected override again(presence: Presence): UrlSchema<unknown> {
    return new UrlSchema(presence)
  }

  protected override keywords(): JsonSchema {
    return { type: 'string', format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://', maxLength: MAX_URL_CHARACTERS }
  }
}

const MAX_URL_CHARACTERS = 8_000
/** The scheme and an authority without `@`. */
const URL_START = new RegExp(`^https?://[^/?#@]{1,${MAX_AUTHORITY_CHARACTERS}}(?:[/?#]|$)`, 'i')
/** Characters that the parser would drop or replace. */
const REPAIRED = /[\x00-\x20\x7f\\\p{Cs}]/u
