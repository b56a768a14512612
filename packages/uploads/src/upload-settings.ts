// The options of a program for its uploads.

import type { Duration, HttpSession, RouteOptions, Size, Usable } from 'weirjs'
import type { Clock } from 'weirjs/kit'
import type { Upload } from './completed-upload.ts'
import type { UploadLocks } from './upload-locks.ts'
import type { UploadStorage } from './upload-storage.ts'

/**
 * Called when all bytes of an upload are there. What it returns becomes the response, as from any handler; if it returns nothing, the protocol's
 * own. It is called until it succeeds: again if it throws, or if the process dies while it runs. So its work must be safe to repeat.
 */
export type OnComplete = (upload: Upload, session: HttpSession) => unknown

export interface UploadsOptions {
  /** Where uploads are kept until they are complete: `diskStorage(directory)` or `s3Storage(client, options)`. */
  readonly storage: UploadStorage
  /**
   * Called when all bytes are there: moves, copies or reads them. Bytes that it leaves in the storage are deleted when the upload expires.
   *
   * An error with a status from 400 to 499 refuses the upload: the client gets it, and the upload is deleted, with tus also its parts. After any
   * other error the client gets a 5xx or 423, and the next request for the upload calls `onComplete` again.
   */
  readonly onComplete: OnComplete
  /**
   * Called before an upload is created, and before any of its bytes are read: refuses it by throwing an error, such as `new HttpError(403)`. A response or
   * false that it returns is a mistake, and refuses it with 500. `size` is null if the client does not know it yet; `metadata` is as in `Upload`, and not to be trusted. With tus, the parts
   * of an upload that is sent in parallel are uploads, too.
   */
  readonly onCreate?: (
    upload: { readonly size: number | null; readonly metadata: Readonly<Record<string, string>> },
    session: HttpSession,
  ) => void | Promise<void>
  /**
   * What `onComplete` answers with, as in a declaration of a route. The responses of the protocols, 201 and 204 without a body, need not be declared.
   * Default: what the group declares, which then has to include those.
   */
  readonly answers?: NonNullable<RouteOptions['answers']>
  /** Largest upload. Default 1 GiB; `Infinity` for no limit. When exceeded: 413, before the body is read if its length is known. */
  readonly maxSize?: Size
  /**
   * Types that uploads may have, such as `video/mp4`, or ranges such as `image/*`. The first bytes decide, as for `types` of `saveTo`, once all
   * bytes have arrived. Others are refused with 415, and deleted. Default: any.
   */
  readonly types?: readonly string[]
  /** How long after its creation an upload is deleted, complete or not. Default 24 hours. */
  readonly expiresAfter?: Duration
  /** Most unfinished uploads of a principal or, without one, of a client's network. Default 100. When exceeded: 429. */
  readonly maxOpenUploads?: number
  /** Most bytes that these may take together; an upload of unknown length counts as `maxSize`. Default: 10 times `maxSize`. When exceeded: 429. */
  readonly maxOpenSize?: Size
  /** Most bytes of Upload-Metadata. Default 4 KiB. When exceeded: 413. */
  readonly maxMetadataSize?: Size
  /**
   * The locks of uploads. Default `memoryLocks()`, for a single process. For several that share the storage: `uploadLocks` of `sqliteStores` on one
   * machine, `redisLocks(client)` on several.
   */
  readonly locks?: UploadLocks
  /** Middleware and policies of the routes, such as those that require a login. */
  readonly use?: readonly Usable[]
  /** The routes answer only at endpoints with this name in `listen`. Default: at every endpoint. */
  readonly endpoint?: string
  /** The name of the module. Default: `uploads` and the path. */
  readonly name?: string
  /** Called with errors that no client sees, such as a failure to delete an expired upload. Default: the server's logger. */
  readonly onError?: (error: unknown) => void
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock
}
