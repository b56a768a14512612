// Saves an upload as a file, with the checks of a policy (saved-file.ts).

import type { Readable } from 'node:stream'

import { flag, matching, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import type { SavedFile } from '../multipart/file-store.ts'
import { CONTENT_RULES, type ContentPolicy, saveChecked, type UploadInfo } from './content-policy.ts'
import { safeFileName } from './file-name.ts'

/**
 * Options of `saveTo`: what may be saved, and how.
 * @example
 * const policy: SavePolicy = { maxSize: '5MiB', extensions: ['.png'] }
 * await saveTo('uploads', { fileName: 'a.png' }, new Uint8Array(10), policy)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export interface SavePolicy extends ContentPolicy {
  /** Name to save under, in place of the client's. It is passed through `safeFileName` as well. */
  readonly fileName?: string
  /** Permissions of the new file, before the process's umask. Default `0o666`, as in Node. */
  readonly mode?: number
  /** Whether to flush the bytes to the disk (fsync) before the file gets its final name. Default `false`. */
  readonly sync?: boolean
}

/** Named in errors. */
const OWNER = 'saveTo()'
/** @internal */
export const SAVE_RULES = rules<SavePolicy>(OWNER)({
  ...CONTENT_RULES,
  fileName: text().optional(),
  mode: matching<number>('file permissions such as 0o660', (mode) => Number.isInteger(mode)).or(0o666, '0o666'),
  sync: flag(false),
})
/** Loaded with the first upload that is saved. */
let saveFile: typeof import('./saved-file.ts').saveFile | undefined

/**
 * Saves an upload in `directory`, which must exist. While the upload arrives, it has a temporary name; when it is complete, it gets the
 * name that `safeFileName` makes of the client's file name. An existing file is never overwritten: if the name is taken, a unique suffix is
 * added before the extension.
 *
 * When the save fails (the client disconnects, a limit, a full disk), the temporary file is closed and removed before the promise rejects.
 *
 * @param info what the client sent about the file; only its `fileName` is used
 * @param content bytes, or the stream passed to `onFile`
 * @throws (rejects) FileRefusedError (415), PayloadTooLargeError (413), BodyAlreadyReadError for a stream that has another reader, the
 *   error of the stream or of the system (`ENOSPC`, `EACCES`), WEIR_OPTION_INVALID for an invalid policy, and for content that is neither
 *   bytes nor a Readable
 * @example
 * await request.bodyMultipartStream({
 *   onFile: async (info, content) => console.log((await saveTo('uploads', info, content)).path),
 * })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export function saveTo(directory: string, info: UploadInfo, content: Readable | Uint8Array, policy: SavePolicy = {}): Promise<SavedFile> {
  return saveChecked(SAVE_RULES, info, content, policy, async (safeName, checks, { fileName, mode, sync }) => {
    saveFile ??= (await import('./saved-file.ts')).saveFile
    const name = fileName === undefined ? safeName : safeFileName(fileName)
    const saved = await saveFile({ owner: OWNER, directory, name, mode, sync }, content, checks)
    return { ...saved, clientName: info.fileName }
  })
}
