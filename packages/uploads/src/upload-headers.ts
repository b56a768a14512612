// The fields of both protocols that pages of other origins need.

/**
 * The header fields that uploads use, for `cors({ exposedHeaders: uploadHeaders })`. If `allowedHeaders` is set as well, add them there:
 * `allowedHeaders: ['Authorization', ...uploadHeaders]`.
 */
export const uploadHeaders: readonly string[] = Object.freeze([
  'Content-Digest',
  'Content-Disposition',
  'Content-Type',
  'Location',
  'Tus-Checksum-Algorithm',
  'Tus-Extension',
  'Tus-Max-Size',
  'Tus-Resumable',
  'Tus-Version',
  'Upload-Checksum',
  'Upload-Complete',
  'Upload-Concat',
  'Upload-Defer-Length',
  'Upload-Draft-Interop-Version',
  'Upload-Expires',
  'Upload-Length',
  'Upload-Limit',
  'Upload-Metadata',
  'Upload-Offset',
  'X-HTTP-Method-Override',
])
