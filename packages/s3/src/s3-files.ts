// Saves files of declared forms in S3 while they arrive, and deletes them if the form is refused later.

import type { Readable } from 'node:stream'
import { DeleteObjectCommand } from '@aws-sdk/client-s3'
import type { UploadedFileInfo } from 'weirjs'
import { invalid } from 'weirjs/kit'

import { type AwsS3Client, checkClient } from './s3-client.ts'
import { checkedTarget, type S3SavePolicy, type S3Target, type SavedObject, saveToS3 } from './save-to-s3.ts'

/** What `s3Files` returns. */
interface S3Files {
  save(info: UploadedFileInfo, content: Readable): Promise<SavedObject>
  discard(saved: SavedObject): Promise<void>
}

/**
 * Returns a store for `file({ saveTo })`: the files of a form are objects in S3, and the handler gets a `SavedObject` for each. If the form is
 * refused later, they are deleted.
 *
 * @param target as for `saveToS3`, but without `key`: each file gets a key of its own
 * @param policy as for `saveToS3`
 * @throws WEIR_OPTION_INVALID
 */
export function s3Files(client: AwsS3Client, target: Omit<S3Target, 'key'>, policy: Omit<S3SavePolicy, 'signal'> = {}): S3Files {
  checkClient('s3Files()', client)
  if ('key' in checkedTarget(target) && (target as S3Target).key !== undefined)
    throw invalid('s3Files()', 'key is for one object: with prefix, each file has a key of its own')
  return {
    save: (info, content) => saveToS3(client, target, info, content, policy),
    async discard({ bucket, key }) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }) as never)
    },
  }
}
