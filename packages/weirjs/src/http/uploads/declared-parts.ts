// Keeps the parts of a form that its route declares, and drops or refuses everything else as it arrives.

import { Buffer } from 'node:buffer'
import { emptyRecord } from '../../base/empty-record.ts'
import { FileRefusedError, InvalidBodyError, PayloadTooLargeError, WeirError } from '../../base/errors.ts'
import { fitsTypes, SIGNATURE_BYTES, typeShown, whatIs } from '../../formats/file-signatures.ts'
import { type FormRecord, foldForm } from '../../formats/form.ts'
import { BYTES_TYPE, isInRange, parseMediaType } from '../../formats/media-type.ts'
import { isFile, type PartHead } from '../../formats/part-head.ts'
import type { ObjectSchema } from '../../schema/composite.ts'
import { MAX_MISMATCHES, Mismatch, shorten } from '../../schema/mismatch.ts'
import type { RequestBody } from '../body/body.ts'
import type { BodySettings } from '../body/body-reader.ts'
import { checkExtension } from '../multipart/file-extensions.ts'
import type { FileField } from '../multipart/file-field.ts'
import type { SavedFile } from '../multipart/file-store.ts'
import type { FileFields, MultipartBody } from '../multipart/form-body.ts'
import { MemoryParts } from '../multipart/multipart-form.ts'
import { type MultipartReading, type PartReceiver, readMultipart } from '../multipart/multipart-reading.ts'
import { SavedParts } from './saved-parts.ts'

const MEMBER = 'args.body'
const NOTHING = Buffer.alloc(0)

/** Like a record without a prototype, but cheaper: see `emptyRecord`. */
const Folded = emptyRecord<FormRecord>()

/** @throws WEIR_MULTIPART_INVALID, InvalidBodyError, FileRefusedError, PayloadTooLargeError */
export async function readDeclared(
  declared: MultipartBody,
  contentType: string,
  body: RequestBody,
  { invalidBodyStatus }: BodySettings,
): Promise<object> {
  let parts!: DeclaredParts
  const isValid = await readMultipart(contentType, body, MEMBER, declared.limits, (reading) => {
    parts = new DeclaredParts(declared, reading)
    return parts
  })
  if (!isValid) throw new WeirError('WEIR_MULTIPART_INVALID')
  const form = parts.form()
  if (form instanceof Mismatch) {
    await parts.discard()
    throw new InvalidBodyError(form.failures('', 'body', ''), invalidBodyStatus)
  }
  return form
}

class DeclaredParts implements PartReceiver {
  readonly #schema: ObjectSchema<unknown>
  readonly #fileFields: FileFields
  readonly #isStrict: boolean
  readonly #memory: MemoryParts
  /** The files that are saved outside of memory; null if there are none. */
  readonly #saved: SavedParts | null
  readonly #files = new Map<string, unknown[]>()
  /** The first mistake of each part, by name. */
  readonly #failures = new Map<string, Mismatch>()
  #head: PartHead | null = null
  #name = ''
  /** The part is a file with these rules; null: a field. */
  #file: FileField | null = null
  #isKept = false
  /** The file goes elsewhere while it arrives. */
  #isSaving = false
  /** Of the file, so far. */
  #size = 0
  /** The first bytes of the file, until they are checked; null if they need not be. */
  #first: Buffer | null = null
  /** What they have shown. */
  #detectedType: string | null = null

  constructor({ fields, files, limits, isStrict }: MultipartBody, reading: MultipartReading) {
    this.#schema = fields
    this.#fileFields = files
    this.#isStrict = isStrict
    this.#memory = new MemoryParts(limits)
    this.#saved = Object.values(files).some(({ saveTo }) => saveTo !== null) ? new SavedParts(reading, limits) : null
  }

