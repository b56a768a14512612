// Email addresses and URLs. Both stay text, as they were sent.

import { MAX_AUTHORITY_CHARACTERS } from '../base/host-name.ts'

import type { TextFormat } from './checked-text.ts'

const MAX_EMAIL_CHARACTERS = 254
const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
const EMAIL = new RegExp(`^[a-zA-Z0-9.!#$%&'*+/=?^_\`{|}~-]+@${LABEL}(?:\\.${LABEL})*$`)

/**
 * An email address in the grammar of HTML (https://html.spec.whatwg.org/#valid-e-mail-address), which `<input type=email>` uses: a local part of
 * letters, digits and ``.!#$%&'*+/=?^_`{|}~-``, an `@`, and labels of up to 63 letters, digits and inner hyphens, separated by dots. Quoted local
 * parts, comments, addresses in brackets and characters outside ASCII are refused; a domain without a dot is accepted. At most 254 characters,
 * because SMTP does not deliver longer ones (RFC 5321 §4.5.3.1.3 counts the angle brackets).
 */
export const EMAIL_FORMAT: TextFormat = {
  described: 'an email address',
  fits: (text) => text.length <= MAX_EMAIL_CHARACTERS && EMAIL.test(text),
  keywords: { format: 'email', maxLength: MAX_EMAIL_CHARACTERS },
}

const MAX_URL_CHARACTERS = 8_000
/** The scheme and an authority without `@`. */
const URL_START = new RegExp(`^https?://[^/?#@]{1,${MAX_AUTHORITY_CHARACTERS}}(?:[/?#]|$)`, 'i')
/** Characters that the parser would drop or replace. */
const REPAIRED = /[\x00-\x20\x7f\\\p{Cs}]/u

/**
 * An absolute `http:` or `https:` URL that the WHATWG URL parser accepts without repairs: no blanks, control characters or backslashes, and two
 * slashes after the scheme. A user name or password is refused, because it can make a URL look like another one (RFC 9110 §4.2.4). At most
 * 8,000 characters, the length that RFC 9110 §4.1 recommends every server to support, 261 of them in the host and port.
 */
export const URL_FORMAT: TextFormat = {
  described: 'a URL like https://example.com/path',
  fits: (text) => text.length <= MAX_URL_CHARACTERS && URL_START.test(text) && !REPAIRED.test(text) && URL.canParse(text),
  keywords: { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://', maxLength: MAX_URL_CHARACTERS },
}
