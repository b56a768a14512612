// A multipart form that its route declares: fields that a schema reads, and files with rules.

import { shown } from '../../base/kind-of.ts'
import { object } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { type ObjectInputOf, type ObjectOf, type ObjectSchema, objectOf, type Shape } from '../../schema/composite.ts'
import { TypedBody } from '../body/typed-body.ts'
import { FileField } from './file-field.ts'
import { DEFAULT_FORM_LIMITS, type FormLimits, formRules } from './form-limits.ts'
import type { MultipartOptions } from './multipart-form.ts'

const FORM_DATA = 'multipart/form-data'

/** The files of a form, by the names of their parts. */
export type FileFields = { readonly [name: string]: FileField }

/** What `multipart` accepts, and the limits of the form. */
export interface MultipartShape<F extends Shape = Shape, G extends FileFields = FileFields>
  extends Omit<MultipartOptions, 'maxFileSize' | 'maxFileBytes'> {
  /** Parts that are fields, each with a schema that reads its text. A name that repeats is an array. */
  readonly fields?: F
  /** Parts that are files, each described by what `file` returns. */
  readonly files?: G
}

/** What a handler gets from a multipart form. */
export interface MultipartOf<F extends Shape, G extends FileFields> {
  fields: ObjectOf<F>
  files: FilesOf<G>
}

/** A file that may be missing is an optional key. */
type FilesOf<G extends FileFields> = {
  [K in keyof G as undefined extends FileOf<G[K]> ? never : K]: FileOf<G[K]>
} & {
  [K in keyof G as undefined extends FileOf<G[K]> ? K : never]?: Exclude<FileOf<G[K]>, undefined>
}
type FileOf<F> = F extends FileField<infer T> ? T : never

/** What a client sends as a multipart form. A `File` has a name, and any other `Blob` is called `blob`. */
type MultipartInputOf<F extends Shape, G extends FileFields> = ([keyof F] extends [never]
  ? { readonly fields?: Record<never, never> }
  : { readonly fields: ObjectInputOf<F> }) &
  ([keyof G] extends [never] ? { readonly files?: Record<never, never> } : { readonly files: FileInputsOf<G> })
type FileInputsOf<G extends FileFields> = {
  readonly [K in keyof G as undefined extends FileOf<G[K]> ? never : K]: FileInputOf<FileOf<G[K]>>
} & {
  readonly [K in keyof G as undefined extends FileOf<G[K]> ? K : never]?: FileInputOf<Exclude<FileOf<G[K]>, undefined>>
}
type FileInputOf<T> = T extends readonly unknown[] ? readonly Blob[] : Blob

const { maxParts, maxFieldSize, maxFieldBytes } = formRules(DEFAULT_FORM_LIMITS)
/** @internal */
export const MULTIPART_BODY_RULES = rules<MultipartShape>('multipart()')({
  fields: object().or({}, 'none'),
  files: object().or({}, 'none'),
  maxParts,
  maxFieldSize,
  maxFieldBytes,
})

/** Made by `multipart`. */
export class MultipartBody<T = unknown, Input = unknown> extends TypedBody<T, Input> {
  /** The files of the form, by name. Without a prototype. */
  readonly files: FileFields
  readonly isStrict: boolean
  /** @internal */
  readonly fields: ObjectSchema<unknown>
  /** @internal */
  readonly limits: FormLimits

  /** @internal */
  constructor(fields: ObjectSchema<unknown>, files: FileFields, limits: FormLimits, isStrict: boolean) {
    super('multipart', [FORM_DATA], fields)
    this.files = files
    this.isStrict = isStrict
    this.fields = fields
    this.limits = limits
  }

  /** Refuses parts that are not declared, which are otherwise dropped. */
  strict(): MultipartBody<T, Input> {
    return new MultipartBody(this.fields, this.files, this.limits, true)
  }

  /** @internal */
  override get isOptional(): boolean {
    return false
  }
}

/**
 * A multipart form, read into memory as it arrives: `multipart({ fields: { title: t.string }, files: { photo: file({ maxSize: 1_000_000 }) } })`.
 * The handler gets `{ fields, files }`. Parts that are not declared are dropped without being kept, or refused by `.strict()`. At most
 * `maxParts` parts, by default 200; the whole form is limited by `maxRequestBodySize`.
 *
 * A file that its rules refuse ends the form: 415 for its type or extension, 413 for its size or their number. Fields that do not fit, and
 * files that are missing, are listed together: 400, or the server's `invalidBodyStatus`.
 * @throws WEIR_OPTION_INVALID
 * @example
 * const body = multipart({ fields: { title: t.string }, files: { photo: file({ maxSize: '5MiB' }) } })
 * server.mapPost('/photos', { body }, ({ body }) => body.fields.title)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export function multipart<const F extends Shape = Record<never, never>, const G extends FileFields = Record<never, never>>(
  shape: MultipartShape<F, G>,
): MultipartBody<MultipartOf<F, G>, MultipartInputOf<F, G>> {
  const { fields: _fields, files: _files, ...limits } = MULTIPART_BODY_RULES.read(shape)
  const { fields = {}, files = {} } = shape
  for (const [name, one] of Object.entries<unknown>(fields))
    if (one instanceof FileField) throw invalid('multipart()', `fields: ${JSON.stringify(name)} is a file: write it under files`)
  const schema = objectOf(fields)
  const known: Record<string, FileField> = Object.create(null)
  for (const [name, one] of Object.entries<unknown>(files)) {
    if (!(one instanceof FileField))
      throw invalid('multipart()', `files: ${JSON.stringify(name)} is ${shown(one)}, not what file() returns`)
    if (name === '__proto__') throw invalid('multipart()', 'files: "__proto__" would be a prototype: give it another name')
    if (schema.properties.has(name)) throw invalid('multipart()', `${JSON.stringify(name)} is both a field and a file`)
    known[name] = one
  }
  return new MultipartBody(schema, Object.freeze(known), { ...DEFAULT_FORM_LIMITS, ...limits }, false)
}
