// Resumable Uploads for HTTP: draft-ietf-httpbis-resumable-upload-12, interop version 8.
//
// Implements the form in which a request to the upload path creates an upload resource, which then has the whole upload. No other route becomes
// resumable.

import { ContentTypeError, type HttpSession, WeirError } from 'weirjs'
import { exchange, isInstance, problemFor } from 'weirjs/kit'
import { contentDigest } from './checksum.ts'
import { type HeldUpload, isRefusal } from './held-upload.ts'
import type { UploadCore } from './upload-core.ts'
import { bodyLengthOf, booleanIn, checkCoding, hasBody, locationOf, stateField, wholeNumberIn } from './upload-fields.ts'
import { metadataOfFields } from './upload-metadata.ts'

/** Clients and servers of other iterations of the draft must not take each other's 104 for theirs. */
const INTEROP_VERSION = '8'
const BYTES_TYPE = 'application/partial-upload'
const COMPLETE = '?1'
const INCOMPLETE = '?0'
const NEITHER = 'it has neither Upload-Complete nor Tus-Resumable: only clients of resumable uploads can use this path, and no forms'
/** Problem types of the draft, and their titles. */
const OFFSET_TYPE = 'https://iana.org/assignments/http-problem-types#mismatching-upload-offset'
const LENGTH_TYPE = 'https://iana.org/assignments/http-problem-types#inconsistent-upload-length'

export class Draft {
  readonly #core: UploadCore

  constructor(core: UploadCore) {
    this.#core = core
  }

  describe(session: HttpSession): void {
    this.#limits(session, this.#core.lifetimeMs)
  }