  begin(head: PartHead): boolean {
    const name = keyOf(head.name)
    const hasFile = isFile(head)
    const file = this.#fileFields[name] ?? null
    this.#head = head
    this.#name = name
    this.#file = file
    this.#size = 0
    this.#isSaving = false
    this.#detectedType = null
    this.#first = file !== null && file.types !== null ? NOTHING : null
    this.#isKept = hasFile ? file !== null : this.#schema.properties.has(name)
    if (!this.#isKept) this.#refuse(name, hasFile)
    else if (file === null) this.#memory.begin(head)
    else if (!this.#isNameless) this.#beginFile(file)
    return true
  }

  data(buffer: Buffer, start: number, end: number): boolean {
    if (!this.#isKept) return true
    const file = this.#file
    if (file !== null) {
      if (this.#size === 0 && this.#isNameless) this.#beginFile(file) // it is a file, although it has no name
      this.#size += end - start
      if (this.#size > file.maxSize) throw new PayloadTooLargeError(`${this.#name}.maxSize`, file.maxSize)
      if (this.#first !== null) {
        this.#first = Buffer.concat([this.#first, buffer.subarray(start, Math.min(end, start + SIGNATURE_BYTES - this.#first.length))])
        if (this.#first.length === SIGNATURE_BYTES) this.#checkBytes(file)
      }
    }
    return this.#isSaving ? this.#saved!.data(buffer, start, end) : this.#memory.data(buffer, start, end)
  }

  end(): boolean {
    if (!this.#isKept) return true
    if (this.#file === null) return this.#memory.end()
    if (this.#size === 0 && this.#isNameless) return true // what clients send when no file was chosen
    this.#checkBytes(this.#file)
    if (this.#isSaving) return this.#saved!.end()
    this.#memory.end()
    this.#add(this.#memory.lastFile!)
    return true
  }

  async abort(error: Error): Promise<void> {
    await this.#saved?.abort(error)
  }

  /** Removes what has been saved elsewhere. */
  async discard(): Promise<void> {
    await this.#saved?.discard()
  }

  #add(one: unknown): void {
    const files = this.#files.get(this.#name)
    if (files === undefined) this.#files.set(this.#name, [one])
    else files.push(one)
  }

  /** Browsers send an empty file name if no file was chosen, and Node sends none. */
  get #isNameless(): boolean {
    return (this.#head!.fileName ?? '') === ''
  }

  #beginFile(file: FileField): void {
    const head = this.#head!
    checkFile(this.#name, file, head, this.#files.get(this.#name)?.length ?? 0)
    this.#isSaving = file.saveTo !== null
    if (file.saveTo === null) this.#memory.begin(head)
    else if (typeof file.saveTo !== 'string') this.#saved!.begin(head, file.saveTo, (saved) => this.#add(saved))
    else this.#saved!.begin(head, file.saveTo, (saved) => this.#add({ ...(saved as SavedFile), detectedType: this.#detectedType }))
  }

  /** The first bytes have arrived, or the file is shorter. @throws FileRefusedError */
  #checkBytes({ types }: FileField): void {
    const first = this.#first
    if (first === null || types === null) return
    this.#first = null
    if (!fitsTypes(first, types, statedType(this.#head!)))
      throw new FileRefusedError('WEIR_FILE_MAGIC', `${this.#name}: ${whatIs(first)}`, types)
    this.#detectedType = typeShown(first, types)
  }

  /** A part that is not declared, or is declared to be of the other kind. */
  #refuse(name: string, hasFile: boolean): void {
    const isDeclared = hasFile ? this.#schema.properties.has(name) : this.#fileFields[name] !== undefined
    if (!isDeclared && !this.#isStrict) return
    if (this.#failures.size >= MAX_MISMATCHES || this.#failures.has(name)) return
    const expected = isDeclared ? (hasFile ? 'a string, not a file' : 'a file, with a file name') : 'no part of this name'
    this.#failures.set(name, new Mismatch(expected, hasFile ? 'a file' : 'a string', [shorten(name)]))
  }

  /** Returns what the handler gets, or everything that is wrong. */
  form(): object | Mismatch {
    const fields = this.#schema.fromForm(foldForm(this.#memory.fieldPairs, new Folded()))
    const files: Record<string, unknown> = {}
    const found = [...this.#failures.values()]
    if (fields instanceof Mismatch)
      for (const one of fields.all()) if (found.length < MAX_MISMATCHES && !this.#failures.has(String(one.path[0]))) found.push(one)
    for (const [name, { count, isOptional }] of Object.entries(this.#fileFields)) {
      const given = this.#files.get(name)
      if (given !== undefined) files[name] = count === null ? given[0] : given
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

/** Without parameters; null if what the client states is not a type. */
function statedType({ contentType }: PartHead): string | null {
  return parseMediaType(contentType ?? BYTES_TYPE)?.type ?? null
}

/** Refuses a file by its head. @param before how many files of that name have been accepted @throws FileRefusedError, PayloadTooLargeError */
function checkFile(name: string, { types, extensions, count }: FileField, head: PartHead, before: number): void {
  if (before >= (count ?? 1)) throw new PayloadTooLargeError(`${name}.count`, count ?? 1)
  if (types !== null) {
    const essence = statedType(head)
    if (essence === null || !types.some((range) => isInRange(essence, range)))
      throw new FileRefusedError('WEIR_FILE_TYPE', `${name}: ${JSON.stringify((head.contentType ?? BYTES_TYPE).slice(0, 100))}`, types)
  }
  if (extensions !== null) checkExtension(head.fileName ?? '', extensions, name)
}
