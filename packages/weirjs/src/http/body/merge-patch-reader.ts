// Reads a JSON merge patch.

import { ContentTypeError, WeirError } from '../../base/errors.ts'
import type { MediaType } from '../../formats/media-type.ts'
import type { RequestBody } from './body.ts'
import { BodyReader, type BodySettings, type Sender } from './body-reader.ts'
import { requireJsonInUtf8 } from './json-text.ts'
import { isUnused, MergePatch, type MergePatchBody } from './merge-patch-body.ts'
import { SchemaBody } from './schema-body.ts'
import { SchemaBodyReader } from './schema-body-reader.ts'

/** The patches that handlers have been given, by the head of the request. */
const patches = new WeakMap<object, MergePatch<unknown>>()

/** Whether a handler was given a patch and has not read it. */
export function hasUnusedPatch(head: object): boolean {
  const patch = patches.get(head)
  return patch !== undefined && isUnused(patch)
}

export class MergePatchReader extends BodyReader<MergePatch<unknown>> {
  declare readonly declared: MergePatchBody
  readonly #json: SchemaBodyReader<object>

  constructor(declared: MergePatchBody) {
    super(declared)
    this.#json = new SchemaBodyReader(new SchemaBody<object>('json', declared.schema))
  }

  override accepts(type: MediaType): boolean {
    return this.types.includes(type.type) && requireJsonInUtf8(type)
  }

  override read(contentType: string | null, body: RequestBody | null, settings: BodySettings, { head }: Sender): MergePatch<unknown> {
    if (body === null || body.length('args.body') === 0) throw new WeirError('WEIR_BODY_MISSING', this.types.join(' or '))
    if (contentType === null) throw new ContentTypeError(null, this.types)
    const changes = this.#json.read(contentType, body, settings) as object // a `t` returns no promise
    const patch = new MergePatch(this.declared.schema, changes, settings.invalidBodyStatus)
    patches.set(head, patch)
    return patch
  }
}
