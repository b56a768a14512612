// Where files of a form are kept if they are not read into memory.

import type { Readable } from 'node:stream'
import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { UploadedFileInfo } from './multipart-stream.ts'

/**
 * A saved file.
 * @example
 * const shown = ({ fileName, size }: SavedFile) => `${fileName}: ${size} bytes`
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export interface SavedFile {
  /** Path of the file: the directory and `fileName`. */
  readonly path: string
  /** Its name in the directory. It has a suffix if the client's name was taken. */
  readonly fileName: string
  /** The name that the client has sent, unchanged and untrusted; null if it sent none. */
  readonly clientName: string | null
  /** Size in bytes. */
  readonly size: number
  /** Digest in hexadecimal; null unless `hash` was set. */
  readonly hash: string | null
  /**
   * The type that its first bytes show, whatever the client states; null without `types`, and for a type that bytes cannot show, such as `text/csv`.
   * Formats may begin alike, such as all that are ZIP files: it is then the first one that `types` allows.
   */
  readonly detectedType: string | null
}

/** Keeps the files of a form outside of memory, for `file({ saveTo })`. */
export interface FileStore<T = unknown> {
  /**
   * Called when the head of the file has arrived, to save its content. It must begin to read `content` before its first `await`, and leave nothing
   * behind if it rejects. `saveTo` and `saveToS3` are such functions. What it resolves with is what the handler gets.
   */
  save(info: UploadedFileInfo, content: Readable): Promise<T>
  /** Called for each saved file of a form that is refused later. If it fails, the process emits a warning. */
  discard(saved: T): unknown
}

/** @throws WEIR_OPTION_INVALID */
export function checkedStore(store: string | FileStore, owner: string): string | FileStore {
  if (typeof store === 'string' && store !== '') return store
  const { save, discard } = Object(store) as Partial<FileStore>
  if (typeof save === 'function' && typeof discard === 'function') return store
  throw invalid(owner, `saveTo is ${shown(store)}, neither a directory nor an object with save(info, content) and discard(saved)`)
}
