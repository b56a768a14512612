// Files of a storage, which are open for as long as a client likes.

import { constants } from 'node:fs'

import { OpenFile } from '../../http/disk/open-file.ts'
import { FileSource } from '../../http/files/file-source.ts'

/**
 * An open file for a slow client. While it is not read or written, its descriptor may be given to another file, so that slow clients do not use up
 * the descriptors of the process. All promises reject with the error of the system. Close it in any case.
 */
export interface PatientFile {
  /** @param length in bytes */
  truncate(length: number): Promise<void>
  /** Writes all of `bytes`. @param position in the file */
  write(bytes: Uint8Array, position: number): Promise<void>
  /** Flushes what was written to the disk, without times and permissions. */
  syncData(): Promise<void>
  /** All bytes of a file that was opened for reading, no faster than they are asked for. The file is closed afterwards. */
  bytes(): AsyncIterable<Uint8Array>
  /** Closes the file. Rejects if what was written may be lost: network file systems report a full disk here. */
  finish(): Promise<void>
  /** Closes the file. May be called again. Never rejects. */
  close(): Promise<void>
}

/**
 * Opens a file. Waits while too many files are open.
 * @param flags of `fs.constants`
 * @param mode of a new file
 * @throws (rejects) the error of the system. Later also if the file was replaced while its descriptor was away
 */
export async function openFile(path: string, flags: number, mode?: number): Promise<PatientFile> {
  const file = await OpenFile.open(path, flags, mode)
  const isRead = (flags & (constants.O_WRONLY | constants.O_RDWR)) === 0
  try {
    const size = isRead ? Number((await file.stat()).size) : 0
    file.mayWait()
    return new Patient(file, size)
  } catch (error) {
    await file.close()
    throw error
  }
}

class Patient implements PatientFile {
  readonly #file: OpenFile
  readonly #size: number

  constructor(file: OpenFile, size: number) {
    this.#file = file
    this.#size = size
  }

  truncate(length: number): Promise<void> {
    return this.#file.truncate(length)
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    const file = this.#file
    for (let at = 0; at < bytes.length; ) {
      const written = await new Promise<number>((resolve, reject) => {
        file.write(bytes, at, bytes.length - at, position + at, (error, count) => (error === null ? resolve(count) : reject(error)))
      })
      if (written === 0) throw new Error('the disk accepts no more bytes')
      at += written
    }
  }

  syncData(): Promise<void> {
    return this.#file.syncData()
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    try {
      if (this.#size > 0) yield* new FileSource(this.#file, [{ start: 0, end: this.#size - 1 }])
    } finally {
      await this.#file.close()
    }
  }

  finish(): Promise<void> {
    return this.#file.finish()
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
