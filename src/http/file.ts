// What `response.file(path)` sends. The file is opened once: what is described is what is sent, also when another file takes its name.

import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { entityTag } from '../formats/etag.ts'
import { formatHttpDate, parseHttpDate } from '../formats/http-date.ts'
import { BYTES_TYPE } from '../formats/media-type.ts'

import { attachment } from './attachment.ts'
import { contentRange, multipartRanges, selectRanges } from './byte-ranges.ts'
import type { ByteSource } from './byte-source.ts'
import { evaluatePreconditions, type ReadField, rangeApplies, type Validators } from './conditional.ts'
import type { FileOptions } from './file-options.ts'
import { type ByteRange, type FilePiece, FileSource, READ_SIZE } from './file-source.ts'
import { problemOf } from './problem.ts'
import type { HttpRequest } from './request.ts'
import type { FileContent, HttpResponse } from './response.ts'

/** Without O_NONBLOCK, opening a FIFO waits for its writer, and keeps a thread of the pool for as long. Windows has neither. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/**
 * Milliseconds after which a changed file counts as settled: a second change would have another time. Clocks of file systems have grains
 * of up to 2 s (FAT).
 */
const SETTLED_AFTER = 2_000

/** What `open` says when there is no such file, or nothing that could be one. */
const ABSENT: ReadonlySet<unknown> = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ENAMETOOLONG',
  'ELOOP',
  'ENXIO', // a Unix socket
  'ERR_INVALID_ARG_VALUE', // NUL in the path
])
const FORBIDDEN: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM'])

/** The body of an answer to HEAD: it is never asked for. */
const UNREAD: ByteSource = {
  async *[Symbol.asyncIterator]() {},
}

/** No ranges: all of the file. */
const WHOLE: readonly ByteRange[] = []

/**
 * Puts the file into the response: status, fields and content. GET and HEAD are answered by the client's conditions (RFC 9110 §13) and,
 * for GET, ranges (§14), unless the handler has set a status other than 200. 404 when there is no such regular file, 403 when it may not
 * be read.
 *
 * Up to 64 KiB become bytes at once, so that head and body leave in one write. What is larger is a stream with a Content-Length; it
 * holds the open file until it has been read, left early or destroyed. One of these must happen.
 *
 * @throws WEIR_RESPONSE_HEADER_SYNTAX for an option that cannot be sent; what the file system throws. The file is closed then.
 */
export async function prepareFile(
  request: Pick<HttpRequest, 'method' | 'header'>,
  response: HttpResponse,
  { path, options }: FileContent,
): Promise<void> {
  let handle: FileHandle
  try {
    handle = await open(path, OPEN_FLAGS)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (ABSENT.has(code)) return refuse(response, 404)
    if (FORBIDDEN.has(code)) return refuse(response, 403)
    throw error
  }
  let isHandedOn = false
  try {
    const stats = await handle.stat({ bigint: true })
    if (!stats.isFile()) return refuse(response, 404)
    const size = Number(stats.size)
    const ranges = await negotiate(request, response, options, stats)
    if (ranges === null) return
    await describe(response, path, options)
    const pieces = divide(response, ranges, size)
    const length = lengthOf(pieces)
    response.header('Content-Length', length)
    if (request.method === 'HEAD') {
      response.stream(UNREAD)
      response.describesFile()
      return
    }
    const source = new FileSource(handle, pieces)
    if (length <= READ_SIZE) {
      response.body(await source.collect())
      response.describesFile()
      return
    }
    response.stream(source)
    response.describesFile()
    isHandedOn = true
  } finally {
    if (!isHandedOn) await handle.close()
  }
}

/**
 * Settles what the client's conditions and ranges ask for, and sets the fields that belong to them.
 *
 * @returns the ranges to send, none for the whole file; null when the response is complete without it
 */