  create(session: HttpSession): Promise<unknown> {
    return this.#explained(session, null, async () => {
      const isLast = this.#statedCompleteness(session)
      const { request } = session
      checkCoding(session)
      const length = lengthOf(session, isLast, 0)
      const sent = bodyLengthOf(session)
      this.#limits(session, this.#core.lifetimeMs)
      this.#core.checkLength(length ?? sent)
      if (length !== null && sent !== null && sent > length) throw disagrees(length, sent)
      const metadata = metadataOfFields(request.header('content-type'), request.header('content-disposition'))
      const checksum = contentDigest(request.header('content-digest'))
      const { id } = await this.#core.create(session, { length, metadata, concat: null })
      const location = locationOf(session, id)
      stateField(session, 'Location', location)
      const isAnnounced = this.#announce(session, location)
      return this.#core.hold(session, id, async (held) => {
        if (hasBody(session)) {
          await held.append(session, checksum).catch(async (error: unknown) => {
            // The client does not know where the upload is.
            if (!isAnnounced && session.signal.aborted) await held.cancel().catch(() => {})
            throw error
          })
        }
        if (isLast) return this.#complete(session, held)
        stateField(session, 'Upload-Offset', held.offset)
        return session.response.status(201)
      })
    })
  }

  /** Tells the client where the upload is before it has sent all of it. @returns whether the client may have received that */
  #announce(session: HttpSession, location: string): boolean {
    if (session.request.header('upload-draft-interop-version') !== INTEROP_VERSION) return false
    const fields = [
      'Upload-Draft-Interop-Version',
      INTEROP_VERSION,
      'Location',
      location,
      'Upload-Limit',
      this.#limitsFor(this.#core.lifetimeMs),
    ]
    return exchange(session).interim(104, fields, true)
  }

  status(session: HttpSession, id: string): Promise<unknown> {
    return this.#core.hold(session, id, async (held) => {
      this.#describeUpload(session, held)
      return session.response.noContent()
    })
  }

  #describeUpload(session: HttpSession, held: HeldUpload): void {
    const { stage, length, expiresAt } = held.record
    stateField(session, 'Upload-Offset', held.offset)
    stateField(session, 'Upload-Complete', stage === 'complete' ? COMPLETE : INCOMPLETE)
    if (length !== null) stateField(session, 'Upload-Length', length)
    this.#limits(session, expiresAt - this.#core.clock.wallTime())
  }

  append(session: HttpSession, id: string): Promise<unknown> {
    return this.#explained(session, id, async () => {
      const isLast = this.#statedCompleteness(session)
      const { request } = session
      const type = request.header('content-type')
      if (type !== BYTES_TYPE) throw new ContentTypeError(type, [BYTES_TYPE])
      checkCoding(session)
      const offset = wholeNumberIn(request.header('upload-offset'))
      if (offset === null) throw malformed('Upload-Offset')
      const checksum = contentDigest(request.header('content-digest'))
      return this.#core.hold(session, id, async (held) => {
        held.checkAppend(offset, bodyLengthOf(session))
        const length = lengthOf(session, isLast, offset)
        if (length !== null) await held.stateLength(length)
        held.checkAppend(offset, bodyLengthOf(session))
        if (hasBody(session)) await held.append(session, checksum)
        if (isLast) return this.#complete(session, held)
        stateField(session, 'Upload-Offset', held.offset)
        return session.response.noContent()
      })
    })
  }

  async #complete(session: HttpSession, held: HeldUpload): Promise<unknown> {
    if (held.record.length !== null && !held.isWhole) throw disagrees(held.record.length, held.offset)
    stateField(session, 'Upload-Offset', held.offset)
    try {
      const { result } = await held.complete(session)
      stateField(session, 'Upload-Complete', COMPLETE)
      return result
    } catch (error) {
      if (isRefusal(session, error)) stateField(session, 'Upload-Complete', COMPLETE) // a client does not try again
      throw error
    }
  }

  async cancel(session: HttpSession, id: string): Promise<unknown> {
    await this.#core.hold(session, id, (held) => held.cancel())
    return session.response.noContent()
  }

  /** Until the upload is complete, responses are about the upload, and not about the resource that it is sent to. @throws WEIR_UPLOAD_REQUEST */
  #statedCompleteness(session: HttpSession): boolean {
    stateField(session, 'Upload-Complete', INCOMPLETE)
    const stated = session.request.header('upload-complete')
    const isLast = booleanIn(stated)
    if (stated === null) throw new WeirError('WEIR_UPLOAD_REQUEST', NEITHER)
    if (isLast === null) throw malformed('Upload-Complete')
    return isLast
  }

  /** Runs `work`; errors about offsets and lengths become problems of the types that the draft defines. */
  async #explained(session: HttpSession, id: string | null, work: () => Promise<unknown>): Promise<unknown> {
    try {
      return await work()
    } catch (error) {
      if (!isInstance(error, WeirError)) throw error
      if (error.code === 'WEIR_UPLOAD_CHECKSUM') throw new WeirError(error.code, 'Content-Digest', { status: 400 }) // 460 is of tus
      if (error.code === 'WEIR_UPLOAD_LENGTH')
        return refuse(session, error, { type: LENGTH_TYPE, title: 'Inconsistent Upload Length Values' })
      if (error.code !== 'WEIR_UPLOAD_OFFSET' || id === null) throw error
      const { offset } = await this.#core.find(session, id)
      stateField(session, 'Upload-Offset', offset)
      const provided = wholeNumberIn(session.request.header('upload-offset'))
      const members = { 'expected-offset': offset, 'provided-offset': provided }
      return refuse(session, error, { type: OFFSET_TYPE, title: 'Mismatching Upload Offset', ...members })
    }
  }

  #limits(session: HttpSession, leftMs: number): void {
    stateField(session, 'Upload-Limit', this.#limitsFor(leftMs))
  }

  #limitsFor(leftMs: number): string {
    const age = `max-age=${Math.max(0, Math.floor(leftMs / 1000))}`
    return Number.isFinite(this.#core.maxSize) ? `max-size=${this.#core.maxSize}, ${age}` : age
  }
}

/**
 * The length that a request states; null if it states none.
 * @param offset at which its body begins
 * @throws WEIR_UPLOAD_LENGTH if it states two
 */
function lengthOf(session: HttpSession, isLast: boolean, offset: number): number | null {
  const stated = wholeNumberIn(session.request.header('upload-length'))
  const sent = bodyLengthOf(session)
  const deduced = isLast && sent !== null ? offset + sent : null
  if (stated !== null && deduced !== null && stated !== deduced) throw disagrees(stated, deduced)
  return stated ?? deduced
}

function disagrees(length: number, actual: number): WeirError {
  return new WeirError('WEIR_UPLOAD_LENGTH', `it is ${length}, and the request makes it ${actual}`)
}

function malformed(field: string): WeirError {
  return new WeirError('WEIR_UPLOAD_REQUEST', `${field} is missing or not valid`)
}

function refuse(session: HttpSession, error: WeirError, members: object): unknown {
  const { response } = session
  return response
    .status(error.status)
    .contentType('application/problem+json')
    .json({ ...problemFor(error, false), ...members })
}
