// What an uploaded file may contain, wherever it is saved: the options that all ways of saving have in common, and their checks.

import { AsyncResource } from 'node:async_hooks'
import { Buffer } from 'node:buffer'
import type { Hash } from 'node:crypto'
import type { Readable } from 'node:stream'

import { BodyAlreadyReadError, FileRefusedError, PayloadTooLargeError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { func, list, readBy, size } from '../../base/option-kinds.ts'
import type { SettingsOf } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { Size } from '../../base/size.ts'
import { fitsTypes, isTold, SIGNATURE_BYTES, typeShown, whatIs } from '../../formats/file-signatures.ts'
import { rangeOf } from '../body/plain-body.ts'
import { extensionsOf } from '../multipart/allowed-extensions.ts'
import { checkExtension } from '../multipart/file-extensions.ts'
import { otherReader, PartStream } from '../multipart/part-stream.ts'
import { safeFileName } from './file-name.ts'

/**
 * What may be saved, and what is computed and reported meanwhile.
 * @example
 * const policy: ContentPolicy = { maxSize: '5MiB', extensions: ['.png'] }
 * await saveTo('uploads', { fileName: 'a.png' }, new Uint8Array(10), policy)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export interface ContentPolicy {
  /** Largest size; when exceeded, `PayloadTooLargeError` (413). Default: no limit in addition to the limits of the form. */
  readonly maxSize?: Size
  /**
   * Extensions that the client's file name may have, such as `.png` or `png`, case-insensitive. An empty string allows names without an
   * extension. Default: any. Your own `fileName` is not checked.
   */
  readonly extensions?: readonly string[]
  /**
   * Types that the file may have, such as `application/pdf`, or ranges such as `image/*`. The first bytes of the file decide, whatever the client
   * states: they show common images, sound, videos, fonts, archives, PDF and office documents. Default: any. Types that cannot be recognized by
   * their bytes, such as `text/csv` and `image/svg+xml`, are an error.
   */
  readonly types?: readonly string[]
  /**
   * Byte sequences with which the file may begin, such as `[[0x89, 0x50, 0x4e, 0x47]]`, or a function that returns whether the first 64
   * bytes (fewer for a shorter file) are allowed. Default: any.
   */
  readonly magic?: readonly (readonly number[] | Uint8Array)[] | ((first: Uint8Array) => boolean)
  /** Hash to compute while writing, such as `sha256`. Default: none. */
  readonly hash?: string
  /**
   * Called with the number of bytes received so far, each time more bytes have arrived within `maxSize`; never for an empty file. If it
   * throws, the save fails. A returned promise is not awaited.
   */
  readonly onProgress?: (bytes: number) => void
}

/**
 * What the client sent about a file, of which only the name is used.
 * @example
 * const info: UploadInfo = { fileName: 'photo.png' }
 * await saveTo('uploads', info, new Uint8Array(10))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export interface UploadInfo {
  readonly fileName: string | null
}

/** Checks every byte before it is written. If it throws, the write fails. */
export interface ByteInspector {
  /** What the first bytes show; null unless the policy has `types`. */
  readonly detectedType: string | null
  look(bytes: Buffer): void
  end(): void
}

/** A policy whose options have been checked. */
export interface CheckedPolicy {
  readonly extensions: readonly string[] | null
  readonly hash: Hash | null
  readonly inspector: ByteInspector
}

/** The rules of every policy for content. */
export const CONTENT_RULES = {
  maxSize: size().also(Number.POSITIVE_INFINITY).or(Number.POSITIVE_INFINITY),
  extensions: readBy((extensions: readonly string[], owner) => extensionsOf(owner, extensions)).orNull(),
  types: readBy(checkedTypes).orNull('any'),
  magic: readBy(checkedMagic).optional(),
  hash: readBy(hashOf).orNull(),
  onProgress: func().optional(),
}

interface ContentSettings {
  readonly maxSize: number
  readonly types: readonly string[] | null
  readonly magic: ContentPolicy['magic'] | undefined
  readonly onProgress: ContentPolicy['onProgress'] | undefined
  readonly extensions: readonly string[] | null
  readonly hash: Hash | null
}

/** The tables of rules of a policy and of the options in addition to it. */
export interface PolicyRules<O extends ContentPolicy, S> {
  readonly owner: string
  read(policy: O): S
}
export type PolicySettings = SettingsOf<ContentPolicy, typeof CONTENT_RULES>

/**
 * Checks the options and the content, reserves the content for `save`, and destroys it if anything fails.
 */
export function saveChecked<T, O extends ContentPolicy, S extends PolicySettings>(
  rules: PolicyRules<O, S>,
  info: UploadInfo,
  content: Readable | Uint8Array,
  policy: O,
  save: (clientName: string, checked: CheckedPolicy, settings: S) => Promise<T>,
): Promise<T> {
  const saving = begin()
  return content instanceof PartStream ? content.watch(rules.owner, saving) : saving

  async function begin(): Promise<T> {
    try {
      const settings = rules.read(policy)
      const checked = contentPolicy(settings)
      reserve(rules.owner, content)
      return await save(allowedName(rules.owner, info, checked.extensions), checked, settings)
    } catch (error) {
      if (isReadable(content)) content.destroy()
      throw error
    }
  }
}

function contentPolicy({ maxSize, extensions, types, magic, hash, onProgress }: ContentSettings): CheckedPolicy {
  const progress = onProgress === undefined ? null : AsyncResource.bind(onProgress)
  return { extensions, hash, inspector: new Inspector(maxSize, types, magic, progress) }
}

/**
 * Makes sure that nothing of it was read yet: otherwise the rest would be saved as if it were the complete file. An uploaded file is
 * reserved before the first `await`, so that it is not skipped when `onFile` returns without waiting for the save.
 * @throws BodyAlreadyReadError, and WEIR_OPTION_INVALID for what is neither bytes nor a Readable
 */
