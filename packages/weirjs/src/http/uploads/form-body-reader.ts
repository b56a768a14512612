// How a multipart form that its route declares becomes what the handler gets.

import { ContentTypeError, WeirError } from '../../base/errors.ts'
import type { MediaType } from '../../formats/media-type.ts'
import type { RequestBody } from '../body/body.ts'
import { BodyReader, type BodySettings } from '../body/body-reader.ts'
import type { MultipartBody } from '../multipart/form-body.ts'
import { loadForms, withForms } from './late-forms.ts'

export class MultipartBodyReader<T> extends BodyReader<T> {
  declare readonly declared: MultipartBody<T>

  constructor(declared: MultipartBody<T>) {
    super(declared)
    loadForms().catch(() => {}) // so that it is there for the first form, which tries again
  }

  /** Parts are dropped and refused as they arrive, so that undeclared content is never kept. */
  override get isStreamed(): boolean {
    return true
  }

  override get unreadable(): string | null {
    for (const [name, schema] of this.declared.fields.properties) {
      const reason = schema.unreadable('texts')
      if (reason !== null) return `field "${name}": ${reason}`
    }
    return null
  }

  override accepts({ type }: MediaType): boolean {
    return this.types.includes(type)
  }

  override async read(contentType: string | null, body: RequestBody | null, settings: BodySettings): Promise<T> {
    const { declared, types } = this
    if (body === null) throw new WeirError('WEIR_BODY_MISSING', `as ${types[0]}`)
    if (contentType === null) throw new ContentTypeError(null, types)
    return withForms(body, async ({ readDeclared }) => (await readDeclared(declared, contentType, body, settings)) as T)
  }
}
