// `t`: how a host program says what a value is, once, for route and query parameters, model fields and generated documents.

import { BoolSchema, enumOf } from './choices.ts'
import { arrayOf, objectOf } from './composite.ts'
import { DateSchema, LocalDateTimeSchema } from './dates.ts'
import { BigIntSchema, NumberSchema } from './numbers.ts'
import { TextSchema, UuidSchema } from './text.ts'

/**
 * Descriptions of values. Each is a Standard Schema, never changes, and has `.optional()`, `.nullable()`, `.default(value)` and `.secret()`;
 * `.min`, `.max`, `.length` and `.pattern` are where they make sense.
 *
 * Conversion is strict: what is not plainly such a value is refused, never guessed at.
 */
export const t = Object.freeze({
  /** A text. `.min .max .length` count characters. */
  string: new TextSchema(),
  /** A whole number within ±(2^53 - 1). */
  int: new NumberSchema(true),
  /** A finite number, in the grammar of JSON. */
  number: new NumberSchema(false),
  /** A whole number of up to 1,000 digits. */
  bigint: new BigIntSchema(),
  /** True or false; in text also `1` or `0`. */
  bool: new BoolSchema(),
  /** A UUID, kept as sent. */
  uuid: new UuidSchema(),
  /** A moment, as a Date: RFC 3339, or ISO 8601 without zone, which is read as UTC. A date alone is midnight UTC. */
  dateTime: new DateSchema('date-time'),
  /** A day `YYYY-MM-DD`, as a Date at midnight UTC. */
  date: new DateSchema('date'),
  /** A date and time without zone, kept as text. */
  localDateTime: new LocalDateTimeSchema(),
  /** One of these texts or numbers: `t.enum('up', 'down')`. */
  enum: enumOf,
  /** An array; in a query, all the values of one name. `.min .max .length` count elements. */
  array: arrayOf,
  /** An object with these properties; unknown ones are dropped. */
  object: objectOf,
})
