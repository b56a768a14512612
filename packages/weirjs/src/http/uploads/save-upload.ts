// Saves an upload under a name of its own, with the checks of a policy.

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

/** `saveTo()` */
export function saveUpload(directory: string, info: UploadInfo, content: Readable | Uint8Array, policy: SavePolicy): Promise<SavedFile> {
  return saveChecked(SAVE_RULES, info, content, policy, async (safeName, checks, { fileName, mode, sync }) => {
    saveFile ??= (await import('./saved-file.ts')).saveFile
    const name = fileName === undefined ? safeName : safeFileName(fileName)
    const saved = await saveFile({ owner: OWNER, directory, name, mode, sync }, content, checks)
    return { ...saved, clientName: info.fileName }
  })
}
