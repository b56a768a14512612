// Prepares what `response.file(path)` sends. The file that is described is the file that is sent, even if another file takes its name.

import { type BigIntStats, constants } from 'node:fs'
import { basename, extname, isAbsolute, resolve } from 'node:path'
import { importPackage } from '../../base/packages.ts'
import { BYTES_TYPE } from '../../formats/media-type.ts'
import { OpenFile } from '../disk/open-file.ts'
import { attachment } from '../response/attachment.ts'
import { UNREAD } from '../response/byte-source.ts'
import type { FileOptions } from '../response/file-options.ts'
import type { OutgoingResponse } from '../response/outgoing-response.ts'
import { refuse } from '../response/precondition.ts'
import type { FileContent } from '../response/response-content.ts'
import { bytesOf, type FilePiece, FileSource, lengthOf, READ_SIZE } from './file-source.ts'
import { keepRecent, type RecentFile, recentFile } from './recent-files.ts'
import { type Asking, type FileState, selectPieces } from './representation.ts'

/** Without O_NONBLOCK, opening a FIFO would wait for its writer and block a thread of the pool. Windows has neither. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** Errors of `open` that mean that there is no such file. */
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

/** An open file, and its state when it was opened. */
export interface FoundFile {
  readonly file: OpenFile
  readonly stats: BigIntStats
  readonly state: FileState
}

/** Opens a regular file for reading. @returns the status of the response if that fails: 404 if there is none, 403 if it may not be read */
export async function openFile(path: string): Promise<FoundFile | 403 | 404> {
  let file: OpenFile
  try {
    file = await OpenFile.open(path, OPEN_FLAGS)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (ABSENT.has(code)) return 404
    if (FORBIDDEN.has(code)) return 403
    throw error
  }
  try {
    const stats = await file.stat()
    if (stats.isFile()) return { file, stats, state: stateOf(stats) }
  } catch (error) {
    await file.close()
    throw error
  }
  await file.close()
  return 404
}

/** The state of a file, from its `stats`. */
function stateOf(stats: BigIntStats): FileState {
  return {
    size: Number(stats.size),
    changedMs: Number(stats.mtimeMs),
    tag: `${stats.size.toString(16)}-${stats.mtimeNs.toString(16)}`,
  }
}

/**
 * Puts the file into the response: status, fields and content. The response is a 404 if there is no such regular file, and a 403 if it may
 * not be read. Unless the handler has set a status other than 200, the client's conditions (RFC 9110 §13) count for GET and HEAD, and its
 * ranges (§14) for GET.
 *
 * Up to 64 KiB are read immediately, so that head and body leave in one write, and a file of that size stays in memory for a while. A larger
 * file becomes a stream with a Content-Length. The stream holds the file until it has been read to its end, left early or destroyed. One of
 * these must happen. It fails if its descriptor was needed elsewhere and the file has changed since.
 *
 * @param tells whether a refusal names the path
 * @throws WEIR_RESPONSE_HEADER_SYNTAX for an option that cannot be sent; errors of the file system. The file is then closed
 */
export async function prepareFile(request: Asking, response: OutgoingResponse, content: FileContent, tells = false): Promise<void> {
  const recent = await recentFile(content.path)
  if (recent !== null) return prepareRecent(request, response, content, recent)
  const found = await openFile(content.path)
  if (typeof found === 'number') return refuse(response, found, tells ? whyNot(content.path, found) : undefined)
  const whole = await prepareOpenFile(request, response, content, found)
  if (whole !== null) keepRecent(content.path, whole, found)
}

function whyNot(path: string, status: 403 | 404): string {
  const why = `${JSON.stringify(resolve(path))} ${status === 404 ? 'is not a file' : 'may not be read'}`
  if (isAbsolute(path)) return why
  return `${why}: write join(import.meta.dirname, ${JSON.stringify(path)}) if it is beside the program, and not in its working directory`
}

async function prepareRecent(
  request: Asking,
  response: OutgoingResponse,
  content: FileContent,
  { bytes, state }: RecentFile,
): Promise<void> {
  const pieces = await piecesOf(request, response, content, state)
  if (pieces === null) return
  if (request.method === 'HEAD') response.stream(UNREAD)
  else response.body(bytesOf(bytes, pieces))
  response.describesFile()
}

/** Sends a file that is already open. @returns its bytes, if all of them were read */
export async function prepareOpenFile(
  request: Asking,
  response: OutgoingResponse,
  content: FileContent,
  { file, state }: FoundFile,
): Promise<Uint8Array | null> {
  let isHandedOn = false
  let whole: Uint8Array | null = null
  try {
    const pieces = await piecesOf(request, response, content, state)
    if (pieces === null) return null
    const length = lengthOf(pieces)
    const source = new FileSource(file, pieces)
    if (request.method === 'HEAD') response.stream(UNREAD)
    else if (length <= READ_SIZE) {
      const bytes = await source.collect()
      response.body(bytes)
      if (response.statusCode !== 206 && length === state.size) whole = bytes
    } else {
      response.stream(source)
      file.mayWait() // for the client
      isHandedOn = true
    }
    response.describesFile()
    return whole
  } finally {
    if (!isHandedOn) file.close() // nothing needs to wait for it
  }
}

/** Sets the status and the fields. @returns what is sent; null if the response is complete without the file */
async function piecesOf(
  request: Asking,
  response: OutgoingResponse,
  { path, options }: FileContent,
  state: FileState,
): Promise<readonly FilePiece[] | null> {
  const pieces = await selectPieces(request, response, state, options, () => describe(response, path, options))
  if (pieces !== null) response.header('Content-Length', lengthOf(pieces))
  return pieces
}

/** Sets the fields about the whole file, whatever part of it is sent. */
async function describe(response: OutgoingResponse, path: string, options: FileOptions): Promise<void> {
  if (options.contentType !== undefined) response.contentType(options.contentType)
  else if (response.type === null) response.contentType(await typeOf(path))
  const { download = false } = options
  if (download !== false) response.header('Content-Disposition', attachment(download === true ? basename(path) : download))
}

let lookup: typeof import('mrmime').lookup | undefined

/** The Content-Type for the extension of a file's name. */
export async function typeOf(path: string): Promise<string> {
  const extension = extname(path)
  lookup ??= (await importPackage('mrmime', () => import('mrmime'))).lookup
  // `lookup` returns something other than a string for `.constructor` and the like. A file called `html` has no extension.
  const type: unknown = extension === '' ? undefined : lookup(extension)
  if (typeof type !== 'string') return BYTES_TYPE
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}
