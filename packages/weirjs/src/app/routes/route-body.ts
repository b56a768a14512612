// The `body` option of a route: how the body is read, or what its handler gets of it.

import { statSync } from 'node:fs'

import { WeirError } from '../../base/errors.ts'
import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import type { BodyReader } from '../../http/body/body-reader.ts'
import { MergePatchBody } from '../../http/body/merge-patch-body.ts'
import { MergePatchReader } from '../../http/body/merge-patch-reader.ts'
import { BytesBodyReader, TextBodyReader } from '../../http/body/plain-body-reader.ts'
import { SchemaBody } from '../../http/body/schema-body.ts'
import { SchemaBodyReader } from '../../http/body/schema-body-reader.ts'
import { TypedBody } from '../../http/body/typed-body.ts'
import { VerifiedBody } from '../../http/body/verified-body.ts'
import { VerifiedBodyReader } from '../../http/body/verified-body-reader.ts'
import { MultipartBody } from '../../http/multipart/form-body.ts'
import { MultipartBodyReader } from '../../http/uploads/form-body-reader.ts'

import type { BodyOption } from './declaration.ts'

/** Content in these requests has no meaning, and some servers refuse it (RFC 9110 §9.3.1, §9.3.2, §9.3.8). */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE'])

/**
 * @param method null: any
 * @param where the route, for messages
 * @returns null where the handler reads the body itself
 * @throws WEIR_ROUTE_DECLARATION for a body that can never be read
 */
export function bodyReaderOf(option: BodyOption | undefined, method: string | null, where: string): BodyReader | null {
  if (option === undefined || option === 'buffer' || option === 'stream') return null
  const refuse = (why: string): never => {
    throw new WeirError('WEIR_ROUTE_DECLARATION', `the body of ${where} ${why}`)
  }
  if (method !== null && BODILESS.has(method)) refuse(`can never be read: ${method} has none. Use QUERY (mapQuery) or POST`)
  const body = readerOf(option instanceof TypedBody ? option : new SchemaBody('schema', option))
  const reason = body.unreadable
  if (reason !== null) refuse(`can never be read from ${body.types.join(' or ')}: ${reason}`)
  return body
}

function readerOf(declared: TypedBody): BodyReader {
  if (declared instanceof VerifiedBody) return new VerifiedBodyReader(declared, readerOf(declared.inner))
  if (declared instanceof MultipartBody) return new MultipartBodyReader(declared)
  if (declared instanceof MergePatchBody) return new MergePatchReader(declared)
  if (declared instanceof SchemaBody) return new SchemaBodyReader(declared)
  return declared.kind === 'text'
    ? new TextBodyReader(declared as TypedBody<string>)
    : new BytesBodyReader(declared as TypedBody<UnsharedBytes>)
}

export function bodyModeOf(option: BodyOption | undefined, body: BodyReader | null): 'auto' | 'buffer' | 'stream' {
  if (body !== null) return body.isStreamed ? 'stream' : 'buffer'
  return option === 'buffer' || option === 'stream' ? option : 'auto'
}

/** The parts of a route that `checkFiles` reads. */
interface Receiving {
  readonly place: string
  readonly body: BodyReader | null
  readonly maxRequestBodySize: number | null | undefined
}

/**
 * Refuses a file limit that is larger than the limit of the whole body, as clients would get 413 for sizes that the program allows, and a
 * directory that is missing, as they would get 500.
 * @param serverLimit the limit where the route has none of its own; null: none
 * @throws WEIR_ROUTE_DECLARATION
 */
export function checkFiles({ place, body, maxRequestBodySize }: Receiving, serverLimit: number | null): void {
  if (!(body?.declared instanceof MultipartBody)) return
  const limit = (maxRequestBodySize === undefined ? serverLimit : maxRequestBodySize) ?? Number.POSITIVE_INFINITY
  for (const [name, { maxSize, saveTo }] of Object.entries(body.declared.files)) {
    const refuse = (why: string): never => {
      throw new WeirError('WEIR_ROUTE_DECLARATION', `${place}: the file "${name}" ${why}`)
    }
    if (Number.isFinite(maxSize) && maxSize > limit)
      refuse(`may have ${maxSize} bytes, and the whole body only ${limit}: write maxRequestBodySize for the route`)
    if (typeof saveTo === 'string' && statSync(saveTo, { throwIfNoEntry: false })?.isDirectory() !== true)
      refuse(`is saved to ${saveTo}, which is not an existing directory: create it before the server starts`)
  }
}
