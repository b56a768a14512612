// The client of S3 that weir can use, and the errors for its failures. The client is your program's: it has the credentials, the region, the number
// of attempts and the timeouts.

import { WeirError } from 'weirjs'
import { invalid, isInstance, kindOf, option } from 'weirjs/kit'

const { readBy, secret } = option

/**
 * A client of your program for S3, or for a store that is compatible with it: the `S3Client` or the `S3` of `@aws-sdk/client-s3`. weir only sends
 * commands with it. It never closes it.
 */
export interface AwsS3Client {
  send(command: never): Promise<unknown>
  readonly config: object
}

/** S3 accepts no smaller part, except the last one. */
export const MIN_PART_BYTES = 5 * 1024 * 1024
/** The default size of a part. */
export const PART_BYTES = 8 * 1024 * 1024
/** Parameters that weir sets. */
const OWN_PARAMS: readonly string[] = ['Bucket', 'Key', 'Body', 'ContentLength', 'UploadId', 'PartNumber', 'MultipartUpload']

/** @param owner whose argument it is, such as `s3Storage()` @throws WEIR_OPTION_INVALID */
export function checkClient(owner: string, client: AwsS3Client): void {
  const given: unknown = client
  if (typeof given !== 'object' || given === null) throw invalid(owner, `client is ${kindOf(given)}, not a client of @aws-sdk/client-s3`)
  if (typeof client.send !== 'function' || typeof client.config !== 'object')
    throw invalid(owner, 'client has no send or no config: it is not a client of @aws-sdk/client-s3')
}

/** The rules of options that say where S3 keeps something. Messages name no bucket. */
export const S3_RULES = {
  bucket: secret('its name', (bucket) => typeof bucket === 'string' && bucket !== '') as option.Rule<string, option.Same>,
  params: readBy(checkedParams).or({}, 'none'),
}

function checkedParams(params: Readonly<Record<string, unknown>>, owner: string): Readonly<Record<string, unknown>> {
  const given: unknown = params
  if (typeof given !== 'object' || given === null) throw invalid(owner, `params is ${kindOf(given)}, not an object`)
  const taken = Object.keys(given).find((name) => OWN_PARAMS.includes(name))
  if (taken !== undefined) throw invalid(owner, `params: ${taken} is set by weir: leave it out`)
  return params
}

/** The error for a failure of the client. Its message names the operation and the kind of failure, not the bucket or the key. */
export function s3Failure(operation: string, cause: unknown): WeirError {
  return new WeirError('WEIR_STORE_UNAVAILABLE', `S3: ${operation} failed with ${nameOf(cause)}`, { cause })
}

/** The code of an error of S3, such as `NoSuchKey`, or of the system, such as `ECONNREFUSED`. */
function nameOf(error: unknown): string {
  if (!isInstance(error, Error)) return kindOf(error)
  const { name, code } = error as NodeJS.ErrnoException
  if (name === 'Error' || name === 'AggregateError') return code ?? error.message
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } }
  return $metadata?.httpStatusCode === undefined ? name : `${name} (${$metadata.httpStatusCode})`
}

/** Whether it is an error of S3 with one of these codes. */
export function isOneOf(error: unknown, ...codes: readonly string[]): boolean {
  return isInstance(error, Error) && codes.includes(error.name)
}