function reserve(owner: string, content: Readable | Uint8Array): void {
  if (content instanceof Uint8Array) return
  if (!isReadable(content)) throw invalid(owner, `content is bytes or a Readable, not ${kindOf(content)}`)
  refuseIf(owner, content instanceof PartStream ? content.reserve(owner) : otherReader(content))
}

/** @param reason why the content cannot be read as a whole, or null @throws BodyAlreadyReadError */
export function refuseIf(owner: string, reason: string | null): void {
  if (reason !== null) throw new BodyAlreadyReadError(owner, reason)
}

/** Whether it can be read, and closed when something goes wrong. */
export function isReadable(content: unknown): content is Readable {
  return (
    typeof content === 'object' &&
    content !== null &&
    Symbol.asyncIterator in content &&
    'listenerCount' in content &&
    'destroy' in content &&
    typeof content.destroy === 'function'
  )
}

/**
 * The client's name of the file, made safe.
 * @param extensions those it may have, or null for any
 * @throws FileRefusedError, and WEIR_OPTION_INVALID: a file of the Web has a `name` instead, and every upload would be saved as `upload.bin`
 */
function allowedName(owner: string, info: UploadInfo, extensions: readonly string[] | null): string {
  const given: unknown = info
  if (typeof given !== 'object' || given === null) throw invalid(owner, `info is an object with a fileName, not ${kindOf(given)}`)
  if (info.fileName !== null && typeof info.fileName !== 'string')
    throw invalid(owner, `info.fileName is ${shown(info.fileName)}, not a string or null`)
  const name = safeFileName(info.fileName)
  if (extensions !== null) checkExtension(name, extensions)
  return name
}

/** Splits content, so that the caller can wait between two pieces: a large file in memory would be copied as a whole. */
export async function* piecesOf(content: Readable | Uint8Array, maxBytes: number): AsyncGenerator<Buffer> {
  for await (const chunk of content instanceof Uint8Array ? [content] : content) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    for (let at = 0; at < bytes.length; at += maxBytes) yield bytes.subarray(at, at + maxBytes)
  }
}

/** Two digits per byte. `node:crypto` is not imported above because loading it takes longer than starting a whole server. */
export function randomHex(bytes: number): string {
  return process.getBuiltinModule('node:crypto').randomBytes(bytes).toString('hex')
}

/** @throws WEIR_OPTION_INVALID for an algorithm that the system does not have */
function hashOf(algorithm: string, owner: string): Hash {
  try {
    return process.getBuiltinModule('node:crypto').createHash(algorithm)
  } catch {
    throw invalid(owner, `hash is ${shown(algorithm)}, which this system does not support`)
  }
}

/** @throws WEIR_OPTION_INVALID also for types that no bytes can show: such a policy would refuse every file, or none */
function checkedTypes(types: readonly string[], owner: string, option: string): readonly string[] {
  list().read(types, { owner, option })
  return types.map((type) => {
    const range = rangeOf(owner, type)
    if (!isTold(range)) throw invalid(owner, `types: the first bytes of a file cannot tell whether it is ${range}: check it another way`)
    return range
  })
}

function checkedMagic(magic: NonNullable<ContentPolicy['magic']>, owner: string): NonNullable<ContentPolicy['magic']> {
  if (typeof magic === 'function') return func({ decides: true }).read(magic, { owner, option: 'magic' }) as never
  if (!Array.isArray(magic)) throw invalid(owner, `magic is ${shown(magic)}, not a list`)
  for (const known of magic as readonly unknown[])
    if (!Array.isArray(known) && !(known instanceof Uint8Array)) throw invalid(owner, `magic: ${shown(known)} is not a list of bytes`)
  return magic
}

/** Checks the bytes against the policy before they are written. */
class Inspector implements ByteInspector {
  readonly #maxSize: number
  readonly #types: readonly string[] | null
  readonly #magic: ContentPolicy['magic'] | undefined
  readonly #onProgress: ((bytes: number) => void) | null
  #size = 0
  #first: Buffer | null
  detectedType: string | null = null

  constructor(
    maxSize: number,
    types: readonly string[] | null,
    magic: ContentPolicy['magic'] | undefined,
    onProgress: ((bytes: number) => void) | null,
  ) {
    this.#maxSize = maxSize
    this.#types = types
    this.#magic = magic
    this.#onProgress = onProgress
    this.#first = magic === undefined && types === null ? null : Buffer.alloc(0)
  }

  look(bytes: Buffer): void {
    this.#size += bytes.length
    if (this.#size > this.#maxSize) throw new PayloadTooLargeError('maxSize', this.#maxSize)
    this.#onProgress?.(this.#size)
    if (this.#first === null) return
    this.#first = Buffer.concat([this.#first, bytes.subarray(0, SIGNATURE_BYTES - this.#first.length)])
    if (this.#first.length === SIGNATURE_BYTES) this.end()
  }

  /** The first bytes have arrived, or the file is shorter than that. */
  end(): void {
    const first = this.#first
    const types = this.#types
    const magic = this.#magic
    if (first === null) return
    this.#first = null
    if (types !== null) {
      if (!fitsTypes(first, types, null)) throw new FileRefusedError('WEIR_FILE_MAGIC', whatIs(first), types)
      this.detectedType = typeShown(first, types)
    }
    if (magic === undefined) return
    const isAllowed =
      typeof magic === 'function'
        ? magic(first)
        : magic.some((known) => known.length <= first.length && known.every((byte, i) => first[i] === byte))
    if (!isAllowed) throw new FileRefusedError('WEIR_FILE_MAGIC')
  }
}
