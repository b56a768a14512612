// The public API of @weirjs/uploads.

export type { Upload } from './completed-upload.ts'
export { type DiskStorageOptions, diskStorage } from './disk-storage.ts'
export { memoryLocks } from './memory-locks.ts'
export { uploadHeaders } from './upload-headers.ts'
export type { UploadLock, UploadLocks } from './upload-locks.ts'
export { isUploadId, type UploadRecord, type UploadStage, uploadRecordOf } from './upload-record.ts'
export type { OnComplete, UploadsOptions } from './upload-settings.ts'
export type { AppendOptions, StoredUpload, UploadStorage } from './upload-storage.ts'
export { uploads } from './uploads.ts'
