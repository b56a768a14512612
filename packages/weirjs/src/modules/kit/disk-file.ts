// Files that a module sends again and again, with the conditions and ranges of each client.

import type { BigIntStats } from 'node:fs'
import { exchangeOf } from '../../http/exchange.ts'
import { type FoundFile, openFile, prepareOpenFile, typeOf } from '../../http/files/file.ts'
import { FileSource } from '../../http/files/file-source.ts'
import { MemoryFile } from '../../http/files/memory-file.ts'
import { settledAt } from '../../http/files/representation.ts'
import { type HttpResponse, outgoingOf } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'

/**
 * A regular file that is open for reading. The file that is described is the file that is sent, even if another file takes its name. Send it, or
 * close it.
 */
export class DiskFile {
  readonly #found: FoundFile

  private constructor(found: FoundFile) {
    this.#found = found
  }

  /**
   * Opens a regular file.
   * @returns the status of the response if that fails: 404 if there is none, 403 if it may not be read
   * @throws (rejects) other errors of the file system
   */
  static async open(path: string): Promise<DiskFile | 403 | 404> {
    const found = await openFile(path)
    return typeof found === 'number' ? found : new DiskFile(found)
  }

  /** The Content-Type for the extension of a file's name; `application/octet-stream` for one that is not known. */
  static typeOf(name: string): Promise<string> {
    return typeOf(name)
  }

  /** The stats of the file when it was opened. */
  get stats(): BigIntStats {
    return this.#found.stats
  }

  /** In bytes. */
  get size(): number {
    return this.#found.state.size
  }

  /** Milliseconds since 1970: from then on, a second change would have a different time, so that its state identifies its content. */
  get settledAt(): number {
    return settledAt(this.#found.state)
  }

  /** Its bytes. It stays open. */
  read(): Promise<Uint8Array> {
    return new FileSource(this.#found.file, [{ start: 0, end: this.size - 1 }]).collect()
  }

  /**
   * The file from memory, for any number of responses. Its fields are made once.
   * @param bytes of `read`
   * @param facts what is sent with it. `coding` is the Content-Encoding; `variesByEncoding`: another client may get another version; `fields`: others,
   *   unless the response has them already: name, value, name, value
   * @throws WEIR_RESPONSE_HEADER_SYNTAX for a fact that cannot be sent
   */
  inMemory(bytes: Uint8Array, facts: FileFacts): SentFile {
    return sentFrom(new MemoryFile(bytes, this.#found.state, { ...facts, isDated: true }))
  }

  /**
   * The same for bytes that were never in a file, and do not change. They have no Last-Modified.
   * @param tag the ETag: no other content of the file has it
   */
  static fixed(bytes: Uint8Array, tag: string, facts: FileFacts): SentFile {
    return sentFrom(new MemoryFile(bytes, { size: bytes.byteLength, changedMs: 0, tag }, { ...facts, isDated: false }))
  }

  /**
   * Sends it by `session.response`, as `response.file` does, and closes it.
   * @throws (rejects) WEIR_RESPONSE_HEADER_SYNTAX; errors of the file system
   */
  async send(session: HttpSession, options: { readonly contentType: string; readonly cacheControl?: string }): Promise<HttpResponse> {
    const { request, response } = exchangeOf(session)
    await prepareOpenFile(request, outgoingOf(response), { path: '', options }, this.#found)
    return response
  }

  close(): Promise<void> {
    return this.#found.file.close()
  }
}

interface FileFacts {
  readonly contentType: string
  readonly cacheControl: string | null
  readonly coding: string | null
  readonly variesByEncoding: boolean
  readonly fields: readonly string[]
}

interface SentFile {
  send(session: HttpSession): HttpResponse | Promise<HttpResponse>
}

function sentFrom(memory: MemoryFile): SentFile {
  return {
    send({ request, response }) {
      const sending = memory.send(request, outgoingOf(response))
      return sending === undefined ? response : sending.then(() => response)
    },
  }
}
