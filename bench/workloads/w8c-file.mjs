import { BYTES, FILE_NAME } from '../large.mjs'
import { requestOf } from '../message.mjs'

export default {
  id: 'w8c',
  name: '64 KiB file',
  title: `GET /${FILE_NAME}, a file of ${BYTES.length} B`,
  app: 'large',
  exchanges: [{ request: requestOf('GET', `/${FILE_NAME}`), status: 200, mediaType: 'image/jpeg', body: BYTES }],
}
