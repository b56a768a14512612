// The life of an upload in any protocol: it is created, appended to, completed or cancelled, and it expires.
//
//   open ── all bytes are there ──▶ received ── onComplete has succeeded ──▶ complete
//
// Each step is durable before the client is told about it, and only the holder of the upload's lock takes it.

import { createHash } from 'node:crypto'
import { HttpResponse, type HttpSession, PayloadTooLargeError, WeirError } from 'weirjs'
import { principalKeyOf } from 'weirjs/auth'
import { type Clock, exchange, FairQueue, invalid, isInstance, networkOf, ownText } from 'weirjs/kit'

import { HeldUpload, type UploadHome } from './held-upload.ts'
import { MemoryLocks } from './memory-locks.ts'
import type { OpenUploads } from './open-uploads.ts'
import { hidingIds, stored, unavailable } from './storage-errors.ts'
import type { UploadLocks } from './upload-locks.ts'
import { metadataRecord } from './upload-metadata.ts'
import { isUploadId, newUploadId, type UploadRecord } from './upload-record.ts'
import type { OnComplete, UploadsOptions } from './upload-settings.ts'
import type { StoredUpload, UploadStorage } from './upload-storage.ts'

const OWNER = 'uploads'
/** How long a request waits until another one has released the upload. Longer than the lease of a process that has died. */
const WAIT_MS = 15_000
/** How many requests of this process wait for one upload. */
const MOST_WAITING = 8
/** How many records are looked up at a time. Clients that guess ids, or ask again and again, decide how many there are. */
const MOST_LOOKUPS = 64
/** `POST /files`, without a host before the path. */
const OF_ANY_HOST = /^\S+ \//

/** The upload that a client wants to create. */
interface Wish {
  /** In bytes; null if the client does not know yet. */
  readonly length: number | null
  readonly metadata: string
  readonly concat: string | null
}

export class UploadCore implements UploadHome {
  readonly storage: UploadStorage
  readonly maxSize: number
  readonly types: readonly string[] | null
  readonly lifetimeMs: number
  readonly onComplete: OnComplete
  readonly clock: Clock
  onUntouched: () => void = () => {}
  readonly #onCreate: UploadsOptions['onCreate'] | undefined
  readonly #locks: UploadLocks
  /** Before the locks that other processes share: of all requests for an upload, one asks those. */
  readonly #turns = new MemoryLocks(MOST_WAITING)
  readonly #maxMetadataSize: number
  readonly #open: OpenUploads
  readonly #lookUp = FairQueue.semaphore(MOST_LOOKUPS)
  /** The first listing of the uploads in the storage; null until it is needed. */
  #counted: Promise<void> | null = null

  constructor(
    storage: UploadStorage,
    locks: UploadLocks,
    open: OpenUploads,
    limits: {
      readonly maxSize: number
      readonly types: readonly string[] | null
      readonly maxMetadataSize: number
      readonly lifetimeMs: number
    },
    { onComplete, onCreate }: { readonly onComplete: OnComplete; readonly onCreate: UploadsOptions['onCreate'] | undefined },
    clock: Clock,
  ) {
    this.storage = storage
    this.#locks = locks
    this.#open = open
    this.maxSize = limits.maxSize
    this.types = limits.types
    this.#maxMetadataSize = limits.maxMetadataSize
    this.lifetimeMs = limits.lifetimeMs
    this.onComplete = onComplete
    this.#onCreate = onCreate
    this.clock = clock
  }

