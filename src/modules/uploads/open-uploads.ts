// How many unfinished uploads each client has, and how much room they may take: a hostile client must not fill the disk.

import { LimitError } from '../../base/errors.ts'

interface OpenUpload {
  readonly client: string
  readonly bytes: number
}

interface Share {
  count: number
  bytes: number
}

/** Of one process. It learns of those of others from the storage. */
export class OpenUploads {
  readonly #maxUploads: number
  readonly #maxBytes: number
  readonly #open = new Map<string, OpenUpload>()
  readonly #shares = new Map<string, Share>()

  constructor(maxUploads: number, maxBytes: number) {
    this.#maxUploads = maxUploads
    this.#maxBytes = maxBytes
  }

  /** @param bytes that it may take at most @throws WEIR_UPLOADS_OPEN */
  add(id: string, client: string, bytes: number): void {
    const share = this.#shares.get(client)
    const count = (share?.count ?? 0) + 1
    const total = (share?.bytes ?? 0) + bytes
    if (count > this.#maxUploads) throw new LimitError('WEIR_UPLOADS_OPEN', 'maxOpenUploads', this.#maxUploads, count)
    if (total > this.#maxBytes) throw new LimitError('WEIR_UPLOADS_OPEN', 'maxOpenBytes', this.#maxBytes, total)
    this.note(id, client, bytes)
  }

  /** Counts an upload that exists already, unless it is counted. */
  note(id: string, client: string, bytes: number): void {
    if (this.#open.has(id)) return
    this.#open.set(id, { client, bytes })
    const share = this.#shares.get(client)
    if (share === undefined) this.#shares.set(client, { count: 1, bytes })
    else {
      share.count++
      share.bytes += bytes
    }
  }

  delete(id: string): void {
    const one = this.#open.get(id)
    if (one === undefined) return
    this.#open.delete(id)
    const share = this.#shares.get(one.client)!
    share.count--
    share.bytes -= one.bytes
    if (share.count === 0) this.#shares.delete(one.client)
  }

  /** Forgets those that another process has ended. @param known ids that the storage has */
  keepOnly(known: ReadonlySet<string>, than: ReadonlySet<string>): void {
    for (const id of than) if (!known.has(id)) this.delete(id)
  }

  /** The ids that are counted now. */
  get ids(): ReadonlySet<string> {
    return new Set(this.#open.keys())
  }
}