async function negotiate(
  request: Pick<HttpRequest, 'method' | 'header'>,
  response: HttpResponse,
  options: FileOptions,
  stats: BigIntStats,
): Promise<readonly ByteRange[] | null> {
  setUnlessSet(response, 'Cache-Control', options.cacheControl)
  // The file is what the URL stands for only in an ordinary answer to GET or HEAD, and only then do these fields say something about it.
  const isGet = request.method === 'GET'
  if (response.statusCode !== 200 || !(isGet || request.method === 'HEAD')) return WHOLE
  const now = Date.now()
  const field: ReadField = (name) => request.header(name)
  const current = validatorsOf(response, options, stats, now)
  const verdict = await evaluatePreconditions(field, current, now)
  if (verdict === 'failed') {
    refuse(response, 412)
    return null
  }
  if (current.etag !== null) setUnlessSet(response, 'ETag', current.etag)
  if (verdict === 'not modified') {
    // Last-Modified would say nothing beside an ETag (RFC 9110 §15.4.5).
    if (current.etag === null) setUnlessSet(response, 'Last-Modified', formatDate(current.lastModified))
    response.noContent().status(304).removeHeader('Content-Type')
    return null
  }
  setUnlessSet(response, 'Last-Modified', formatDate(current.lastModified))
  if (options.acceptRanges === false) return WHOLE
  response.header('Accept-Ranges', 'bytes')
  const range = isGet ? field('range') : null
  if (range === null || !rangeApplies(field, current, now)) return WHOLE
  const ranges = await selectRanges(range, Number(stats.size))
  if (ranges !== 'unsatisfiable') return ranges ?? WHOLE
  refuse(response, 416)
  response.header('Content-Range', `bytes */${stats.size}`)
  return null
}

/** What the handler has set itself stands for the file. */
function validatorsOf(response: HttpResponse, options: FileOptions, stats: BigIntStats, now: number): Validators {
  // A time that lies ahead, or before 1970, is a clock that was wrong.
  const changed = Math.max(0, Math.min(Number(stats.mtimeMs), now))
  const isSettled = now - Number(stats.mtimeMs) >= SETTLED_AFTER
  const ownTag = response.getHeader('ETag')
  const ownDate = response.getHeader('Last-Modified')
  const tag = (): string => entityTag(`${stats.size.toString(16)}-${stats.mtimeNs.toString(16)}`, !isSettled)
  const date = (): number => changed - (changed % 1_000)
  return {
    etag: ownTag ?? (options.etag === false ? null : tag()),
    lastModified: ownDate !== null ? parseHttpDate(ownDate, now) : options.lastModified === false ? null : date(),
    isSettled,
  }
}

/** Fields about the whole file, whatever part of it is sent. */
async function describe(response: HttpResponse, path: string, options: FileOptions): Promise<void> {
  if (options.contentType !== undefined) response.contentType(options.contentType)
  else if (response.type === null) response.contentType(await typeOf(path))
  const { download = false } = options
  if (download !== false) response.header('Content-Disposition', attachment(download === true ? basename(path) : download))
}

/** What goes out, in order; sets what is different when it is not all of the file. */
function divide(response: HttpResponse, ranges: readonly ByteRange[], size: number): readonly FilePiece[] {
  const [range] = ranges
  if (range === undefined) return [{ start: 0, end: size - 1 }]
  response.status(206)
  if (ranges.length === 1) {
    response.header('Content-Range', contentRange(range, size))
    return [range]
  }
  const body = multipartRanges(ranges, size, response.type ?? BYTES_TYPE)
  response.contentType(body.contentType)
  return body.pieces
}

let lookup: typeof import('mrmime').lookup | undefined

async function typeOf(path: string): Promise<string> {
  const extension = extname(path)
  lookup ??= (await import('mrmime')).lookup
  // Not a string for `.constructor` and its kin; and a file called `html` has no extension.
  const type: unknown = extension === '' ? undefined : lookup(extension)
  if (typeof type !== 'string') return BYTES_TYPE
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}

function lengthOf(pieces: readonly FilePiece[]): number {
  let length = 0
  for (const piece of pieces) length += piece instanceof Uint8Array ? piece.length : piece.end - piece.start + 1
  return length
}

function formatDate(time: number | null): string | undefined {
  return time === null ? undefined : formatHttpDate(time)
}

function setUnlessSet(response: HttpResponse, name: string, value: string | undefined): void {
  if (value !== undefined && response.getHeader(name) === null) response.header(name, value)
}

/** A problem document. It never names the path, and what described the file (a year of Cache-Control, say) does not go with it. */
function refuse(response: HttpResponse, status: number): void {
  response.clearRepresentation()
  response.sendProblem(problemOf(status))
}
