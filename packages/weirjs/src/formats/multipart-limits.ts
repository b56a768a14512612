// The limits of a multipart form that its parser keeps.

/** A limit of N allows N and refuses N + 1 with a `PayloadTooLargeError` that names it. */
export interface MultipartLimits {
  /** Number of parts in the form: fields and files together. Default 200. A part is counted before anything is created for it. */
  readonly maxParts: number
  /**
   * Size of the header lines of one part, in bytes, with their line ends but without the empty line, and of what a body has before its first
   * part. Default 16 KiB.
   */
  readonly maxPartHeaderSize: number
  /** Number of header lines of one part. Default 32. */
  readonly maxPartHeaders: number
}

export const DEFAULT_MULTIPART_LIMITS: MultipartLimits = { maxParts: 200, maxPartHeaderSize: 16 * 1024, maxPartHeaders: 32 }