  /** @throws PayloadTooLargeError, WEIR_UPLOADS_OPEN, WEIR_STORE_UNAVAILABLE, WEIR_OPTION_INVALID, and what `onCreate` throws */
  async create(session: HttpSession, { length, metadata, concat }: Wish): Promise<UploadRecord> {
    this.checkLength(length)
    this.checkMetadata(metadata)
    const result: unknown = await this.#onCreate?.({ size: length, metadata: metadataRecord(metadata) }, session)
    if (result === false || isInstance(result, HttpResponse))
      throw invalid('uploads()', 'onCreate has returned what does not refuse an upload: throw an error, such as new HttpError(403, …)')
    const owner = ownerOf(session)
    const id = newUploadId()
    const now = this.clock.wallTime()
    const record: UploadRecord = {
      id,
      createdAt: now,
      expiresAt: now + this.lifetimeMs,
      length,
      owner,
      place: ownText(placeOf(session)),
      metadata,
      concat,
      stage: 'open',
      keptAt: null,
    }
    this.#counted ??= this.#count()
    await exchange(session).inTurn(this.#counted)
    // The address may be a part of the head.
    this.#open.add(id, owner ?? ownText(`address ${networkOf(session.clientAddress)}`), length ?? this.maxSize)
    try {
      await stored(this.storage.create(record))
    } catch (error) {
      this.#open.delete(id)
      throw error
    }
    return record
  }

  /** Before it is read. @throws PayloadTooLargeError */
  checkMetadata({ length }: string): void {
    if (length > this.#maxMetadataSize) throw new PayloadTooLargeError('maxMetadataSize', this.#maxMetadataSize, length)
  }

  /** @throws PayloadTooLargeError */
  checkLength(length: number | null): void {
    if (length !== null && length > this.maxSize) throw new PayloadTooLargeError('maxSize', this.maxSize, length)
  }

  /**
   * Takes the lock of an upload for `work`. A request that already works on the upload is asked to stop, which a request that receives bytes does
   * immediately. No holder is asked for a client that may not continue the upload.
   * @throws WEIR_UPLOAD_UNKNOWN also if it has expired, is another principal's, or belongs to another path; WEIR_UPLOAD_LOCKED also if too many
   * newer requests wait, or the client has left
   */
  async hold<T>(session: HttpSession, id: string, work: (held: HeldUpload) => Promise<T>): Promise<T> {
    await this.find(session, id)
    let held: HeldUpload | null = null
    let isWanted = false
    const onWanted = (): void => {
      isWanted = true
      held?.interrupt()
    }
    const { clock } = this
    const until = clock.now() + WAIT_MS
    const turn = await this.#turns.acquire(id, onWanted, WAIT_MS, clock, session.signal)
    if (turn === null) throw new WeirError('WEIR_UPLOAD_LOCKED')
    try {
      const lock = await stored(this.#locks.acquire(id, onWanted, Math.max(0, until - clock.now()), clock, session.signal))
      if (lock === null) throw new WeirError('WEIR_UPLOAD_LOCKED')
      try {
        held = new HeldUpload(this, await this.find(session, id), lock)
        if (isWanted) held.interrupt() // asked only once
        return await work(held)
      } finally {
        await hidingIds(lock.release())
      }
    } finally {
      await turn.release()
    }
  }

  /** @throws WEIR_UPLOAD_UNKNOWN */
  async find(session: HttpSession, id: string): Promise<StoredUpload> {
    const network = networkOf(session.clientAddress)
    const found = isUploadId(id) ? await this.#lookUp(network, null, () => stored(this.storage.load(id))) : null
    if (found === null || found.record.expiresAt <= this.clock.wallTime()) throw new WeirError('WEIR_UPLOAD_UNKNOWN')
    const { owner, place } = found.record
    if (owner !== null && owner !== ownerOf(session)) throw new WeirError('WEIR_UPLOAD_UNKNOWN')
    // Another module with the same storage may have other limits, and has not asked its onCreate.
    if (place !== null && place !== placeOf(session)) throw new WeirError('WEIR_UPLOAD_UNKNOWN')
    return found
  }

  /** It is complete or deleted, and no longer counts as open. */
  settle(id: string): void {
    this.#open.delete(id)
  }

  /**
   * Deletes expired uploads. Several processes may do so at the same time. If one upload cannot be deleted, the others still are. @throws (rejects)
   * the first error of the storage or of the locks, after all have been tried
   */
  sweep(): Promise<void> {
    return hidingIds(this.#sweep())
  }

  async #sweep(): Promise<void> {
    const before = this.#open.ids
    const open = new Set<string>()
    const failures: unknown[] = []
    for await (const record of this.storage.list()) {
      if (record.expiresAt <= this.clock.wallTime()) await this.#expire(record.id).catch((error: unknown) => failures.push(error))
      else if (isOpen(record)) {
        open.add(record.id)
        this.#note(record)
      }
    }
    this.#open.keepOnly(open, before)
    await this.storage.sweep?.(this.clock.wallTime() - this.lifetimeMs)
    if (failures.length > 0) throw failures[0]
  }

  async #expire(id: string): Promise<void> {
    const lock = await this.#locks.acquire(id, () => {}, 0, this.clock)
    if (lock === null) return // another request is still working on it
    try {
      const found = await this.storage.load(id)
      if (found !== null && found.record.expiresAt <= this.clock.wallTime()) await this.storage.delete(found.record)
      this.settle(id)
    } finally {
      await lock.release()
    }
  }

  async #count(): Promise<void> {
    try {
      for await (const record of this.storage.list()) if (isOpen(record)) this.#note(record)
    } catch (error) {
      this.#counted = null
      throw unavailable(error)
    }
  }

  /** Uploads without a principal count only if this process has created them, because their address is not kept. */
  #note({ id, owner, length }: UploadRecord): void {
    if (owner !== null) this.#open.note(id, owner, length ?? this.maxSize)
  }
}

/** Whether it counts as unfinished. A partial upload does, because it waits for the others. */
function isOpen({ stage, concat }: UploadRecord): boolean {
  return stage !== 'complete' || concat === 'partial'
}

/**
 * Where a client creates uploads: the path of a request without the id of an upload, and the host and the endpoint that its route is bound to, at
 * which another module may have the same path.
 */
function placeOf(session: HttpSession): string {
  const { basePath, request, route } = session
  const { statedHost, boundEndpoint } = exchange(session)
  const hasId = route?.endsWith('/:id') === true
  const path = basePath + (hasId ? request.path.slice(0, request.path.lastIndexOf('/')) : request.path)
  const host = route === null || OF_ANY_HOST.test(route) ? null : statedHost.toLowerCase().replace(/\.?(?::\d*)?$/, '')
  // A decoded path has `%2F` for a slash within a value, and for `%252F`.
  const values = path.includes('%2F') ? Object.entries(request.routeValues ?? {}).filter(([name]) => !hasId || name !== 'id') : null
  if (values !== null) return JSON.stringify([path, host, boundEndpoint, values])
  return host === null && boundEndpoint === null ? path : JSON.stringify([path, host, boundEndpoint])
}

/** A hash, so that a storage says nothing about the users. */
function ownerOf(session: HttpSession): string | null {
  const key = principalKeyOf(OWNER, session)
  return key === null ? null : createHash('sha256').update(key, 'utf16le').digest('base64url')
}
