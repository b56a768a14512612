// Checks the type of an upload by its first bytes, as for a file of a form.

import { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import type { ContentPolicy } from 'weirjs'
import { CONTENT_RULES, rules, saveContent } from 'weirjs/kit'

/** @internal */
export const TYPE_RULES = rules<ContentPolicy>('uploads')(CONTENT_RULES)
/** The most bytes that any format is recognized by. */
const MOST_BYTES = 64

/** @returns what the bytes show @throws (rejects) FileRefusedError (415) unless they are of one of the types; what the stream throws */
export async function checkTypes(stream: Readable, types: readonly string[]): Promise<string | null> {
  let first: Uint8Array = Buffer.alloc(0)
  for await (const piece of stream as AsyncIterable<Uint8Array>) {
    first = Buffer.concat([first, piece.subarray(0, MOST_BYTES)])
    if (first.length >= MOST_BYTES) break
  }
  return saveContent(TYPE_RULES, { fileName: null }, first, { types }, async (content) => {
    await content.toArray()
    return content.detectedType
  })
}
