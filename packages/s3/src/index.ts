// The public API of @weirjs/s3.

export type { AwsS3Client } from './s3-client.ts'
export { s3Files } from './s3-files.ts'
export { type S3StorageOptions, s3Storage } from './s3-storage.ts'
export { type S3SavePolicy, type S3Target, type SavedObject, saveToS3 } from './save-to-s3.ts'
