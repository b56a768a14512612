// The tus protocol, version 1.0.0.

import { ContentTypeError, type HttpSession, WeirError } from 'weirjs'
import { type Checksum, TUS_ALGORITHMS, tusChecksum } from './checksum.ts'
import { type HeldUpload, isRefusal } from './held-upload.ts'
import type { UploadCore } from './upload-core.ts'
import { bodyLengthOf, checkCoding, hasBody, idIn, locationOf, stateField, wholeNumberIn } from './upload-fields.ts'
import { readMetadata } from './upload-metadata.ts'
import type { UploadRecord } from './upload-record.ts'

const TUS_VERSION = '1.0.0'
const EXTENSIONS = 'creation,creation-with-upload,creation-defer-length,termination,expiration,checksum,concatenation'
const BYTES_TYPE = 'application/offset+octet-stream'
/** The most parts of a concatenation, because each is looked up in the storage and copied. */
const MOST_PARTS = 100
/** Upload-Concat is kept, and repeated in each response to HEAD. */
const LONGEST_CONCAT = 16 * 1024

export class Tus {
  readonly #core: UploadCore

  constructor(core: UploadCore) {
    this.#core = core
  }

  describe(session: HttpSession): void {
    stateField(session, 'Tus-Resumable', TUS_VERSION)
    stateField(session, 'Tus-Version', TUS_VERSION)
    stateField(session, 'Tus-Extension', EXTENSIONS)
    stateField(session, 'Tus-Checksum-Algorithm', TUS_ALGORITHMS.join(','))
    if (Number.isFinite(this.#core.maxSize)) stateField(session, 'Tus-Max-Size', this.#core.maxSize)
  }

  /** @throws WEIR_UPLOAD_VERSION */
  checkVersion(session: HttpSession): void {
    stateField(session, 'Tus-Resumable', TUS_VERSION)
    const version = session.request.header('tus-resumable')
    if (version === TUS_VERSION) return
    throw new WeirError('WEIR_UPLOAD_VERSION', `send Tus-Resumable: ${TUS_VERSION}`, { headers: { 'Tus-Version': TUS_VERSION } })
  }

  async create(session: HttpSession): Promise<unknown> {
    const { request } = session
    const concat = request.header('upload-concat')
    const metadata = request.header('upload-metadata') ?? ''
    this.#core.checkMetadata(metadata)
    if (readMetadata(metadata) === null) throw malformed('Upload-Metadata')
    if (concat?.startsWith('final;')) return this.#concatenate(session, concat, metadata)
    if (concat !== null && concat !== 'partial') throw malformed('Upload-Concat')
    const length = this.#statedLength(session)
    if (length === undefined) throw malformed('Upload-Length, or Upload-Defer-Length: 1,')
    const checksum = checksumOf(session)
    if (hasBody(session)) checkType(session)
    const sent = bodyLengthOf(session)
    this.#core.checkLength(length)
    if (length === null) this.#core.checkLength(sent)
    else if (sent !== null && sent > length) throw new WeirError('WEIR_UPLOAD_LENGTH', `it is ${length}, and the body has ${sent} bytes`)
    const { id, expiresAt } = await this.#core.create(session, { length, metadata, concat })
    const location = locationOf(session, id)
    if (!hasBody(session) && length !== 0) return created(session, location, expiresAt)
    return this.#core.hold(session, id, async (held) => {
      if (hasBody(session)) await orNothing(held, held.append(session, checksum))
      stateField(session, 'Upload-Offset', held.offset)
      if (!held.isWhole) return created(session, location, expiresAt)
      return this.#completeNew(session, held, location)
    })
  }

