// The files that a part of a form may contain.

import { alias, count as countOf, list, readBy, size } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import type { Size } from '../../base/size.ts'
import { rangeOf } from '../body/plain-body.ts'
import { extensionsOf } from './allowed-extensions.ts'
import { checkedStore, type FileStore, type SavedFile } from './file-store.ts'
import type { UploadedFile } from './multipart-form.ts'

/**
 * What `file` accepts. A limit of N allows N and refuses N + 1.
 * @example
 * const rules: FileRules = { maxSize: '5MiB', types: ['image/*'] }
 * const body = multipart({ files: { photo: file(rules) } })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export interface FileRules {
  /** Size of each file. Default: limited only by `maxRequestBodySize`. When exceeded: 413. */
  readonly maxSize?: Size
  /** @deprecated another name of `maxSize` */
  readonly maxBytes?: Size
  /**
   * Content types, or ranges such as `image/*`, without parameters: of the type that the client states, and of the type that the first bytes show.
   * Types without recognizable bytes, such as `text/csv` and `image/svg+xml`, count as stated, and are never in the ranges `image/*`, `audio/*`,
   * `video/*` and `font/*`. Default: any. Others: 415.
   */
  readonly types?: readonly string[]
  /** Extensions of the client's file name: `['.png', 'jpg']`. The case does not matter, and `''` is a name without one. Default: any. Others: 415. */
  readonly extensions?: readonly string[]
  /** The handler gets an array of one file up to this number. Default: one file, and no array. When exceeded: 413. */
  readonly count?: number
  /**
   * A directory, which must exist, or a store such as `s3Files` of `@weirjs/s3`. The file goes there while it arrives, and is never in memory as a
   * whole; the handler gets a `SavedFile`, or what the store has made. If the form is refused later, because of a field or another file or because
   * the client has left, the saved file is removed. Default: the file is kept in memory.
   */
  readonly saveTo?: string | FileStore
}

/** @internal */
export const FILE_FIELD_RULES = rules<FileRules>('file()')({
  maxSize: size().also(Number.POSITIVE_INFINITY).or(Number.POSITIVE_INFINITY),
  maxBytes: alias('maxSize'),
  types: readBy((types: readonly string[], owner, option) => {
    list().read(types, { owner, option })
    return Object.freeze(types.map((type) => rangeOf(owner, type)))
  }).orNull(),
  extensions: readBy((extensions: readonly string[], owner) => Object.freeze(extensionsOf(owner, extensions))).orNull(),
  count: countOf({ least: 1 }).orNull(),
  saveTo: readBy(checkedStore).orNull('memory'),
})

/** One or several files of a multipart form, which the handler gets as `T`. Made by `file`. It never changes. */
export class FileField<T = unknown> {
  /** Never set: it only carries the type. */
  declare readonly output?: T
  /** In bytes; `Infinity` if only the whole form is limited. */
  readonly maxSize: number
  /** Null: any. */
  readonly types: readonly string[] | null
  /** In lower case, with the dot. Null: any. */
  readonly extensions: readonly string[] | null
  /** Most files. Null: one, and the handler gets no array. */
  readonly count: number | null
  /** Null: memory. */
  readonly saveTo: string | FileStore | null
  readonly isOptional: boolean

  /** @internal */
  constructor(rules: Omit<FileField, 'output' | 'optional'>) {
    this.maxSize = rules.maxSize
    this.types = rules.types
    this.extensions = rules.extensions
    this.count = rules.count
    this.saveTo = rules.saveTo
    this.isOptional = rules.isOptional
    Object.freeze(this)
  }

  /** May be missing: the handler then gets nothing under this name. */
  optional(): FileField<T | undefined> {
    return new FileField<T | undefined>({ ...this, isOptional: true })
  }
}

/** What the handler gets for a file. */
type KeptAs<R> = R extends { readonly saveTo: string }
  ? SavedFile
  : R extends { readonly saveTo: { save(...args: never): Promise<infer T> } }
    ? T
    : UploadedFile

/**
 * One file of a multipart form, or several with `count`. It is required unless it is `.optional()`. If no file was chosen, browsers send an
 * empty one without a name, which counts as none.
 * @throws WEIR_OPTION_INVALID
 * @example
 * const body = multipart({ files: { photo: file({ maxSize: '5MiB', types: ['image/*'] }) } })
 * server.mapPost('/photos', { body }, ({ body }) => body.files.photo.content.length)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export function file<const R extends FileRules>(rules?: R): FileField<R extends { readonly count: number } ? KeptAs<R>[] : KeptAs<R>>
export function file(given: FileRules = {}): FileField {
  return new FileField({ ...FILE_FIELD_RULES.read(given), isOptional: false })
}
