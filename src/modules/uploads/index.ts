// The public API of weir/uploads.

export type { UploadLock, UploadLocks } from './upload-locks.ts'
export { isUploadId, type UploadRecord, type UploadStage, uploadRecordOf } from './upload-record.ts'
export type { AppendOptions, StoredUpload, UploadStorage } from './upload-storage.ts'
