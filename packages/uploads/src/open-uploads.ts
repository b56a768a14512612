// Counts the unfinished uploads of each client, and the room that they may take, so that a hostile client cannot fill the disk.

import { LimitError } from 'weirjs'

/** The open uploads of one process. It learns of other processes' uploads from the storage. */
export class OpenUploads {
  readonly #maxUploads: number
  readonly #maxBytes: number
  /** The client of each upload. */
  readonly #clients = new Map<string, string>()
  /** The bytes that each upload of a client may take; Infinity where neither the upload nor the module has a limit. */
  readonly #shares = new Map<string, Map<string, number>>()

  constructor(maxUploads: number, maxBytes: number) {
    this.#maxUploads = maxUploads
    this.#maxBytes = maxBytes
  }

  /** @param bytes the most that it may take @throws WEIR_UPLOADS_OPEN */
  add(id: string, client: string, bytes: number): void {
    const share = this.#shares.get(client)
    const count = (share?.size ?? 0) + 1
    if (count > this.#maxUploads) throw new LimitError('WEIR_UPLOADS_OPEN', 'maxOpenUploads', this.#maxUploads, count)
    let total = bytes
    for (const taken of share?.values() ?? []) total += taken
    if (total > this.#maxBytes) throw new LimitError('WEIR_UPLOADS_OPEN', 'maxOpenSize', this.#maxBytes, total)
    this.note(id, client, bytes)
  }

  /** Counts an upload that exists already, unless it is counted. */
  note(id: string, client: string, bytes: number): void {
    if (this.#clients.has(id)) return
    this.#clients.set(id, client)
    const share = this.#shares.get(client)
    if (share === undefined) this.#shares.set(client, new Map([[id, bytes]]))
    else share.set(id, bytes)
  }

  delete(id: string): void {
    const client = this.#clients.get(id)
    if (client === undefined) return
    this.#clients.delete(id)
    const share = this.#shares.get(client)!
    share.delete(id)
    if (share.size === 0) this.#shares.delete(client)
  }

  /** Forgets those that another process has ended. @param known ids of unfinished uploads that the storage has @param before ids that were counted before it was asked */
  keepOnly(known: ReadonlySet<string>, before: readonly string[]): void {
    for (const id of before) if (!known.has(id)) this.delete(id)
  }

  /** The ids that are counted now. */
  get ids(): readonly string[] {
    return [...this.#clients.keys()]
  }
}
