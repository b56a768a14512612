// The public API of weirjs/log.

export { SECRET_QUERY as defaultSecretQuery } from '../../formats/masking/secret-words.ts'
export { type AccessLog, type AccessLogOptions, accessLog } from './access-log.ts'
export type { AccessLogEntry } from './entry.ts'
export type { LogStream } from './line-writer.ts'
export { requestLogger } from './request-logger.ts'