  /** Undefined if the fields are not valid; null for a length that the client does not know yet. */
  #statedLength({ request }: HttpSession): number | null | undefined {
    const length = request.header('upload-length')
    const deferred = request.header('upload-defer-length')
    if (deferred !== null) return deferred === '1' && length === null ? null : undefined
    return wholeNumberIn(length) ?? undefined
  }

  async #concatenate(session: HttpSession, concat: string, metadata: string): Promise<unknown> {
    if (session.request.header('upload-length') !== null || hasBody(session)) throw malformed('Upload-Concat: final')
    if (concat.length > LONGEST_CONCAT)
      throw new WeirError('WEIR_UPLOAD_REQUEST', `Upload-Concat has more than ${LONGEST_CONCAT} characters`)
    const references = concat.slice('final;'.length).split(' ')
    if (references.length > MOST_PARTS) throw new WeirError('WEIR_UPLOAD_REQUEST', `Upload-Concat has more than ${MOST_PARTS} uploads`)
    // Otherwise, a few bytes could become a hundred times as many.
    if (new Set(references.map(idIn)).size < references.length)
      throw new WeirError('WEIR_UPLOAD_REQUEST', 'Upload-Concat names an upload more than once')
    const ids = references.map(idIn)
    // Before any lock: an upload that is not a part is not interrupted.
    for (const one of ids) checkPart((await this.#core.find(session, one)).record)
    // In one order for all requests, so that no two of them wait for each other.
    return this.#holdAll(session, [...ids].sort(), [], (held) => {
      const parts = ids.map((one) => held.find(({ record }) => record.id === one)!)
      return this.#join(session, parts, concat, metadata)
    })
  }

  /** Takes the locks of all parts, so that several requests do not copy the same parts at a time. */
  #holdAll<T>(
    session: HttpSession,
    ids: readonly string[],
    held: readonly HeldUpload[],
    work: (held: readonly HeldUpload[]) => Promise<T>,
  ): Promise<T> {
    const [id, ...others] = ids
    if (id === undefined) return work(held)
    return this.#core.hold(session, id, (one) => this.#holdAll(session, others, [...held, one], work))
  }

  async #join(session: HttpSession, held: readonly HeldUpload[], concat: string, metadata: string): Promise<unknown> {
    const parts = held.map(({ record }) => record)
    parts.forEach(checkPart)
    const cancelParts = async (): Promise<void> => {
      for (const part of held) await part.cancel().catch(() => {}) // they expire otherwise
    }
    const length = parts.reduce((sum, part) => sum + part.length!, 0)
    const { id } = await this.#core.create(session, { length, metadata, concat })
    const response = await this.#core.hold(session, id, async (whole) => {
      try {
        await orNothing(whole, whole.appendUploads(session, parts))
        return await this.#completeNew(session, whole, locationOf(session, id))
      } catch (error) {
        // Otherwise, a few bytes could have the same parts copied and refused again and again.
        if (isRefusal(session, error)) await cancelParts()
        throw error
      }
    })
    await cancelParts()
    return response
  }

  async #completeNew(session: HttpSession, held: HeldUpload, location: string): Promise<unknown> {
    const { result } = await orNothing(held, held.complete(session))
    return created(session, location, null, result)
  }

  /** For clients, an upload with all of its bytes is complete. So it is completed now if that has failed before. */
  status(session: HttpSession, id: string): Promise<unknown> {
    const { response } = session
    return this.#core.hold(session, id, async (held) => {
      if (held.isWhole && held.record.stage !== 'complete') {
        await held.complete(session).catch((error: unknown) => {
          if (isRefusal(session, error)) throw error
          // After any other status, clients would upload everything again.
          throw new WeirError('WEIR_UPLOAD_LOCKED', 'it has all its bytes, and its processing has failed', { cause: error })
        })
      }
      const { length, metadata, concat, stage, expiresAt } = held.record
      stateField(session, 'Upload-Offset', held.offset)
      if (length === null) stateField(session, 'Upload-Defer-Length', '1')
      else stateField(session, 'Upload-Length', length)
      if (metadata !== '') stateField(session, 'Upload-Metadata', metadata)
      if (concat !== null) stateField(session, 'Upload-Concat', concat)
      if (stage !== 'complete') expires(session, expiresAt)
      return response.noContent()
    })
  }

  append(session: HttpSession, id: string): Promise<unknown> {
    checkType(session)
    const offset = wholeNumberIn(session.request.header('upload-offset'))
    if (offset === null) throw malformed('Upload-Offset')
    const checksum = checksumOf(session)
    const field = session.request.header('upload-length')
    const length = wholeNumberIn(field)
    if (field !== null && length === null) throw malformed('Upload-Length')
    return this.#core.hold(session, id, async (held) => {
      if (held.record.concat?.startsWith('final;')) throw new WeirError('WEIR_UPLOAD_FINAL')
      held.checkAppend(offset, bodyLengthOf(session))
      if (length !== null) await held.stateLength(length)
      held.checkAppend(offset, bodyLengthOf(session))
      if (hasBody(session)) await held.append(session, checksum)
      stateField(session, 'Upload-Offset', held.offset)
      if (!held.isWhole) {
        expires(session, held.record.expiresAt)
        return session.response.noContent()
      }
      return (await held.complete(session)).result
    })
  }

  async cancel(session: HttpSession, id: string): Promise<unknown> {
    await this.#core.hold(session, id, (held) => held.cancel())
    return session.response.noContent()
  }
}

/** Work on a new upload. A client that gets an error does not learn where the upload is, and creates another. */
async function orNothing<T>(held: HeldUpload, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    await held.cancel().catch(() => {}) // the client is told about the first error, and the upload expires
    throw error
  }
}

/** @throws WEIR_UPLOAD_REQUEST */
function checkPart({ concat, stage }: UploadRecord): void {
  if (concat !== 'partial' || stage !== 'complete')
    throw malformed('Upload-Concat names an upload that is not complete, or not partial: it')
}

function created(session: HttpSession, location: string, expiresAt: number | null, result?: unknown): unknown {
  const { response } = session
  stateField(session, 'Location', location)
  if (expiresAt !== null) expires(session, expiresAt)
  if (response.statusCode === 200) response.status(201)
  return result ?? response
}

function expires(session: HttpSession, expiresAt: number): void {
  stateField(session, 'Upload-Expires', new Date(expiresAt).toUTCString())
}

function checkType(session: HttpSession): void {
  const type = session.request.header('content-type')
  if (type !== BYTES_TYPE) throw new ContentTypeError(type, [BYTES_TYPE])
  checkCoding(session)
}

function checksumOf({ request }: HttpSession): Checksum | null {
  const field = request.header('upload-checksum')
  const checksum = field === null ? null : tusChecksum(field)
  if (field !== null && checksum === null) throw malformed('Upload-Checksum')
  return checksum
}

function malformed(field: string): WeirError {
  return new WeirError('WEIR_UPLOAD_REQUEST', `${field} is missing or not valid`)
}
