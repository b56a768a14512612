// Saves an upload as a file, with the checks of a policy (save-upload.ts).

import type { Readable } from 'node:stream'

import type { SavedFile } from '../multipart/file-store.ts'
import type { UploadInfo } from './content-policy.ts'
import { withForms } from './late-forms.ts'
import type { SavePolicy } from './save-upload.ts'

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
  return withForms(null, ({ saveUpload }) => saveUpload(directory, info, content, policy))
}
