// Saves the files of a declared form outside of memory while they arrive, and removes them if the form is refused later.

import type { Buffer } from 'node:buffer'
import { unlink } from 'node:fs/promises'
import type { Readable } from 'node:stream'

import { isInstance } from '../../base/errors.ts'
import type { PartHead } from '../../formats/part-head.ts'
import type { FileStore, SavedFile } from '../multipart/file-store.ts'
import type { FormLimits } from '../multipart/form-limits.ts'
import type { MultipartReading } from '../multipart/multipart-reading.ts'
import { CallbackParts, type UploadedFileInfo } from '../multipart/multipart-stream.ts'
import { saveUpload } from './save-upload.ts'

export class SavedParts {
  readonly #parts: CallbackParts
  /** Removes what has been saved. */
  readonly #discards: (() => unknown)[] = []
  #store: FileStore | null = null
  #onSaved: (saved: unknown) => void = () => {}

  constructor(reading: MultipartReading, limits: FormLimits) {
    this.#parts = new CallbackParts(reading, { onFile: (info, content) => this.#save(info, content) }, limits)
  }

  /** @param onSaved called before the next part begins */
  begin(head: PartHead, place: string | FileStore, onSaved: (saved: unknown) => void): void {
    this.#store = typeof place === 'string' ? (directoryStore(place) as FileStore) : place
    this.#onSaved = onSaved
    this.#parts.begin(head)
  }

  data(buffer: Buffer, start: number, end: number): boolean {
    return this.#parts.data(buffer, start, end)
  }

  end(): boolean {
    return this.#parts.end()
  }

  async abort(error: Error): Promise<void> {
    await this.#parts.abort(error)
    await this.discard()
  }

  /** The form is refused. Never rejects. */
  async discard(): Promise<void> {
    for (const discard of this.#discards.splice(0)) {
      try {
        await discard()
      } catch (error) {
        process.emitWarning(isInstance(error, Error) ? error : `a file of a refused form was not removed: ${String(error)}`)
      }
    }
  }

  async #save(info: UploadedFileInfo, content: Readable): Promise<void> {
    const store = this.#store!
    const onSaved = this.#onSaved
    const saved = await store.save(info, content)
    this.#discards.push(() => store.discard(saved))
    onSaved(saved)
  }
}

function directoryStore(directory: string): FileStore<SavedFile> {
  return { save: (info, content) => saveUpload(directory, info, content, {}), discard: ({ path }) => unlink(path) }
}
