// JSON, as the server and the handlers may exchange it for another: serializing answers, and populating models.

import type { ReadContext } from '../schema/schema.ts'

/** Makes text of values and values of text, in place of `JSON`; for a whole server, or for one call of `bodyMap`. */
export interface JsonEngine {
  serialize(value: unknown): string
  /**
   * For handlers and modules that want a value of their own: weir itself only serializes and populates.
   * @throws SyntaxError for what is no JSON
   */
  deserialize(text: string): unknown
  /**
   * Writes what `text` says into `target`; `options` are those that `bodyMap` was given.
   * @throws SyntaxError for what is no JSON, which makes `bodyMap` false; any other error is thrown on
   */
  populate(text: string, target: object, options: unknown): void
}

/** How `bodyMap` reads JSON. */
export interface JsonSettings extends ReadContext {
  /** Given to `JSON.parse`. */
  readonly reviver?: (this: unknown, key: string, value: unknown) => unknown
  /** How deep objects and arrays may lie in one another. Default 64. Beyond it: `ModelBindingError`. */
  readonly maxDepth?: number
}
