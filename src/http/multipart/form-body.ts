// A multipart form that its route declares: fields that a schema reads, and files with rules.

import type { Buffer } from 'node:buffer'
import { emptyRecord } from '../../base/empty-record.ts'
import { ContentTypeError, InvalidBodyError, PayloadTooLargeError, WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { checkNames, invalid, namesOf } from '../../base/options.ts'
import { type FormRecord, foldForm } from '../../formats/form.ts'
import type { MediaType } from '../../formats/media-type.ts'
import { isFile, type PartHead } from '../../formats/part-head.ts'
import { type ObjectOf, type ObjectSchema, objectOf, type Shape } from '../../schema/composite.ts'
import { MAX_MISMATCHES, Mismatch, shorten } from '../../schema/mismatch.ts'
import type { RequestBody } from '../body/body.ts'
import { type BodySettings, TypedBody } from '../body/typed-body.ts'
import { checkFile, FileField } from './file-field.ts'
import { DEFAULT_FORM_LIMITS, MemoryParts, type MultipartOptions, type UploadedFile } from './multipart-form.ts'
import { type FormLimits, formLimits, type PartReceiver, readMultipart } from './multipart-reading.ts'

const FORM_DATA = 'multipart/form-data'
const MEMBER = 'args.body'

/** The files of a form, by the names of their parts. */
export type FileFields = { readonly [name: string]: FileField }

/** What `multipart` accepts, and the limits of the form. */
export interface MultipartShape<F extends Shape = Shape, G extends FileFields = FileFields> extends Omit<MultipartOptions, 'maxFileBytes'> {
  /** Parts without a file: a schema for each, which reads its text. A name that repeats is an array. */
  readonly fields?: F
  /** Parts with a file: what `file` returns. */
  readonly files?: G
}

/** What a handler gets from a multipart form. */
export interface MultipartOf<F extends Shape, G extends FileFields> {
  fields: ObjectOf<F>
  files: FilesOf<G>
}

/** A file that may be missing is an optional key. */
export type FilesOf<G extends FileFields> = {
  [K in keyof G as undefined extends FileOf<G[K]> ? never : K]: FileOf<G[K]>
} & {
  [K in keyof G as undefined extends FileOf<G[K]> ? K : never]?: Exclude<FileOf<G[K]>, undefined>
}
type FileOf<F> = F extends FileField<infer T> ? T : never

const OPTION_NAMES = namesOf<MultipartShape>()(['fields', 'files', 'maxParts', 'maxFieldBytes'])

/** Like a record without a prototype, but cheaper: see `emptyRecord`. */
const Folded = emptyRecord<FormRecord>()

/** Made by `multipart`. */
export class MultipartBody<T = unknown> extends TypedBody<T> {
  /** The files of the form, by name. Without a prototype. */
  readonly files: FileFields
  readonly isStrict: boolean
  readonly #fields: ObjectSchema<unknown>
  readonly #limits: FormLimits

  /** @internal */
  constructor(fields: ObjectSchema<unknown>, files: FileFields, limits: FormLimits, isStrict: boolean) {
    super('multipart', [FORM_DATA], fields)
    this.files = files
    this.isStrict = isStrict
    this.#fields = fields
    this.#limits = limits
  }

  /** Refuses parts that are not declared, which are otherwise dropped. */
  strict(): MultipartBody<T> {
    return new MultipartBody(this.#fields, this.files, this.#limits, true)
  }

  /** @internal */
  override get isOptional(): boolean {
    return false
  }

  /** Parts are dropped and refused as they arrive: nothing is kept of what is not wanted. @internal */
  override get isStreamed(): boolean {
    return true
  }

  /** @internal */
  override get unreadable(): string | null {
    for (const [name, schema] of this.#fields.properties) {
      const reason = schema.unreadable('texts')
      if (reason !== null) return `field "${name}": ${reason}`
    }
    return null
  }

  /** @internal */
  override accepts({ type }: MediaType): boolean {
    return type === FORM_DATA
  }

  /** @internal */
  override async read(contentType: string | null, body: RequestBody | null, { invalidBodyStatus }: BodySettings): Promise<T> {
    if (body === null) throw new WeirError('WEIR_BODY_MISSING', `as ${FORM_DATA}`)
    if (contentType === null) throw new ContentTypeError(null, this.types)
    const parts = new DeclaredParts(this.#fields, this.files, this.#limits, this.isStrict)
    if (!(await readMultipart(contentType, body, MEMBER, this.#limits, () => parts))) throw new WeirError('WEIR_MULTIPART_INVALID')
    const form = parts.form()
    if (form instanceof Mismatch) throw new InvalidBodyError(form.failures('', 'body', ''), invalidBodyStatus)
    return form as T
  }
}

/** Keeps the parts that are declared, and discards the others as they arrive. */
class DeclaredParts implements PartReceiver {
  readonly #schema: ObjectSchema<unknown>
  readonly #fileFields: FileFields
  readonly #isStrict: boolean
  readonly #memory: MemoryParts
  readonly #files = new Map<string, UploadedFile[]>()
  /** The first mistake of each part, by name. */
  readonly #failures = new Map<string, Mismatch>()
  #head: PartHead | null = null
  #name = ''
  /** The part is a file with these rules; null: a field. */
  #file: FileField | null = null
  #isKept = false
  /** Of the file, so far. */
  #size = 0

  constructor(schema: ObjectSchema<unknown>, files: FileFields, limits: FormLimits, isStrict: boolean) {
    this.#schema = schema
    this.#fileFields = files
    this.#isStrict = isStrict
    this.#memory = new MemoryParts(limits)
  }

  begin(head: PartHead): boolean {
    const name = keyOf(head.name)
    const hasFile = isFile(head)
    const file = this.#fileFields[name] ?? null
    this.#head = head
    this.#name = name
    this.#file = file
    this.#size = 0
    this.#isKept = hasFile ? file !== null : this.#schema.properties.has(name)
    if (!this.#isKept) this.#refuse(name, hasFile)
    else {
      if (file !== null && !this.#isNameless) this.#checkFile(file)
      this.#memory.begin(head)
    }
    return true
  }

  data(buffer: Buffer, start: number, end: number): boolean {
    if (!this.#isKept) return true
    const file = this.#file
    if (file !== null) {
      if (this.#size === 0 && this.#isNameless) this.#checkFile(file) // it is a file, although it has no name
      this.#size += end - start
      if (this.#size > file.maxBytes) throw new PayloadTooLargeError(`${this.#name}.maxBytes`, file.maxBytes)
    }
    return this.#memory.data(buffer, start, end)
  }

  end(): boolean {
    if (!this.#isKept) return true
    if (this.#file === null) return this.#memory.end()
    if (this.#size === 0 && this.#isNameless) return true // what clients send when no file was chosen
    this.#memory.end()
    const name = this.#name
    const files = this.#files.get(name)
    const one = this.#memory.lastFile!
    if (files === undefined) this.#files.set(name, [one])
    else files.push(one)
    return true
  }

  async abort(): Promise<void> {}

  /** Browsers send an empty file name if no file was chosen, and Node sends none. */
  get #isNameless(): boolean {
    return (this.#head!.fileName ?? '') === ''
  }

  #checkFile(file: FileField): void {
    checkFile(this.#name, file, this.#head!, this.#files.get(this.#name)?.length ?? 0)
  }

  /** A part that is not declared, or is declared to be of the other kind. */
  #refuse(name: string, hasFile: boolean): void {
    const isDeclared = hasFile ? this.#schema.properties.has(name) : this.#fileFields[name] !== undefined
    if (!isDeclared && !this.#isStrict) return
    if (this.#failures.size >= MAX_MISMATCHES || this.#failures.has(name)) return
    const expected = isDeclared ? (hasFile ? 'a string, not a file' : 'a file, with a file name') : 'no part of this name'
    this.#failures.set(name, new Mismatch(expected, hasFile ? 'a file' : 'a string', [shorten(name)]))
  }

  /** What the handler gets, or everything that is wrong. */
  form(): object | Mismatch {
    const fields = this.#schema.fromForm(foldForm(this.#memory.fieldPairs, new Folded()))
    const files: Record<string, UploadedFile | UploadedFile[]> = {}
    const found = [...this.#failures.values()]
    if (fields instanceof Mismatch)
      for (const one of fields.all()) if (found.length < MAX_MISMATCHES && !this.#failures.has(String(one.path[0]))) found.push(one)
    for (const [name, { count, isOptional }] of Object.entries(this.#fileFields)) {
      const given = this.#files.get(name)
      if (given !== undefined) files[name] = count === null ? given[0]! : given
      else if (!isOptional && found.length < MAX_MISMATCHES && !this.#failures.has(name))
        found.push(new Mismatch('a file', undefined, [name]))
    }
    return found.length > 0 ? Mismatch.ofAll(found) : { fields, files }
  }
}

/** As in url-encoded forms, `[]` at the end of a name only states that there may be several. */
function keyOf(name: string): string {
  return name.endsWith('[]') ? name.slice(0, -2) : name
}

/**
 * A multipart form, read into memory as it arrives: `multipart({ fields: { title: t.string }, files: { photo: file({ maxBytes: 1_000_000 }) } })`.
 * The handler gets `{ fields, files }`. Parts that are not declared are dropped without being kept, or refused by `.strict()`. At most
 * `maxParts` parts, by default 200; the whole form is limited by `maxRequestBodySize`.
 *
 * A file that its rules refuse ends the form: 415 for its type or extension, 413 for its size or their number. Fields that do not fit, and
 * files that are missing, are listed together: 400, or the server's `invalidBodyStatus`.
 * @throws WEIR_OPTION_INVALID
 */
export function multipart<const F extends Shape = Record<never, never>, const G extends FileFields = Record<never, never>>(
  shape: MultipartShape<F, G>,
): MultipartBody<MultipartOf<F, G>> {
  checkNames('multipart()', shape, OPTION_NAMES)
  const { fields = {}, files = {} } = shape
  checkNames('multipart(): fields', fields, Object.keys(fields))
  checkNames('multipart(): files', files, Object.keys(files))
  for (const [name, one] of Object.entries<unknown>(fields))
    if (one instanceof FileField) throw invalid('multipart()', `fields: ${JSON.stringify(name)} is a file: write it under files`)
  const schema = objectOf(fields)
  const known: Record<string, FileField> = Object.create(null)
  for (const [name, one] of Object.entries<unknown>(files)) {
    if (!(one instanceof FileField))
      throw invalid('multipart()', `files: ${JSON.stringify(name)} is ${shown(one)}, not what file() returns`)
    if (name === '__proto__') throw invalid('multipart()', 'files: "__proto__" would be a prototype')
    if (schema.properties.has(name)) throw invalid('multipart()', `${JSON.stringify(name)} is both a field and a file`)
    known[name] = one
  }
  const limits = formLimits('multipart()', shape, DEFAULT_FORM_LIMITS)
  return new MultipartBody<MultipartOf<F, G>>(schema, Object.freeze(known), limits, false)
}
