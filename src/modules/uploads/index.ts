// The public API of weir/uploads.

export type { AwsS3Client } from './s3-client.ts'
export { type S3StorageOptions, s3Storage } from './s3-storage.ts'
export { type S3SavePolicy, type S3Target, type SavedObject, saveToS3 } from './save-to-s3.ts'
export type { UploadLock, UploadLocks } from './upload-locks.ts'
export { isUploadId, type UploadRecord, type UploadStage, uploadRecordOf } from './upload-record.ts'
export type { AppendOptions, StoredUpload, UploadStorage } from './upload-storage.ts'
